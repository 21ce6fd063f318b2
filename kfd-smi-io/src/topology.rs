//! The GPUs of this machine, as the driver lists them in sysfs.
//!
//! ```no_run
//! use std::path::Path;
//! use kfd_smi_io::topology;
//!
//! # fn main() -> Result<(), kfd_smi_io::Error> {
//! for gpu in topology::read(Path::new(topology::PATH))?.gpus {
//!     println!("{} {} at {}: {}", gpu.id, gpu.gfx_target, gpu.pci, gpu.name);
//! }
//! # Ok(())
//! # }
//! ```

use std::path::{Path, PathBuf};
use std::{fmt, fs, io};

use kfd_smi_proto::GpuId;
use rustix::io::Errno;

use crate::error::{Error, Operation};

/// Where the topology is.
pub const PATH: &str = "/sys/class/kfd/kfd/topology";

/// How often the topology may change while it is read. It changes when a GPU comes, goes, or is partitioned anew.
const PATIENCE: usize = 10;

/// What the driver knows of this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Topology {
    /// Counts the changes of the topology.
    pub generation: u32,
    /// The GPUs, and partitions of GPUs, in the order of their nodes.
    pub gpus: Vec<Gpu>,
    /// The nodes that the device cgroup of this container hides.
    pub hidden: Vec<u32>,
}

/// A GPU, or one partition of a GPU.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Gpu {
    /// The number of the node, which is not the GPU's id.
    pub node: u32,
    /// `gpu_id`: what events and the ioctl call it. It is no identity: see [`GpuId`].
    pub id: GpuId,
    /// The name of the chip, in lower case, such as `aldebaran`.
    pub name: String,
    /// Where it is on the PCI bus.
    pub pci: PciAddress,
    /// The number of the partition, 0 for a GPU in one piece.
    pub partition: u8,
    /// The instruction set.
    pub gfx_target: GfxTarget,
    /// The number of `/dev/dri/renderD…`.
    pub render_minor: Option<u32>,
    /// The serial number of the chip; consumer parts have none.
    pub unique_id: Option<u64>,
}

/// Where a device is on the PCI bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub struct PciAddress {
    /// The domain, or segment.
    pub domain: u32,
    /// The bus.
    pub bus: u8,
    /// The device on the bus. The function is always 0: the driver keeps the partition in its place.
    pub device: u8,
}

/// `0000:c1:00.0`
impl fmt::Display for PciAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04x}:{:02x}:{:02x}.0", self.domain, self.bus, self.device)
    }
}

/// The instruction set of a GPU, `gfx_target_version`: major, minor and step, two decimal digits each but the first.
///
/// ```
/// use kfd_smi_io::topology::GfxTarget;
///
/// assert_eq!(GfxTarget(90402).to_string(), "gfx942");
/// assert_eq!(GfxTarget(90010).to_string(), "gfx90a");
/// assert_eq!(GfxTarget(110003).to_string(), "gfx1103");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[expect(clippy::exhaustive_structs, reason = "it is a number")]
pub struct GfxTarget(pub u32);

/// `gfx90a`
impl fmt::Display for GfxTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (major, minor, step) = (self.0 / 10_000, self.0 / 100 % 100, self.0 % 100);
        write!(f, "gfx{major}{minor:x}{step:x}")
    }
}

/// Reads the topology in this folder, [`PATH`] on a running system.
///
/// It is read again if it changed meanwhile. GPUs that are hidden from this process are listed and no error.
///
/// # Errors
///
/// There is no such folder, so no driver; or a file in it cannot be read.
pub fn read(folder: &Path) -> Result<Topology, Error> {
    let mut attempts = PATIENCE;
    loop {
        attempts -= 1;
        let before = generation(folder)?;
        let nodes = read_nodes(folder);
        let unchanged = generation(folder)? == before;
        match nodes {
            Ok((gpus, hidden)) if unchanged || attempts == 0 => {
                return Ok(Topology { generation: before, gpus, hidden });
            }
            Err(error) if unchanged || attempts == 0 => return Err(error),
            _ => {}
        }
    }
}

/// The number of the topology in this folder, which counts its changes: cheaper to look at than all of it.
///
/// # Errors
///
/// As [`read`].
pub fn generation(folder: &Path) -> Result<u32, Error> {
    number(&folder.join("generation_id"))
}

fn read_nodes(folder: &Path) -> Result<(Vec<Gpu>, Vec<u32>), Error> {
    let (mut gpus, mut hidden) = (vec![], vec![]);
    for (node, path) in nodes(&folder.join("nodes"))? {
        match number(&path.join("gpu_id")) {
            Ok(0) => {}
            Ok(id) => gpus.push(gpu(node, GpuId(id), &path)?),
            // Opening the file succeeds, reading it does not.
            Err(error) if error.errno() == Errno::PERM => hidden.push(node),
            Err(error) => return Err(error),
        }
    }
    Ok((gpus, hidden))
}

/// The folders of the nodes, in the order of their numbers.
fn nodes(folder: &Path) -> Result<Vec<(u32, PathBuf)>, Error> {
    let entries = fs::read_dir(folder).map_err(|error| failed(folder, &error))?;
    let mut nodes = vec![];
    for entry in entries {
        let path = entry.map_err(|error| failed(folder, &error))?.path();
        let number = path.file_name().and_then(|name| name.to_str()?.parse().ok());
        nodes.extend(number.map(|number| (number, path)));
    }
    nodes.sort();
    Ok(nodes)
}

fn gpu(node: u32, id: GpuId, path: &Path) -> Result<Gpu, Error> {
    let name = text(&path.join("name"))?.trim_end().to_owned();
    let properties = text(&path.join("properties"))?;
    // The set of properties and their order differ from kernel to kernel.
    let property = |key: &str| {
        let value = properties.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(' '));
        value.and_then(|value| value.parse::<u64>().ok())
    };
    let small = |key| property(key).and_then(|value| u32::try_from(value).ok()).unwrap_or(0);
    // Bus, device and function; a GPU in several partitions keeps the partition in the place of the function.
    let [_, _, bus, devfn] = small("location_id").to_be_bytes();
    Ok(Gpu {
        node,
        id,
        name,
        pci: PciAddress { domain: small("domain"), bus, device: devfn >> 3 },
        partition: devfn & 7,
        gfx_target: GfxTarget(small("gfx_target_version")),
        render_minor: Some(small("drm_render_minor")).filter(|minor| *minor != 0),
        unique_id: property("unique_id").filter(|id| *id != 0),
    })
}

fn number(path: &Path) -> Result<u32, Error> {
    let text = text(path)?;
    text.trim_end().parse().map_err(|_| Error::new(Operation::ReadTopology, path, Errno::INVAL))
}

fn text(path: &Path) -> Result<String, Error> {
    fs::read_to_string(path).map_err(|error| failed(path, &error))
}

fn failed(path: &Path, error: &io::Error) -> Error {
    let errno = Errno::from_io_error(error).unwrap_or(Errno::INVAL);
    Error::new(Operation::ReadTopology, path, errno)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tempfile::TempDir;

    /// A topology in a folder of its own, removed at the end.
    struct Folder(TempDir);

    impl Folder {
        fn new() -> Self {
            let folder = TempDir::with_prefix("kfd-smi-").unwrap();
            fs::create_dir(folder.path().join("nodes")).unwrap();
            fs::write(folder.path().join("generation_id"), "3\n").unwrap();
            Self(folder)
        }

        fn node(&self, node: u32, gpu_id: &str, name: &str, properties: &str) {
            let path = self.0.path().join(format!("nodes/{node}"));
            fs::create_dir(&path).unwrap();
            fs::write(path.join("gpu_id"), gpu_id).unwrap();
            fs::write(path.join("name"), name).unwrap();
            fs::write(path.join("properties"), properties).unwrap();
        }
    }

    #[test]
    fn gpus_are_the_nodes_with_an_id() {
        let folder = Folder::new();
        folder.node(0, "0\n", "\n", "cpu_cores_count 16\nsimd_count 0\n");
        folder.node(
            10,
            "8011\n",
            "aqua_vanjaram\n",
            "gfx_target_version 90402\nlocation_id 49411\ndomain 1\ndrm_render_minor 129\nunique_id 18446744073709551615\n",
        );
        folder.node(2, "43157\n", "ip discovery\n", "location_id 768\nunique_id 0\n");
        let topology = read(folder.0.path()).unwrap();
        assert_eq!((topology.generation, topology.hidden.len()), (3, 0));
        let [second, first] = &topology.gpus[..] else { panic!("{topology:?}") };
        assert_eq!((second.node, second.id, second.name.as_str()), (2, GpuId(43157), "ip discovery"));
        assert_eq!((second.pci.to_string().as_str(), second.partition), ("0000:03:00.0", 0));
        assert_eq!((second.unique_id, second.render_minor), (None, None));
        assert_eq!(
            (first.node, first.id, first.gfx_target.to_string().as_str()),
            (10, GpuId(8011), "gfx942")
        );
        assert_eq!((first.pci.to_string().as_str(), first.partition), ("0001:c1:00.0", 3));
        assert_eq!((first.unique_id, first.render_minor), (Some(u64::MAX), Some(129)));
    }

    #[test]
    fn what_is_missing_or_broken_is_named() {
        let missing = read(Path::new("/nonexistent/topology")).unwrap_err();
        assert_eq!((missing.errno(), missing.operation()), (Errno::NOENT, Operation::ReadTopology));
        assert!(missing.hint().unwrap().contains("not loaded"));
        let folder = Folder::new();
        folder.node(0, "x\n", "\n", "");
        let broken = read(folder.0.path()).unwrap_err();
        assert!(broken.path().ends_with("nodes/0/gpu_id"), "{broken}");
    }
}
