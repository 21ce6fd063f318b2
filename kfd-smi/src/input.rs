//! Where logs come from: files and standard input.

use std::cell::RefCell;
use std::fmt;
use std::fs::File;
use std::io::{self, Read, StdinLock};
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use kfd_smi_proto::Escaped;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::out::Out;
use crate::progress::Progress;
use crate::signals::Signals;

/// A log to read: before it waits for more, everything that came of it is written.
pub(crate) struct Input<'a> {
    source: Source,
    /// Whether a read could wait: for a file it does not, but for a pipe or terminal.
    can_wait: bool,
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
        let (source, size) = if path == Path::new("-") {
            (Source::Stdin(io::stdin().lock()), None)
        } else {
            // A named pipe waits for its other end.
            signals.wait();
            let file = File::open(path);
            signals.work();
            let file = file.map_err(|error| named("cannot open", path, &error))?;
            let metadata = file.metadata()?;
            let size = metadata.is_file().then_some(metadata.len());
            (Source::File(file), size)
        };
        Ok(Self {
            source,
            can_wait: size.is_none(),
            path: path.to_owned(),
            progress: Progress::new(size),
            out,
            signals,
            write_error: Rc::clone(write_error),
        })
    }
}

/// What is read.
enum Source {
    Stdin(StdinLock<'static>),
    File(File),
}

impl Source {
    /// Whether it has something to read, or has ended.
    fn is_ready(&self) -> bool {
        let fd = match self {
            Self::Stdin(stdin) => stdin.as_fd(),
            Self::File(file) => file.as_fd(),
        };
        let ready = poll(&mut [PollFd::from_borrowed_fd(fd, PollFlags::IN)], Some(&Timespec::default()));
        ready.is_ok_and(|ready| ready > 0)
    }

    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Stdin(stdin) => stdin.read(buffer),
            Self::File(file) => file.read(buffer),
        }
    }
}

impl Read for Input<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let waits = self.can_wait && !self.source.is_ready();
        // What does not wait must look whether a signal came.
        if waits || self.signals.stop().signal().is_some() {
            if let Err(error) = self.out.borrow_mut().flush() {
                *self.write_error.borrow_mut() = Some(error);
                return Err(io::Error::other("the output failed"));
            }
            if waits { self.signals.wait() } else { self.signals.end() }
        }
        let read = loop {
            match self.source.read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => break read,
            }
        };
        if waits {
            self.signals.work();
        }
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
