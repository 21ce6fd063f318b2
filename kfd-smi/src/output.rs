//! Standard output, to which only whole lines are written.

use std::io::{self, IsTerminal as _, Write};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FileType, fstat};
use rustix::io::{Errno, write};

use crate::progress;
use crate::signals::Stop;

/// A pipe that can be written to takes so many bytes at once, whoever reads it and when.
const PIPE_BUF: usize = 4096;

/// How often it is looked whether a signal came, while nobody reads.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };

/// How long a reader may take when the program is to end.
const PATIENCE: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };

/// Gathers what is written until it is flushed.
///
/// Whoever flushes does so between two lines: then a reader never sees half of one, whatever signal ends the
/// program. If nobody reads, a signal makes the flush fail with [`io::ErrorKind::Interrupted`].
#[derive(Debug)]
pub(crate) struct Output {
    gathered: Vec<u8>,
    stop: Stop,
    /// Whether a write could wait: for a file it does not, but for a pipe or terminal.
    can_wait: bool,
    is_terminal: bool,
}

impl Output {
    pub(crate) fn new(stop: Stop) -> Self {
        let mode = fstat(io::stdout()).map(|stat| FileType::from_raw_mode(stat.st_mode));
        let can_wait = mode != Ok(FileType::RegularFile);
        Self { gathered: vec![], stop, can_wait, is_terminal: io::stdout().is_terminal() }
    }

    /// Whether enough was gathered to be worth a write.
    pub(crate) fn is_large(&self) -> bool {
        self.gathered.len() >= 1 << 16
    }

    fn write_out(&self) -> io::Result<()> {
        let mut rest = &self.gathered[..];
        while !rest.is_empty() {
            let size = if self.can_wait { self.wait(rest)? } else { rest.len() };
            match write(io::stdout(), &rest[..size]) {
                Ok(n) => rest = &rest[n..],
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        Ok(())
    }

    /// Waits for the reader, and gives how much of it can be written then: whole lines, unless one is longer.
    fn wait(&self, rest: &[u8]) -> io::Result<usize> {
        loop {
            let is_stopping = self.stop.signal().is_some();
            let stdout = io::stdout();
            let mut fds = [PollFd::new(&stdout, PollFlags::OUT)];
            match poll(&mut fds, Some(if is_stopping { &PATIENCE } else { &LOOK })) {
                Ok(0) if is_stopping => return Err(io::ErrorKind::Interrupted.into()),
                Ok(0) | Err(Errno::INTR) => {}
                Ok(_) => break,
                Err(errno) => return Err(errno.into()),
            }
        }
        let most = &rest[..rest.len().min(PIPE_BUF)];
        Ok(most.iter().rposition(|byte| *byte == b'\n').map_or(most.len(), |newline| newline + 1))
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.gathered.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.is_terminal && !self.gathered.is_empty() {
            progress::make_way();
        }
        let written = self.write_out();
        self.gathered.clear();
        written
    }
}
