//! Says what a fake kernel is to be: [`Builder`].

use crate::skip;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io;
use std::process::Command;
use std::sync::{Arc, OnceLock};
use std::thread;

use kfd_smi_proto::{GpuId, KfdVersion};
use rustix::io::Errno;

use super::FakeKernel;
use super::driver::{Behaviour, Driver};
use super::rules::Rules;
use super::server::Shared;
use super::sysfs::{Gpu, Tree};

/// What a [`FakeKernel`] is to be. Without further words it is as Linux 6.12 on a machine without GPU.
#[derive(Clone, Debug)]
#[must_use]
pub struct Builder {
    gpus: Vec<Gpu>,
    hidden: BTreeSet<GpuId>,
    processes: Vec<u32>,
    behaviour: Behaviour,
}

impl Builder {
    pub(super) const fn new() -> Self {
        Self {
            gpus: vec![],
            hidden: BTreeSet::new(),
            processes: vec![],
            behaviour: Behaviour {
                loaded: true,
                version: KfdVersion { major: 1, minor: 17 },
                fifo: 1024,
                read_limit: None,
                rules: Rules::Since6_0,
                open_error: None,
                open_errors_once: VecDeque::new(),
                version_error: None,
                smi_errors: BTreeMap::new(),
            },
        }
    }

    /// One more GPU.
    pub fn gpu(mut self, gpu: Gpu) -> Self {
        self.gpus.push(gpu);
        self
    }

    /// Hides a GPU, as the device cgroup of a container does: its files cannot be read (`EPERM`), and its events are
    /// refused (`EINVAL`).
    pub fn hidden(mut self, gpu: GpuId) -> Self {
        self.hidden.insert(gpu);
        self
    }

    /// A process that has `/dev/kfd` open already, of which only `/sys/class/kfd/kfd/proc` tells.
    pub fn process(mut self, pid: u32) -> Self {
        self.processes.push(pid);
        self
    }

    /// No driver at all: neither the device nor its files below `/sys`.
    pub const fn not_loaded(mut self) -> Self {
        self.behaviour.loaded = false;
        self
    }

    /// The version of the interface.
    pub const fn version(mut self, major: u32, minor: u32) -> Self {
        self.behaviour.version = KfdVersion { major, minor };
        self
    }

    /// The size of the fifo of each client: 1024, and 8192 from Linux 6.13 on.
    pub const fn fifo(mut self, bytes: usize) -> Self {
        self.behaviour.fifo = bytes;
        self
    }

    /// What a read returns at most: `Some(8)` before Linux 5.18.
    pub const fn read_limit(mut self, bytes: Option<usize>) -> Self {
        self.behaviour.read_limit = bytes;
        self
    }

    /// Who sees which event.
    pub const fn rules(mut self, rules: Rules) -> Self {
        self.behaviour.rules = rules;
        self
    }

    /// Opening `/dev/kfd` fails. With `ENOENT` it is not there, with `EACCES` it also says so when asked before.
    pub const fn open_error(mut self, errno: Errno) -> Self {
        self.behaviour.open_error = Some(errno);
        self
    }

    /// The next time, `/dev/kfd` cannot be opened; said twice, the next two times.
    pub fn open_error_once(mut self, errno: Errno) -> Self {
        self.behaviour.open_errors_once.push_back(errno);
        self
    }

    /// The version cannot be had.
    pub const fn version_error(mut self, errno: Errno) -> Self {
        self.behaviour.version_error = Some(errno);
        self
    }

    /// The events of this GPU cannot be had.
    pub fn smi_error(mut self, gpu: GpuId, errno: Errno) -> Self {
        self.behaviour.smi_errors.insert(gpu, errno);
        self
    }

    /// The kernel.
    ///
    /// # Errors
    ///
    /// `Unsupported` if this system does not let a program stand in for the kernel, with words that say why; others
    /// if there is no room for its files.
    pub fn build(self) -> io::Result<FakeKernel> {
        static PROBE: OnceLock<Result<(), String>> = OnceLock::new();
        if let Err(why) = PROBE.get_or_init(|| probe().map_err(|error| error.to_string())) {
            return Err(io::Error::new(io::ErrorKind::Unsupported, why.clone()));
        }
        self.start()
    }

    /// The kernel; `None`, and a line on standard output that says so, if this system does not let a program
    /// stand in for it.
    ///
    /// # Panics
    ///
    /// If there is no room for its files.
    #[must_use]
    pub fn build_or_skip(self, test: &str) -> Option<FakeKernel> {
        match self.build() {
            Ok(kernel) => Some(kernel),
            Err(error) if error.kind() == io::ErrorKind::Unsupported => {
                skip(test, &error);
                None
            }
            Err(error) => panic!("the files of the fake kernel: {error}"),
        }
    }

    fn start(self) -> io::Result<FakeKernel> {
        let mut tree = Tree::new(self.behaviour.loaded)?;
        if self.behaviour.loaded {
            for gpu in self.gpus {
                tree.add(gpu)?;
            }
            for gpu in self.hidden {
                tree.hide(gpu);
            }
            for pid in self.processes {
                tree.add_process(pid, 0)?;
            }
        }
        let shared = Arc::new(Shared::new(Driver::new(self.behaviour, tree))?);
        let server = thread::Builder::new().name("kernel".to_owned()).spawn({
            let shared = Arc::clone(&shared);
            move || shared.serve()
        })?;
        Ok(FakeKernel { shared, server: Some(server), children: vec![] })
    }
}

/// Whether this system lets the fake kernel work: another process is to read a file that is only there for it.
fn probe() -> io::Result<()> {
    let mut kernel = Builder::new().start()?;
    let mut command = Command::new("cat");
    command.arg("/sys/class/kfd/kfd/topology/nodes/0/gpu_id").stdout(std::process::Stdio::piped());
    let output = kernel.spawn(&mut command)?.wait_with_output()?;
    match kernel.shared.first_fault() {
        Some(fault) => Err(io::Error::other(fault)),
        None if output.stdout == b"0\n" => Ok(()),
        None => Err(io::Error::other(format!("`cat` was not stopped: {output:?}"))),
    }
}
