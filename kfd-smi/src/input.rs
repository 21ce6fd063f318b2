//! Where logs come from: files and standard input.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use kfd_smi_proto::Escaped;

/// A log to read.
pub(crate) struct Input {
    source: Box<dyn Read>,
    /// How many bytes it has, if that can be known.
    pub(crate) size: Option<u64>,
}

impl Input {
    /// Opens a file, or standard input for `-`.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        if path == Path::new("-") {
            return Ok(Self { source: Box::new(io::stdin().lock()), size: None });
        }
        let file = File::open(path)?;
        let metadata = file.metadata()?;
        let size = metadata.is_file().then_some(metadata.len());
        Ok(Self { source: Box::new(file), size })
    }

    /// Reads what there is; 0 at the end.
    pub(crate) fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.source.read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => return read,
            }
        }
    }
}

/// The name of a file for people: a name, too, can hold what does harm on a terminal.
pub(crate) struct Name<'a>(pub(crate) &'a Path);

impl fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == Path::new("-") {
            f.write_str("standard input")
        } else {
            Escaped(self.0.as_os_str().as_encoded_bytes()).fmt(f)
        }
    }
}
