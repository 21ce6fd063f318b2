//! The thread that writes a capture: [`Writer`].

use std::collections::HashSet;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use kfd_smi_io::capture::{GpuInfo, Header, Recorder};
use kfd_smi_io::{Clock, Record};
use kfd_smi_proto::{BootNanos, GpuId, Pid};

use crate::destination::{self, Destination};
use crate::machine;
use crate::ring::{Batch, Ring, Taken};
use crate::signals::Stop;

/// How far the clocks may move against each other before that is written.
const DRIFT: u64 = 1_000_000;

/// How old the clocks may be before they are written anew.
const HOUR: u64 = 3_600_000_000_000;

/// How many processes are remembered, so that each is written once. Then all are forgotten.
const MOST_PROCESSES: usize = 1 << 16;

/// What the user wants of the file.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    pub(crate) path: PathBuf,
    pub(crate) redact: bool,
    /// From this size on, a new file is begun.
    pub(crate) max_size: Option<u64>,
    /// How many old files are kept.
    pub(crate) max_files: u32,
}

/// What was written.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Written {
    pub(crate) bytes: u64,
    pub(crate) files: u32,
}

/// Writes what it finds in the ring.
#[derive(Debug)]
pub(crate) struct Writer {
    wanted: Wanted,
    header: Header,
    recorder: Recorder<Destination>,
    gpus: Vec<GpuInfo>,
    clock: Clock,
    processes: HashSet<Pid>,
    /// In the files before this one.
    written: Written,
    stop: Stop,
}

impl Writer {
    /// Opens the file and begins it.
    pub(crate) fn new(wanted: Wanted, header: Header, gpus: Vec<GpuInfo>, stop: Stop) -> io::Result<Self> {
        let destination = Destination::open(&wanted.path, &stop)?;
        let begin = if wanted.redact { Recorder::redacted } else { Recorder::new };
        let recorder = begin(destination, &header);
        let written = Written { bytes: 0, files: 1 };
        let clock = Clock::now();
        let mut writer =
            Self { wanted, header, recorder, gpus, clock, processes: HashSet::new(), written, stop };
        writer.introduce()?;
        writer.recorder.flush()?;
        Ok(writer)
    }

    /// Writes until it is told to stop. After an error, what is written ends with a whole line.
    pub(crate) fn run(mut self, ring: &Ring) -> io::Result<Written> {
        let mut batch = Batch::default();
        let result = loop {
            // Awake once an hour, for the clocks.
            let wishes = ring.take(&mut batch, Duration::from_nanos(HOUR));
            let written = self.write(&batch).and_then(|()| match wishes.reopen {
                true => self.go_on_in(|wanted, stop| Destination::open(&wanted.path, stop)),
                false => Ok(()),
            });
            match written.and_then(|()| self.recorder.flush()) {
                Err(error) => break Err(error),
                Ok(()) if wishes.stop => break Ok(()),
                Ok(()) => {}
            }
        };
        let written = self.recorder.written();
        if result.is_err() {
            // If that fails, too, the reader of the file drops the half line.
            _ = self.recorder.get_mut().cut(written);
        }
        result.map(|()| Written { bytes: self.written.bytes + written, ..self.written })
    }

    fn write(&mut self, batch: &Batch) -> io::Result<()> {
        self.check_clock()?;
        for item in batch.items() {
            match item {
                Taken::Record(record) => {
                    self.recorder.record(&record)?;
                    self.name_process(&record)?;
                    if self.wanted.max_size.is_some_and(|most| self.recorder.size() >= most) {
                        self.rotate()?;
                    }
                }
                Taken::Full(gpu) => self.recorder.full(gpu)?,
                Taken::Gpu(gpu) => {
                    self.recorder.gpu(gpu)?;
                    self.gpus.push(gpu.clone());
                }
                Taken::End(gpu, reason) => self.end(gpu, reason)?,
            }
        }
        if batch.lost > 0 {
            self.recorder.lost(batch.lost)?;
        }
        Ok(())
    }

    fn end(&mut self, gpu: GpuId, reason: &str) -> io::Result<()> {
        self.recorder.end(gpu, &reason.into())?;
        self.gpus.retain(|other| other.gpu != gpu);
        Ok(())
    }

    /// Writes the clocks if an hour has passed, or one of them was set.
    fn check_clock(&mut self) -> io::Result<()> {
        let now = Clock::now();
        let offset = |clock: Clock, zero| (clock.realtime_of(zero), clock.monotonic_of(zero));
        let (before, after) = (offset(self.clock, BootNanos::MIN), offset(now, BootNanos::MIN));
        let drift = before.0.abs_diff(after.0).max(before.1.abs_diff(after.1));
        if drift > DRIFT || now.boot.nanos().saturating_sub(self.clock.boot.nanos()) >= HOUR {
            self.clock = now;
            self.recorder.clock(now)?;
        }
        Ok(())
    }

    /// Says once what a process is that an event names.
    fn name_process(&mut self, record: &Record<'_>) -> io::Result<()> {
        // What could be forged names whom it likes.
        let event = record.line.event.ok().filter(|_| record.line.trust.is_trusted());
        let Some(pid) = event.and_then(|event| event.pid()).filter(|pid| pid.0 > 0) else {
            return Ok(());
        };
        if self.processes.len() >= MOST_PROCESSES {
            self.processes.clear();
        }
        if self.processes.insert(pid) { self.recorder.process(&machine::process(pid)) } else { Ok(()) }
    }

    /// What stands at the beginning of a file besides the header.
    fn introduce(&mut self) -> io::Result<()> {
        self.gpus.iter().try_for_each(|gpu| self.recorder.gpu(gpu))?;
        self.clock = Clock::now();
        self.processes.clear();
        self.recorder.clock(self.clock)
    }

    fn rotate(&mut self) -> io::Result<()> {
        self.go_on_in(|wanted, stop| {
            destination::rotate(&wanted.path, wanted.max_files)?;
            Destination::open(&wanted.path, stop)
        })
    }

    fn go_on_in(&mut self, open: impl FnOnce(&Wanted, &Stop) -> io::Result<Destination>) -> io::Result<()> {
        self.recorder.flush()?;
        self.written.bytes += self.recorder.written();
        self.written.files += 1;
        let destination = open(&self.wanted, &self.stop)?;
        self.recorder.rotate(destination, &self.header)?;
        self.introduce()
    }
}
