//! A part of a capture, as a capture: [`Excerpt`].

use std::io;

use kfd_smi_io::Record;
use kfd_smi_io::capture::{Entry, Header, Recorder};

use crate::output::Output;
use crate::signals::Stop;

/// Writes the records that were chosen, and what must be known for them.
#[derive(Debug)]
pub(crate) struct Excerpt {
    redact: bool,
    stop: Stop,
    recorder: Option<Recorder<Output>>,
}

impl Excerpt {
    pub(crate) const fn new(redact: bool, stop: Stop) -> Self {
        Self { redact, stop, recorder: None }
    }

    pub(crate) fn record(&mut self, record: &Record<'_>) -> io::Result<()> {
        self.recorder(&Header::default()).record(record)
    }

    pub(crate) fn fact(&mut self, entry: &Entry<'_>) -> io::Result<()> {
        match entry {
            Entry::Segment(header) if self.recorder.is_none() => {
                self.recorder(header);
                Ok(())
            }
            entry => self.recorder(&Header::default()).entry(entry),
        }
    }

    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.recorder.as_mut().map_or(Ok(()), Recorder::flush)
    }

    /// The recorder, begun with this header if it was not.
    fn recorder(&mut self, header: &Header) -> &mut Recorder<Output> {
        let stop = self.stop.clone();
        let begin = if self.redact { Recorder::redacted } else { Recorder::new };
        self.recorder.get_or_insert_with(|| begin(Output::new(stop), header))
    }
}
