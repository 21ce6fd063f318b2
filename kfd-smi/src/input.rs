//! Where logs come from: files and standard input.

use std::cell::RefCell;
use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use kfd_smi_proto::Escaped;

use crate::out::Out;
use crate::progress::Progress;
use crate::signals::Signals;

/// A log to read: before it waits for more, everything that came of it is written.
pub(crate) struct Input<'a> {
    source: Box<dyn Read>,
    path: PathBuf,
    progress: Progress,
    out: &'a RefCell<Out>,
    signals: &'a Signals,
    /// The error of writing, which must not be taken for one of reading.
    write_error: WriteError,
}

/// Where an [`Input`] leaves an error of writing.
pub(crate) type WriteError = Rc<RefCell<Option<io::Error>>>;

impl<'a> Input<'a> {
    /// Opens a file, or standard input for `-`.
    pub(crate) fn open(
        path: &Path,
        out: &'a RefCell<Out>,
        signals: &'a Signals,
        write_error: &WriteError,
    ) -> io::Result<Self> {
        let (source, size): (Box<dyn Read>, _) = if path == Path::new("-") {
            (Box::new(io::stdin().lock()), None)
        } else {
            // A named pipe waits for its other end.
            signals.wait();
            let file = File::open(path);
            signals.work();
            let file = file.map_err(|error| named("cannot open", path, &error))?;
            let metadata = file.metadata()?;
            let size = metadata.is_file().then_some(metadata.len());
            (Box::new(file), size)
        };
        Ok(Self {
            source,
            path: path.to_owned(),
            progress: Progress::new(size),
            out,
            signals,
            write_error: Rc::clone(write_error),
        })
    }
}

impl Read for Input<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Err(error) = self.out.borrow_mut().flush() {
            *self.write_error.borrow_mut() = Some(error);
            return Err(io::Error::other("the output failed"));
        }
        self.signals.wait();
        let read = loop {
            match self.source.read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => break read,
            }
        };
        self.signals.work();
        match read {
            Ok(n) => {
                self.progress.advance(n);
                Ok(n)
            }
            Err(error) => Err(named("cannot read", &self.path, &error)),
        }
    }
}

/// Says what could not be done with what.
pub(crate) fn named(what: &str, path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{what} {}: {error}", Name(path)))
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
