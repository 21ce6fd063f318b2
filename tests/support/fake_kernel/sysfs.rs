//! The driver's files below `/sys`: [`Gpu`], and the folder that stands for them.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use kfd_smi_proto::GpuId;
use tempfile::TempDir;

/// A GPU, or a partition of one, as the topology describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gpu {
    /// What the driver calls it; printed in decimal.
    pub gpu_id: GpuId,
    /// The number of its folder below `nodes`. Node 0 is the processor.
    pub node: u32,
    /// The name of the chip.
    pub name: String,
    /// `bus << 8 | device << 3 | function`, the number of the partition added to the last.
    pub location_id: u32,
    /// The PCI domain.
    pub domain: u32,
    /// The serial number; 0 on many consumer parts.
    pub unique_id: u64,
    /// `major * 10000 + minor * 100 + step`
    pub gfx_target_version: u32,
    /// The number of its `/dev/dri/renderD…`.
    pub render_minor: u32,
    /// The PCI device id.
    pub device_id: u32,
    /// The number of its compute dies.
    pub num_xcc: u32,
}

impl Gpu {
    /// An MI300X at PCI bus `node`.
    #[must_use]
    pub fn new(node: u32, gpu_id: u32) -> Self {
        Self {
            gpu_id: GpuId(gpu_id),
            node,
            name: "ip discovery".to_owned(),
            location_id: node << 8,
            domain: 0,
            unique_id: 0x5ca1_ab1e_0000_0000 | u64::from(gpu_id),
            gfx_target_version: 90402,
            render_minor: 127 + node,
            device_id: 0x74a1,
            num_xcc: 8,
        }
    }

    fn properties(&self) -> String {
        lines(&[
            ("cpu_cores_count", 0),
            ("simd_count", 1216),
            ("mem_banks_count", 1),
            ("caches_count", 0),
            ("io_links_count", 1),
            ("max_waves_per_simd", 8),
            ("lds_size_in_kb", 64),
            ("wave_front_size", 64),
            ("gfx_target_version", self.gfx_target_version.into()),
            ("vendor_id", 0x1002),
            ("device_id", self.device_id.into()),
            ("location_id", self.location_id.into()),
            ("domain", self.domain.into()),
            ("drm_render_minor", self.render_minor.into()),
            ("hive_id", 0),
            ("max_engine_clk_fcompute", 2100),
            ("local_mem_size", 0),
            ("fw_version", 166),
            ("unique_id", self.unique_id),
            ("num_xcc", self.num_xcc.into()),
            ("max_engine_clk_ccompute", 3700),
        ])
    }
}

/// `key value` lines.
fn lines(values: &[(&str, u64)]) -> String {
    values.iter().fold(String::new(), |mut text, (key, value)| {
        writeln!(text, "{key} {value}").expect("a string takes everything");
        text
    })
}

/// The folder that stands for `/sys`, removed when dropped.
#[derive(Debug)]
pub(super) struct Tree {
    root: TempDir,
    gpus: BTreeMap<GpuId, Gpu>,
    hidden: BTreeSet<GpuId>,
    /// The processes below `proc`, and for whom each stays there.
    processes: BTreeSet<(u32, u64)>,
    generation: u32,
    /// Comes into being at the next look at a node.
    arriving: Option<Gpu>,
}

/// The driver's folders, which are the same one, as links lead from the first to the second.
const FOLDERS: [&str; 2] = ["/sys/class/kfd", "/sys/devices/virtual/kfd"];

impl Tree {
    /// The folder of a driver without GPUs, or of a machine without the driver.
    pub(super) fn new(loaded: bool) -> io::Result<Self> {
        // Links on the way would make other names of the same files.
        let root = tempfile::Builder::new().prefix("kfd-smi-").tempdir_in(env::temp_dir().canonicalize()?)?;
        let tree = Self {
            root,
            gpus: BTreeMap::new(),
            hidden: BTreeSet::new(),
            processes: BTreeSet::new(),
            generation: 1,
            arriving: None,
        };
        if loaded {
            fs::create_dir_all(tree.path("class/kfd"))?;
            symlink("../../devices/virtual/kfd/kfd", tree.path("class/kfd/kfd"))?;
            fs::create_dir_all(tree.kfd("proc"))?;
            fs::create_dir_all(tree.kfd("topology/nodes"))?;
            let platform = lines(&[("platform_oem", 0), ("platform_id", 0), ("platform_rev", 0)]);
            fs::write(tree.kfd("topology/system_properties"), platform)?;
            let processor = lines(&[("cpu_cores_count", 64), ("simd_count", 0), ("gfx_target_version", 0)]);
            tree.add_node(0, 0, "", &processor)?;
            tree.write_generation()?;
        }
        Ok(tree)
    }

    fn path(&self, path: &str) -> PathBuf {
        self.root.path().join(path)
    }

    fn kfd(&self, path: &str) -> PathBuf {
        self.root.path().join("devices/virtual/kfd/kfd").join(path)
    }

    /// The file that stands for this one, if it is one of the driver's or in the folder already.
    pub(super) fn redirect(&self, path: &Path) -> Option<PathBuf> {
        if path.starts_with(self.root.path()) {
            return Some(path.to_owned());
        }
        FOLDERS.iter().find(|folder| path.starts_with(folder))?;
        Some(self.root.path().join(path.strip_prefix("/sys").ok()?))
    }

    /// Says that a file of the folder was opened, and returns whether it can be read.
    pub(super) fn opened(&mut self, path: &Path) -> io::Result<bool> {
        let path = path.canonicalize()?;
        let Ok(below) = path.strip_prefix(self.kfd("topology/nodes")) else { return Ok(true) };
        if below.components().count() < 2 {
            return Ok(true);
        }
        if let Some(gpu) = self.arriving.take() {
            self.add(gpu)?;
        }
        let mut hidden = self.hidden.iter().filter_map(|gpu| self.gpus.get(gpu));
        Ok(path.is_dir() || !hidden.any(|gpu| below.starts_with(gpu.node.to_string())))
    }

    /// Whether a program may have the events of this GPU.
    pub(super) fn offers(&self, gpu: GpuId) -> bool {
        self.gpus.contains_key(&gpu) && !self.hidden.contains(&gpu)
    }

    /// Adds a GPU, a new generation.
    pub(super) fn add(&mut self, gpu: Gpu) -> io::Result<()> {
        self.add_node(gpu.node, gpu.gpu_id.0, &gpu.name, &gpu.properties())?;
        self.gpus.insert(gpu.gpu_id, gpu);
        self.generation += 1;
        self.write_generation()
    }

    /// Adds a GPU as soon as a file of some node was opened.
    pub(super) fn add_during_scan(&mut self, gpu: Gpu) {
        self.arriving = Some(gpu);
    }

    /// Removes a GPU, a new generation.
    pub(super) fn remove(&mut self, gpu: GpuId) -> io::Result<()> {
        let Some(gpu) = self.gpus.remove(&gpu) else { return Err(io::ErrorKind::NotFound.into()) };
        fs::remove_dir_all(self.kfd(&format!("topology/nodes/{}", gpu.node)))?;
        self.generation += 1;
        self.write_generation()
    }

    /// Hides a GPU, as the device cgroup of a container does.
    pub(super) fn hide(&mut self, gpu: GpuId) {
        self.hidden.insert(gpu);
    }

    fn add_node(&self, node: u32, gpu_id: u32, name: &str, properties: &str) -> io::Result<()> {
        // Made elsewhere and moved, so that nobody sees a part of it.
        let unfinished = self.path("node");
        fs::create_dir(&unfinished)?;
        fs::write(unfinished.join("gpu_id"), format!("{gpu_id}\n"))?;
        fs::write(unfinished.join("name"), format!("{name}\n"))?;
        fs::write(unfinished.join("properties"), properties)?;
        fs::rename(unfinished, self.kfd(&format!("topology/nodes/{node}")))
    }

    fn write_generation(&self) -> io::Result<()> {
        let unfinished = self.path("generation_id");
        fs::write(&unfinished, format!("{}\n", self.generation))?;
        fs::rename(unfinished, self.kfd("topology/generation_id"))
    }

    /// Lists a process that has opened the device, on behalf of this owner.
    pub(super) fn add_process(&mut self, pid: u32, owner: u64) -> io::Result<()> {
        let folder = self.kfd(&format!("proc/{pid}"));
        if self.processes.insert((pid, owner)) && !folder.exists() {
            fs::create_dir_all(folder.join("queues"))?;
            fs::write(folder.join("pasid"), "32769\n")?;
            for gpu in self.gpus.keys() {
                fs::write(folder.join(format!("vram_{}", gpu.0)), "0\n")?;
                fs::write(folder.join(format!("sdma_{}", gpu.0)), "0\n")?;
            }
        }
        Ok(())
    }

    /// Forgets the processes of this owner.
    pub(super) fn remove_processes_of(&mut self, owner: u64) -> io::Result<()> {
        let (gone, rest): (BTreeSet<_>, BTreeSet<_>) =
            self.processes.iter().partition(|(_, of)| *of == owner);
        self.processes = rest;
        for (pid, _) in gone {
            if !self.processes.iter().any(|(other, _)| *other == pid) {
                fs::remove_dir_all(self.kfd(&format!("proc/{pid}")))?;
            }
        }
        Ok(())
    }
}
