//! A kernel for programs on a machine without GPU: [`FakeKernel`].
//!
//! It answers the system calls of an unmodified program, dynamic or static, as the real kernel does where there is an
//! AMD GPU: those on `/dev/kfd`, on the file descriptors with the events, and on the driver's files below `/sys`. All
//! others are the real ones. Linux's seccomp user notification makes that possible, for ordinary users, too.
//!
//! ```
//! use kfd_smi_testkit::fake_kernel::{FakeKernel, Gpu};
//! use std::process::{Command, Stdio};
//!
//! # fn main() -> std::io::Result<()> {
//! let Some(mut kernel) = FakeKernel::builder().gpu(Gpu::new(1, 0x1ea0)).build_or_skip("example") else {
//!     return Ok(());
//! };
//! let mut command = Command::new("cat");
//! command.arg("/sys/class/kfd/kfd/topology/nodes/1/gpu_id").stdout(Stdio::piped());
//! let child = kernel.spawn(&mut command)?;
//! assert_eq!(child.wait_with_output()?.stdout, b"7840\n");
//! # Ok(())
//! # }
//! ```
//!
//! # As the real one
//!
//! - The version, the ioctls by number and size, the errors of a wrong GPU, of another process than the one that
//!   opened the device, of too many open files.
//! - The fifo of each client and its room, the newest event lost whole; the mask from the moment on when `write`
//!   returns; who sees what; reads of 8 bytes; `EAGAIN` on a blocking file descriptor, also for no bytes at all; bytes
//!   lost by a bad address; a mask that is too short or too long; no `CLOEXEC`; `lseek`, `pread`, `ioctl`.
//! - `poll`, `select`, `epoll` in both modes: the file descriptor is a real pipe, readable as long as the fifo is not
//!   empty, with a wake-up for each event. Waiting costs no more than with the real driver.
//! - Closing, inheriting, the death of the program: the kernel knows by the other end of the pipe.
//! - A GPU hidden by the device cgroup; the generation of the topology; the list of processes below `proc`.
//!
//! # Not as the real one
//!
//! - File descriptors with events have numbers from 700 on, duplicates too. `readv`, `writev`, `dup2` and `dup3` on
//!   them fail with `ENOSYS`, and there is no `io_uring`. `F_GETFL` and `fstat` show a pipe. The program itself reads
//!   `anon_inode:kfd_smi_ev` as the link in `/proc/self/fd`, others see a pipe.
//! - A signal without `SA_RESTART` that arrives before the kernel has begun with a call makes it fail with `EINTR`,
//!   where the real one would not fail.
//! - `stat` shows `/dev/null`'s numbers for `/dev/kfd`, and listing `/dev` or `/sys/class` does not show the driver's.
//! - Each call that is answered here takes some microseconds more; so does opening any file.
//! - A process disappears from `proc` when all that was started with it has ended.

mod builder;
mod calls;
mod doorbell;
mod driver;
mod filter;
mod forward;
mod memory;
mod notify;
mod paths;
mod process;
mod rules;
mod server;
mod sysfs;

use std::io;
use std::panic;
use std::process::{Child, Command};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use kfd_smi_proto::{EventMask, GpuId};
use rustix::fd::OwnedFd;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

pub use builder::Builder;
pub use driver::{Emitted, End, Read};
pub use rules::Rules;
pub use rustix::io::Errno;
pub use sysfs::Gpu;

use driver::Known;
use notify::Listener;
use rules::Event;
use server::Shared;

/// A kernel with an AMD GPU driver, for the programs that are started on it. Dropping it kills them.
#[derive(Debug)]
pub struct FakeKernel {
    shared: Arc<Shared>,
    server: Option<JoinHandle<()>>,
    children: Vec<OwnedFd>,
}

/// A file descriptor with events, as a process holds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SmiFd {
    /// Its number.
    pub fd: u32,
    /// The GPU.
    pub gpu: GpuId,
    /// Whether a program that the process starts does not inherit it.
    pub close_on_exec: bool,
}

impl FakeKernel {
    /// Begins to describe one.
    pub const fn builder() -> Builder {
        Builder::new()
    }

    /// Starts a program on this kernel. It and all it starts may run as any user.
    ///
    /// # Errors
    ///
    /// The program cannot be started, or the system does not let the kernel stand in.
    pub fn spawn(&mut self, command: &mut Command) -> io::Result<Child> {
        let child = self.run(|| command.spawn())??;
        self.children.push(pidfd_open(Pid::from_child(&child), PidfdFlags::empty())?);
        Ok(child)
    }

    /// Runs this on a new thread, whose system calls, and those of what it starts, this kernel answers.
    ///
    /// File descriptors with events can be used by that thread only. It must not change the topology, for the kernel
    /// would wait for itself.
    ///
    /// # Errors
    ///
    /// The system does not let the kernel stand in.
    pub fn run<T: Send>(&self, work: impl FnOnce() -> T + Send) -> io::Result<T> {
        let on_kernel = || {
            self.shared.listen(Listener::install()?)?;
            Ok(work())
        };
        thread::scope(|scope| scope.spawn(on_kernel).join())
            .unwrap_or_else(|panic| panic::resume_unwind(panic))
    }

    /// Hands one whole event, its newline included, to the clients of a GPU. It is about the process that it names as
    /// `-pid`, for everybody if it names none.
    pub fn emit(&self, gpu: GpuId, event: &[u8]) -> Emitted {
        self.shared.driver().emit(gpu, &Event::new(event))
    }

    /// As [`emit`](Self::emit), about this process: some kernels treat VMFAULT and PROCESS_* so.
    pub fn emit_about(&self, gpu: GpuId, pid: Option<u32>, event: &[u8]) -> Emitted {
        self.shared.driver().emit(gpu, &Event { bytes: event, pid })
    }

    /// As [`emit`](Self::emit), as soon as no client would lose the event.
    ///
    /// # Errors
    ///
    /// A client does not read.
    pub fn emit_with_room(&self, gpu: GpuId, event: &[u8]) -> io::Result<Emitted> {
        let event = Event::new(event);
        self.shared
            .wait("room in the fifo", |driver| driver.has_room(gpu, &event).then(|| driver.emit(gpu, &event)))
    }

    /// Adds a GPU.
    ///
    /// # Errors
    ///
    /// Its files cannot be written.
    pub fn add_gpu(&self, gpu: Gpu) -> io::Result<()> {
        self.shared.driver().tree.add(gpu)
    }

    /// Adds a GPU when the next file of a node has been opened: in the middle of a look at the topology.
    pub fn add_gpu_during_scan(&self, gpu: Gpu) {
        self.shared.driver().tree.add_during_scan(gpu);
    }

    /// Removes a GPU. Its clients stay, and nothing tells them.
    ///
    /// # Errors
    ///
    /// There is no such GPU.
    pub fn remove_gpu(&self, gpu: GpuId) -> io::Result<()> {
        self.shared.driver().tree.remove(gpu)
    }

    /// Ends the file descriptors of a GPU: `POLLHUP` from now on, and this after the last event.
    pub fn end(&self, gpu: GpuId, end: End) {
        self.shared.driver().end(gpu, end);
    }

    /// The masks of the open file descriptors of a GPU, in the order in which they were made.
    #[must_use]
    pub fn masks(&self, gpu: GpuId) -> Vec<EventMask> {
        self.shared.driver().masks(gpu)
    }

    /// Every mask ever written for a GPU.
    #[must_use]
    pub fn mask_writes(&self, gpu: GpuId) -> Vec<EventMask> {
        self.shared.driver().mask_writes(gpu).to_vec()
    }

    /// Every read ever made for a GPU.
    #[must_use]
    pub fn reads(&self, gpu: GpuId) -> Vec<Read> {
        self.shared.driver().reads(gpu).to_vec()
    }

    /// How many bytes wait in the fullest fifo of a GPU.
    #[must_use]
    pub fn fifo_len(&self, gpu: GpuId) -> usize {
        self.shared.driver().fifo_len(gpu)
    }

    /// The file descriptors with events that a process holds now, whether it opened or inherited them.
    ///
    /// # Errors
    ///
    /// The process has ended.
    pub fn smi_fds(&self, pid: u32) -> io::Result<Vec<SmiFd>> {
        let mut found = vec![];
        // Below are copies that the kernel itself holds for a moment, if it is asked about its own process.
        for fd in process::fds(pid)?.into_iter().filter(|fd| *fd >= filter::FIRST_FD) {
            let Some(key) = process::key(pid, fd) else { continue };
            let Some(Known::Client(_, gpu)) = self.shared.driver().known(key) else { continue };
            found.push(SmiFd { fd, gpu, close_on_exec: process::closes_on_exec(pid, fd)? });
        }
        Ok(found)
    }

    /// How many times `/dev/kfd` is open.
    #[must_use]
    pub fn open_devices(&self) -> usize {
        self.shared.driver().kfds()
    }

    /// Waits until `/dev/kfd` is closed.
    ///
    /// # Errors
    ///
    /// As for all that wait: it did not come, long after it should have.
    pub fn wait_until_device_closed(&self) -> io::Result<()> {
        self.shared.wait("/dev/kfd to be closed", |driver| (driver.kfds() == 0).then_some(()))
    }

    /// Waits until so many file descriptors, of all GPUs together, are open and have a mask that is not empty.
    ///
    /// # Errors
    ///
    /// It did not come.
    pub fn wait_for_clients(&self, number: usize) -> io::Result<()> {
        let what = format!("{number} clients with a mask");
        self.shared.wait(&what, |driver| (driver.listening() == number).then_some(()))
    }

    /// Waits until a mask was written so many times for a GPU, and returns them all.
    ///
    /// # Errors
    ///
    /// It did not come.
    pub fn wait_for_mask_writes(&self, gpu: GpuId, number: usize) -> io::Result<Vec<EventMask>> {
        let what = format!("{number} masks for GPU {gpu}");
        self.shared.wait(&what, |driver| {
            let masks = driver.mask_writes(gpu);
            (masks.len() >= number).then(|| masks.to_vec())
        })
    }

    /// Waits until there were so many reads for a GPU, and returns them all.
    ///
    /// # Errors
    ///
    /// It did not come.
    pub fn wait_for_reads(&self, gpu: GpuId, number: usize) -> io::Result<Vec<Read>> {
        let what = format!("{number} reads for GPU {gpu}");
        self.shared.wait(&what, |driver| {
            let reads = driver.reads(gpu);
            (reads.len() >= number).then(|| reads.to_vec())
        })
    }

    /// Waits until every event for a GPU was read. What the clients do with them is another matter.
    ///
    /// # Errors
    ///
    /// It did not come.
    pub fn wait_until_drained(&self, gpu: GpuId) -> io::Result<()> {
        let what = format!("GPU {gpu} to be read");
        self.shared.wait(&what, |driver| (driver.fifo_len(gpu) == 0).then_some(()))
    }
}

impl Drop for FakeKernel {
    fn drop(&mut self) {
        for child in &self.children {
            // One that has ended needs it no more. One that waits for an answer would get none.
            _ = pidfd_send_signal(child, Signal::KILL);
        }
        self.shared.stop();
        if let Some(server) = self.server.take() {
            // Its panic has been seen by whoever asked this kernel for something.
            _ = server.join();
        }
    }
}
