//! The events of one GPU: [`SmiClient`].

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::time::Duration;

use kfd_smi_proto::{EventMask, GpuId};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, read, retry_on_intr, write};

use crate::error::{Error, Operation};

/// Owns the file descriptor that carries the events of one GPU, or of one partition of a GPU.
///
/// It gives bytes; [`EventReader`](crate::EventReader) makes lines of them, for several GPUs at once. To put it into
/// an event loop of another kind, see [`event_loop`](crate::event_loop).
#[derive(Debug)]
pub struct SmiClient {
    gpu: GpuId,
    fd: OwnedFd,
}

impl SmiClient {
    /// The size of the kernel's buffer since Linux 6.13; 1024 before.
    ///
    /// A read with room for this many bytes never cuts a line, except on kernels before 5.18, which give eight bytes
    /// at a time.
    pub const FIFO_SIZE: usize = 8192;

    /// Takes a file descriptor that was made elsewhere for the events of this GPU.
    #[must_use]
    pub const fn from_fd(gpu: GpuId, fd: OwnedFd) -> Self {
        Self { gpu, fd }
    }

    /// The GPU whose events these are.
    #[must_use]
    pub const fn gpu(&self) -> GpuId {
        self.gpu
    }

    /// Says which events are wanted from now on. Those that are queued already stay queued.
    ///
    /// # Errors
    ///
    /// The file descriptor is no SMI client.
    pub fn set_mask(&self, mask: EventMask) -> Result<(), Error> {
        match retry_on_intr(|| write(&self.fd, &mask.to_ne_bytes())) {
            Ok(8) => Ok(()),
            Ok(_) => Err(self.error(Operation::SetMask, Errno::IO)),
            Err(errno) => Err(self.error(Operation::SetMask, errno)),
        }
    }

    /// Reads what there is, whole lines if `buffer` has [`FIFO_SIZE`](Self::FIFO_SIZE) bytes; `None` if there is
    /// nothing now. It never waits, whatever the flags of the file descriptor.
    ///
    /// 0 bytes mean that the other end is closed. The driver never says so; a pipe or socket in its place can.
    ///
    /// # Errors
    ///
    /// The file descriptor cannot be read.
    pub fn read(&self, buffer: &mut [u8]) -> Result<Option<usize>, Error> {
        match retry_on_intr(|| read(&self.fd, &mut *buffer)) {
            Ok(n) => Ok(Some(n)),
            // The driver says this on a blocking file descriptor, too.
            Err(Errno::AGAIN) => Ok(None),
            Err(errno) => Err(self.error(Operation::Read, errno)),
        }
    }

    /// Waits until there is something to read, at most for this long; `None` waits for ever.
    ///
    /// # Errors
    ///
    /// A signal came (`EINTR`), or the file descriptor cannot be waited for.
    pub fn poll(&self, timeout: Option<Duration>) -> Result<bool, Error> {
        let mut fds = [PollFd::new(&self.fd, PollFlags::IN)];
        match poll(&mut fds, timespec(timeout).as_ref()) {
            Ok(ready) => Ok(ready > 0),
            Err(errno) => Err(self.error(Operation::Poll, errno)),
        }
    }

    pub(crate) fn error(&self, operation: Operation, errno: Errno) -> Error {
        Error::new(operation, Path::new(&format!("the events of GPU {}", self.gpu)), errno)
    }
}

/// A time to wait; one that is too long to count is for ever.
pub(crate) fn timespec(timeout: Option<Duration>) -> Option<Timespec> {
    Timespec::try_from(timeout?).ok()
}

impl AsFd for SmiClient {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl From<SmiClient> for OwnedFd {
    fn from(client: SmiClient) -> Self {
        client.fd
    }
}
