//! `kfd-smi record`: events into a capture, to be looked at anywhere.

use std::io::{self, IsTerminal as _};
use std::process::ExitCode;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use indicatif::{HumanBytes, ProgressBar};
use kfd_smi_io::capture::GpuInfo;
use kfd_smi_io::{Next, Waker};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::cli::Record;
use crate::complain::{complain, fail};
use crate::live::{self, LastSignal, Live, say_ended};
use crate::machine;
use crate::record::{Numbering, Origin};
use crate::ring::{Item, Ring};
use crate::writer::{Wanted, Writer, Written};

/// How often it is looked whether GPUs came, while nothing happens.
const LOOK_FOR_GPUS: Duration = Duration::from_secs(30);

pub(crate) fn run(args: &Record) -> ExitCode {
    let (live, signal) = match live::begin(&[SIGINT, SIGTERM, SIGHUP], &args.device, &args.select) {
        Ok(begun) => begun,
        Err(error) => return fail(&error),
    };
    match record(args, live, signal) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(&format_args!("cannot write {}: {error}", args.output.display())),
    }
}

/// The error is one of writing.
fn record(args: &Record, live: Live, signal: LastSignal) -> io::Result<()> {
    let wanted = Wanted {
        path: args.output.clone(),
        redact: args.redact,
        max_size: args.max_size,
        max_files: args.max_files,
    };
    let header = machine::header(live.version, live.mask, live.is_privileged);
    let writer = Writer::new(wanted, header, live.gpus.iter().map(GpuInfo::from).collect(), signal.stop())?;
    let ring = Arc::new(Ring::default());
    let writing = spawn(writer, Arc::clone(&ring), live.reader.waker())?;
    let mut reading = Reading::new(args, live, ring, signal);
    let read = reading.run(&writing);
    reading.ring.wish(|wishes| wishes.stop = true);
    let written = writing.join().map_err(|_| io::Error::other("the writing thread panicked"))??;
    reading.say_summary(written);
    read
}

fn spawn(writer: Writer, ring: Arc<Ring>, waker: Waker) -> io::Result<JoinHandle<io::Result<Written>>> {
    thread::Builder::new().name("writer".to_owned()).spawn(move || {
        let written = writer.run(&ring);
        // Whether it was told to stop or cannot write: the reader is to look.
        waker.wake();
        written
    })
}

/// The thread that reads the driver, and does nothing that could wait for something else.
struct Reading<'a> {
    args: &'a Record,
    live: Live,
    ring: Arc<Ring>,
    numbering: Numbering,
    signal: LastSignal,
    begun: Instant,
    looked: Instant,
    lines: u64,
    lost: u64,
    progress: ProgressBar,
}

impl<'a> Reading<'a> {
    fn new(args: &'a Record, live: Live, ring: Arc<Ring>, signal: LastSignal) -> Self {
        let progress =
            if io::stderr().is_terminal() { ProgressBar::new_spinner() } else { ProgressBar::hidden() };
        let numbering = Numbering::new(None);
        let now = Instant::now();
        Self { args, live, ring, numbering, signal, begun: now, looked: now, lines: 0, lost: 0, progress }
    }

    /// Reads until a signal, the end of the time, or an error of the writer.
    fn run(&mut self, writing: &JoinHandle<io::Result<Written>>) -> io::Result<()> {
        let end = self.args.duration.and_then(|duration| self.begun.checked_add(duration));
        while !writing.is_finished() {
            let now = Instant::now();
            if end.is_some_and(|end| end <= now) {
                break;
            }
            let timeout =
                end.map_or(LOOK_FOR_GPUS, |end| LOOK_FOR_GPUS.min(end.saturating_duration_since(now)));
            match self.live.reader.next(Some(timeout)) {
                Ok(Next::Record(record)) => {
                    let origin = Origin { gpu: record.gpu, arrival: record.arrival, clock: None };
                    if self.args.select.keeps(&self.numbering.record(&record.line, origin)) {
                        let count = u64::from(record.line.part.ends());
                        self.lines += count;
                        self.lost += if self.ring.push(&record) { 0 } else { count };
                    }
                }
                Ok(Next::Full(gpu)) => self.ring.push_fact(Item::Full(gpu)),
                Ok(Next::Ended(gpu, error)) => {
                    say_ended(gpu, error.as_ref());
                    let reason = error.map_or_else(|| "closed".to_owned(), |error| error.to_string());
                    self.ring.push_fact(Item::End(gpu, reason));
                }
                Ok(Next::Woken) => match self.signal.take() {
                    Some(SIGHUP) => {
                        self.ring.wish(|wishes| wishes.reopen = true);
                        self.look_for_gpus();
                    }
                    Some(_) => break,
                    None => {}
                },
                Ok(Next::Finished) => {
                    complain(&"no GPU is left to record");
                    break;
                }
                Ok(_) => {}
                Err(error) => return Err(error.into()),
            }
            self.show_progress();
            if self.looked.elapsed() >= LOOK_FOR_GPUS {
                self.looked = Instant::now();
                self.look_for_gpus();
            }
        }
        Ok(())
    }

    /// Watches GPUs that came: after a change of partitions all of them are new.
    fn look_for_gpus(&mut self) {
        match self.live.look_for_gpus(&self.args.device, &self.args.select) {
            Ok(gpus) => gpus.iter().for_each(|gpu| self.ring.push_fact(Item::Gpu(GpuInfo::from(gpu)))),
            Err(error) => complain(&error),
        }
    }

    fn show_progress(&self) {
        if !self.progress.is_hidden() {
            self.progress.set_message(format!("{} lines, {} lost", self.lines, self.lost));
        }
    }

    fn say_summary(&self, written: Written) {
        self.progress.finish_and_clear();
        let Self { lines, lost, .. } = self;
        let Written { bytes, files } = written;
        let seconds = self.begun.elapsed().as_secs();
        let file = if files == 1 { "file" } else { "files" };
        complain(&format_args!(
            "{lines} lines in {seconds} s, {lost} of them lost; {} in {files} {file}",
            HumanBytes(bytes)
        ));
    }
}
