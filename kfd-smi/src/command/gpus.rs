//! `kfd-smi gpus`: what there is, and whether this user can watch it.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;
use std::process::ExitCode;

use comfy_table::{Table, presets};
use kfd_smi_io::topology::{self, Gpu, Topology};
use kfd_smi_io::{Kfd, KfdVersion};
use kfd_smi_proto::Escaped;
use serde::Serialize;

use crate::cli::{Gpus, GpusFormat};
use crate::complain::{fail, write_failed};
use crate::json;

pub(crate) fn run(args: &Gpus) -> ExitCode {
    let topology = match topology::read(&args.device.topology()) {
        Ok(topology) => topology,
        Err(error) => return fail(&error),
    };
    let opened = Kfd::open_at(&args.device.kfd_path).and_then(|kfd| kfd.version());
    let report = Report::new(&args.device.kfd_path, &topology, opened);
    let printed = match args.format {
        GpusFormat::Human => report.print_table(&mut io::stdout().lock()),
        GpusFormat::Json => json::write_line(&report, &mut io::stdout().lock()),
    };
    match printed {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => write_failed(&error),
    }
}

/// What is printed, in both formats.
#[derive(Debug, Serialize)]
struct Report {
    v: u32,
    device: Device,
    #[serde(skip_serializing_if = "Option::is_none")]
    kfd_version: Option<String>,
    /// What every kernel of this version can send.
    #[serde(skip_serializing_if = "Option::is_none")]
    promised_events: Option<Vec<&'static str>>,
    gpus: Vec<Row>,
    /// Nodes that the device cgroup of this container hides.
    hidden_nodes: Vec<u32>,
    /// Programs that watch events already, as far as this user can see.
    monitors: Vec<Monitor>,
}

#[derive(Debug, Serialize)]
struct Device {
    path: String,
    can_open: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

#[derive(Debug, Serialize)]
struct Row {
    gpu_id: String,
    node: u32,
    name: String,
    pci: String,
    partition: u8,
    gfx_target: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    render_minor: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unique_id: Option<String>,
}

#[derive(Debug, Serialize)]
struct Monitor {
    pid: u32,
    comm: String,
    /// How many GPUs it watches.
    gpus: usize,
}

impl Report {
    fn new(path: &Path, topology: &Topology, opened: Result<KfdVersion, kfd_smi_io::Error>) -> Self {
        let version = opened.as_ref().ok();
        Self {
            v: 1,
            device: Device {
                path: path.to_string_lossy().into_owned(),
                can_open: opened.is_ok(),
                error: opened.as_ref().err().map(ToString::to_string),
            },
            kfd_version: version.map(ToString::to_string),
            promised_events: version
                .map(|version| version.promised_events().events().filter_map(|event| event.name()).collect()),
            gpus: topology.gpus.iter().map(Row::new).collect(),
            hidden_nodes: topology.hidden.clone(),
            monitors: monitors(Path::new("/proc")),
        }
    }

    fn print_table(&self, out: &mut impl io::Write) -> io::Result<()> {
        let Device { path, error, .. } = &self.device;
        match (error, &self.kfd_version) {
            (None, Some(version)) => writeln!(out, "{}: KFD version {version}", shown(path))?,
            (error, _) => writeln!(out, "{}", shown(error.as_deref().unwrap_or_default()))?,
        }
        if let Some(events) = &self.promised_events {
            writeln!(out, "events: {}", events.join(", "))?;
        }
        let mut table = Table::new();
        table.load_preset(presets::NOTHING);
        table.set_header(["gpu_id", "node", "name", "pci", "partition", "target", "render", "unique_id"]);
        for gpu in &self.gpus {
            table.add_row([
                gpu.gpu_id.clone(),
                gpu.node.to_string(),
                shown(&gpu.name),
                gpu.pci.clone(),
                gpu.partition.to_string(),
                gpu.gfx_target.clone(),
                gpu.render_minor.map_or_else(|| "-".to_owned(), |minor| format!("renderD{minor}")),
                gpu.unique_id.clone().unwrap_or_else(|| "-".to_owned()),
            ]);
        }
        writeln!(out, "{}", table.trim_fmt())?;
        for node in &self.hidden_nodes {
            writeln!(out, "node {node}: hidden by the device cgroup")?;
        }
        for Monitor { pid, comm, gpus } in &self.monitors {
            writeln!(out, "watched by: pid {pid} \"{}\" ({gpus} GPUs)", shown(comm))?;
        }
        Ok(())
    }
}

impl Row {
    fn new(gpu: &Gpu) -> Self {
        Self {
            gpu_id: gpu.id.to_string(),
            node: gpu.node,
            name: gpu.name.clone(),
            pci: gpu.pci.to_string(),
            partition: gpu.partition,
            gfx_target: gpu.gfx_target.to_string(),
            render_minor: gpu.render_minor,
            unique_id: gpu.unique_id.map(|id| format!("{id:#x}")),
        }
    }
}

/// For a terminal.
fn shown(text: &str) -> String {
    Escaped(text.as_bytes()).to_string()
}

/// The processes that hold SMI file descriptors; only root sees those of others.
fn monitors(proc: &Path) -> Vec<Monitor> {
    let mut held = BTreeMap::new();
    let pids = fs::read_dir(proc).into_iter().flatten().flatten();
    for (pid, path) in
        pids.filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry.path())))
    {
        let fds = fs::read_dir(path.join("fd")).into_iter().flatten().flatten();
        let is_smi = |fd: &fs::DirEntry| {
            fs::read_link(fd.path()).is_ok_and(|target| target == Path::new("anon_inode:kfd_smi_ev"))
        };
        let gpus = fds.filter(is_smi).count();
        if gpus > 0 {
            let comm = fs::read(path.join("comm")).unwrap_or_default();
            let comm = String::from_utf8_lossy(comm.strip_suffix(b"\n").unwrap_or(&comm)).into_owned();
            held.insert(pid, Monitor { pid, comm, gpus });
        }
    }
    held.into_values().collect()
}
