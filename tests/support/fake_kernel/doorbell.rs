//! The file descriptor that a client waits on: [`Doorbell`].

use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

use rustix::fs::{Mode, OFlags, fcntl_setfl, fstat, open};
use rustix::io::{Errno, read, write};
use rustix::pipe::{PipeFlags, pipe_with};

use super::process::{Key, fd_path};

/// A pipe whose reading end the client has. It holds a byte as long as there is something to read, so that `poll`
/// and `epoll` are the real ones, and its end here tells when the client has closed all of its own.
#[derive(Debug)]
pub(super) struct Doorbell {
    writer: Option<OwnedFd>,
    key: Key,
}

impl Doorbell {
    /// A new one, and the end for the client.
    pub(super) fn new() -> io::Result<(Self, OwnedFd)> {
        let (reader, writer) = pipe_with(PipeFlags::CLOEXEC)?;
        // The ends are files of their own: the client's stays a blocking one, as the driver's is.
        fcntl_setfl(&writer, OFlags::NONBLOCK)?;
        let stat = fstat(&writer)?;
        Ok((Self { writer: Some(writer), key: (stat.st_dev, stat.st_ino) }, reader))
    }

    pub(super) const fn key(&self) -> Key {
        self.key
    }

    /// The end that is ready with an error when the client's are all closed; `None` after [`hang_up`](Self::hang_up).
    pub(super) fn writer(&self) -> Option<BorrowedFd<'_>> {
        self.writer.as_ref().map(OwnedFd::as_fd)
    }

    /// Makes the client's end readable, and wakes whoever waits for it, once for each call.
    pub(super) fn ring(&self) {
        if let Some(writer) = &self.writer {
            // A full pipe is readable, and one without readers has nobody to wake.
            _ = write(writer, b"!");
        }
    }

    /// Ends the client's end: `POLLHUP` from now on.
    pub(super) fn hang_up(&mut self) {
        self.writer = None;
    }

    /// Makes the client's end, which it has at this number, no longer readable.
    pub(super) fn silence(tid: u32, fd: u32) {
        // A second way into the same pipe, for the moment: a client that has died has no need of it.
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let Ok(reader) = open(fd_path(tid, fd), flags, Mode::empty()) else { return };
        let mut bytes = [0; 4096];
        loop {
            match read(&reader, &mut bytes) {
                Ok(1..) | Err(Errno::INTR) => {}
                Ok(0) | Err(_) => return,
            }
        }
    }
}
