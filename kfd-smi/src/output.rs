//! Standard output, to which only whole lines are written.

use std::io::{self, StdoutLock, Write};

/// Gathers what is written until it is flushed.
///
/// Whoever flushes does so between two lines: then a reader never sees half of one, whatever signal ends the
/// program.
#[derive(Debug)]
pub(crate) struct Output {
    stdout: StdoutLock<'static>,
    gathered: Vec<u8>,
}

impl Output {
    pub(crate) fn new() -> Self {
        Self { stdout: io::stdout().lock(), gathered: Vec::new() }
    }

    /// Whether enough was gathered to be worth a write.
    pub(crate) fn is_large(&self) -> bool {
        self.gathered.len() >= 1 << 16
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.gathered.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let written = self.stdout.write_all(&self.gathered).and_then(|()| self.stdout.flush());
        self.gathered.clear();
        written
    }
}
