//! The fake kernel itself: what it does is what the driver does.
//!
//! Most tests call it from a thread of their own; those that are about processes start this program again, as a
//! client that does what it is told.

#![cfg(target_os = "linux")]

mod device;
mod fds;
mod fifo;
mod processes;
mod remote;
mod topology;

use std::process::Command;

use kfd_smi_io::{EventMask, GpuId, Kfd, SmiClient};
use kfd_smi_testkit::fake_kernel::{Builder, FakeKernel, Gpu};

/// The GPU of most tests.
pub(crate) const GPU: GpuId = GpuId(0x1ea0);

/// A kernel with that GPU.
pub(crate) fn one_gpu() -> Builder {
    FakeKernel::builder().gpu(Gpu::new(1, GPU.0))
}

/// A client of a GPU that wants everything.
pub(crate) fn client(gpu: GpuId) -> SmiClient {
    let client = Kfd::open().unwrap().smi_events(gpu).unwrap();
    client.set_mask(EventMask::EVERY | EventMask::ALL_PROCESSES).unwrap();
    client
}

/// What a client reads into a buffer of this size; `None` if there is nothing.
pub(crate) fn read(client: &SmiClient, size: usize) -> Option<Vec<u8>> {
    let mut buffer = vec![0; size];
    let n = client.read(&mut buffer).unwrap()?;
    buffer.truncate(n);
    Some(buffer)
}

/// A kernel, or the end of the test where there can be none.
macro_rules! kernel {
    ($builder:expr) => {{
        let name = std::thread::current().name().unwrap_or("a test").to_owned();
        let Some(kernel) = $builder.build_or_skip(&name) else { return };
        kernel
    }};
}
pub(crate) use kernel;

/// Root may do what others may not, so the whole is done as both.
#[test]
fn all_of_this_as_an_ordinary_user() {
    use kfd_smi_testkit::skip;
    use std::os::unix::process::CommandExt as _;
    let name = "all_of_this_as_an_ordinary_user";
    if !rustix::process::geteuid().is_root() {
        skip(name, &"not run as root, so that all the others show it");
        return;
    }
    let program = std::env::current_exe().unwrap();
    if let Some(folder) = remote::barred(&program) {
        skip(name, &format_args!("{} is not for others", folder.display()));
        return;
    }
    let mut again = Command::new(program);
    let output = again.args(["--skip", name]).uid(65534).gid(65534).current_dir("/").output().unwrap();
    let [stdout, stderr] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
    assert!(output.status.success(), "{stdout}\n{stderr}");
}
