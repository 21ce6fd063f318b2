//! A part of a capture, as a capture: [`Excerpt`].

use std::collections::HashMap;
use std::io;

use kfd_smi_io::Record;
use kfd_smi_io::capture::{Entry, Header, ProcessInfo, Recorder};
use kfd_smi_proto::Pid;

use crate::output::Output;

/// How many processes of the part that is left out are remembered.
const MOST_PROCESSES: usize = 1 << 16;

/// Writes the records that were chosen, and what must be known for them.
#[derive(Debug)]
pub(crate) struct Excerpt {
    redact: bool,
    recorder: Option<Recorder<Output>>,
    /// What is known of processes that no record named yet: most of a day's are none of an excerpt's.
    processes: HashMap<Pid, ProcessInfo>,
}

impl Excerpt {
    pub(crate) fn new(redact: bool) -> Self {
        Self { redact, recorder: None, processes: HashMap::new() }
    }

    pub(crate) fn record(&mut self, record: &Record<'_>) -> io::Result<()> {
        let pid = record.line.event.ok().and_then(|event| event.pid());
        let process = pid.and_then(|pid| self.processes.remove(&pid));
        let recorder = self.recorder(&Header::default());
        recorder.record(record)?;
        process.map_or(Ok(()), |process| recorder.process(&process))
    }

    pub(crate) fn fact(&mut self, entry: &Entry<'_>) -> io::Result<()> {
        match entry {
            Entry::Segment(header) if self.recorder.is_none() => {
                self.recorder(header);
                Ok(())
            }
            Entry::Process(process) => {
                if self.processes.len() < MOST_PROCESSES {
                    self.processes.insert(process.pid, process.clone());
                }
                Ok(())
            }
            Entry::Segment(_) => {
                self.processes.clear();
                self.recorder(&Header::default()).entry(entry)
            }
            entry => self.recorder(&Header::default()).entry(entry),
        }
    }

    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.recorder.as_mut().map_or(Ok(()), Recorder::flush)
    }

    /// The recorder, begun with this header if it was not.
    fn recorder(&mut self, header: &Header) -> &mut Recorder<Output> {
        let begin = if self.redact { Recorder::redacted } else { Recorder::new };
        self.recorder.get_or_insert_with(|| begin(Output::new(), header))
    }
}
