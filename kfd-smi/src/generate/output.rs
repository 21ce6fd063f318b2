//! Where what is made up is written: [`Sink`].

use std::collections::BTreeSet;
use std::io::{self, Write as _};

use kfd_smi_io::capture::{GpuInfo, Header, ProcessInfo, Recorder};
use kfd_smi_io::{Clock, EventMask, Record};
use kfd_smi_proto::{BootNanos, Decoder, GpuId, PageSize, Pid};

use super::driver::Inserted;
use super::world::{Task, World};
use crate::destination::Destination;
use crate::signals::Signals;

/// So many bytes are gathered before they are written.
const ENOUGH: u64 = 1 << 16;

/// The clocks are written once an hour, in nanoseconds.
const HOUR: u64 = 3_600_000_000_000;

/// How many processes are remembered, so that each is written once. Then all are forgotten.
const MOST_PROCESSES: usize = 1 << 16;

/// More than anything but records takes in a capture: what is known of a process, a GPU, the clocks.
const LONGEST_FACTS: u64 = 512;

/// A file in one of the forms.
pub(crate) struct Sink<'a> {
    form: Form,
    signals: &'a Signals,
    /// The size at which it is written next.
    next_flush: u64,
}

enum Form {
    Raw(Raw),
    Capture(Box<Capture>),
}

/// What one file descriptor gives.
struct Raw {
    destination: Destination,
    /// Whole lines that are still to be written.
    lines: Vec<u8>,
    /// How many bytes of whole lines were written.
    written: u64,
}

struct Capture {
    recorder: Recorder<Destination>,
    /// One for each GPU.
    decoders: Vec<Decoder>,
    processes: BTreeSet<Pid>,
    /// Itself.
    recorder_pid: Pid,
    clock: Clock,
}

impl<'a> Sink<'a> {
    pub(crate) fn raw(destination: Destination, signals: &'a Signals) -> Self {
        let raw = Raw { destination, lines: vec![], written: 0 };
        Self { form: Form::Raw(raw), signals, next_flush: ENOUGH }
    }

    /// Begins a capture of this machine.
    pub(crate) fn capture(destination: Destination, signals: &'a Signals, world: &World) -> io::Result<Self> {
        let mut recorder = Recorder::new(destination, &header(world));
        for (number, gpu) in world.gpus.iter().enumerate() {
            recorder.gpu(&GpuInfo {
                gpu: gpu.id,
                name: "aldebaran".into(),
                pci: format!("0000:{:02x}:00.0", 0x41 + number).as_str().into(),
                unique_id: Some(gpu.unique_id),
            })?;
        }
        let clock = clock(world.begin);
        recorder.clock(clock)?;
        let decoders = world.gpus.iter().map(|gpu| Decoder::for_gpu(gpu.id)).collect();
        let (processes, recorder_pid) = (BTreeSet::new(), world.recorder);
        let capture = Capture { recorder, decoders, processes, recorder_pid, clock };
        Ok(Self { form: Form::Capture(Box::new(capture)), signals, next_flush: ENOUGH })
    }

    /// How many bytes there are so far.
    pub(crate) fn size(&self) -> u64 {
        match &self.form {
            Form::Raw(raw) => raw.written + raw.lines.len() as u64,
            Form::Capture(capture) => capture.recorder.size(),
        }
    }

    /// How many bytes there could be with one more event.
    pub(crate) fn size_with(&self, inserted: &Inserted) -> u64 {
        let bytes = inserted.bytes();
        self.size()
            + match &self.form {
                Form::Raw(_) => bytes.len() as u64,
                Form::Capture(_) => {
                    // Each byte could be escaped, and each newline begin a record.
                    let lines = bytes.iter().filter(|byte| **byte == b'\n').count() as u64;
                    4 * bytes.len() as u64 + 64 * lines + LONGEST_FACTS
                }
            }
    }

    /// A read of this GPU left no room.
    pub(crate) fn full(&mut self, gpu: GpuId) -> io::Result<()> {
        match &mut self.form {
            Form::Raw(_) => Ok(()),
            Form::Capture(capture) => capture.recorder.full(gpu),
        }
    }

    /// The reader got an event. Of processes that it names, what is found out is written, too.
    pub(crate) fn event<'t>(
        &mut self,
        number: usize,
        gpu: GpuId,
        arrival: u64,
        inserted: &Inserted,
        task: impl Fn(Pid) -> Option<&'t Task>,
    ) -> io::Result<()> {
        match &mut self.form {
            Form::Raw(raw) => raw.lines.extend_from_slice(inserted.bytes()),
            Form::Capture(capture) => capture.event(number, gpu, arrival, inserted, task)?,
        }
        if self.size() >= self.next_flush {
            self.flush()?;
            self.next_flush = self.size() + ENOUGH;
            // If a signal came, the program ends here, between two lines.
            self.signals.wait();
            self.signals.work();
        }
        Ok(())
    }

    /// Writes all that was gathered. After an error, what is written ends with a whole line.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        match &mut self.form {
            Form::Raw(raw) => raw.flush(),
            Form::Capture(capture) => capture.recorder.flush(),
        }
    }

    /// After an error: cuts off what was written of a line.
    pub(crate) fn cut(&mut self) -> io::Result<()> {
        match &mut self.form {
            Form::Raw(raw) => raw.destination.cut(raw.written),
            Form::Capture(capture) => {
                let written = capture.recorder.written();
                capture.recorder.get_mut().cut(written)
            }
        }
    }
}

impl Raw {
    fn flush(&mut self) -> io::Result<()> {
        let mut taken = 0;
        let result = loop {
            let Some(rest) = self.lines.get(taken..).filter(|rest| !rest.is_empty()) else {
                break self.destination.flush();
            };
            match self.destination.write(rest) {
                Ok(0) => break Err(io::ErrorKind::WriteZero.into()),
                Ok(n) => taken += n,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => break Err(error),
            }
        };
        let taken = &self.lines[..taken];
        let whole = taken.iter().rposition(|byte| *byte == b'\n').map_or(0, |newline| newline + 1);
        self.written += whole as u64;
        self.lines.clear();
        result
    }
}

impl Capture {
    fn event<'t>(
        &mut self,
        number: usize,
        gpu: GpuId,
        arrival: u64,
        inserted: &Inserted,
        task: impl Fn(Pid) -> Option<&'t Task>,
    ) -> io::Result<()> {
        if arrival.saturating_sub(self.clock.boot.nanos()) >= HOUR {
            self.clock = clock(arrival);
            self.recorder.clock(self.clock)?;
        }
        let decoder = &mut self.decoders[number];
        if inserted.drained {
            decoder.source_drained();
        }
        let mut rest = inserted.bytes();
        while !rest.is_empty() {
            rest = &rest[decoder.feed(rest)..];
            while let Some(line) = decoder.next_line() {
                let record = Record::new(Some(gpu), BootNanos::new(arrival), line);
                self.recorder.record(&record)?;
                // What could be forged names whom it likes.
                let event = line.event.ok().filter(|_| line.trust.is_trusted());
                let Some(pid) = event.and_then(|event| event.pid()) else { continue };
                if self.processes.len() >= MOST_PROCESSES {
                    self.processes.clear();
                }
                if self.processes.insert(pid) {
                    let (comm, cgroup) = match task(pid) {
                        Some(task) => (task.comm.bytes, format!("/user.slice/job-{}", task.job)),
                        None if pid == self.recorder_pid => {
                            (&b"kfd-smi"[..], "/system.slice/kfd-smi-record.service".to_owned())
                        }
                        // It is gone by now.
                        None => (&b""[..], String::new()),
                    };
                    let cgroup = cgroup.as_str().into();
                    self.recorder.process(&ProcessInfo { pid, comm: comm.into(), cgroup })?;
                }
            }
        }
        Ok(())
    }
}

/// What a recorder would say of this machine. The host tells that there is none.
fn header(world: &World) -> Header {
    let mut header = Header::default();
    header.program = Some("kfd-smi-generate".into());
    header.machine = Some("x86_64".into());
    header.release = Some(world.kernel.release().as_str().into());
    header.kfd_version = Some(world.kernel.kfd_version());
    header.page_size = Some(PageSize::FOUR_KIB);
    header.host = Some("generated".into());
    header.recorder = Some(world.recorder);
    header.mask = Some(EventMask::EVERY | EventMask::ALL_PROCESSES);
    header.privileged = Some(true);
    header
}

/// The clocks of the machine: it was booted at the same second, and was suspended for one.
fn clock(boot: u64) -> Clock {
    const BOOTED: i64 = 1_764_500_000_000_000_000;
    const SUSPENDED: i64 = 1_000_000_000;
    let nanos = boot.cast_signed();
    let boot = BootNanos::new(boot).unwrap_or(BootNanos::MAX);
    Clock { boot, realtime: BOOTED + nanos, monotonic: nanos - SUSPENDED }
}
