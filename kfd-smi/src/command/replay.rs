//! `kfd-smi replay`: logs and captures in, records out.

use std::cell::RefCell;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use kfd_smi_io::capture::{Entry, Log};
use kfd_smi_io::{Clock, Record};
use kfd_smi_proto::{Escaped, Event, PageSize};

use crate::cli::{self, Color, Logs, Replay, ReplayFormat};
use crate::complain::{BAD_LINES, FAILED, complain};
use crate::excerpt::Excerpt;
use crate::input::{Input, Name, WriteError};
use crate::merge::{self, Merging};
use crate::out::Out;
use crate::pace::Pace;
use crate::printer::Printer;
use crate::processes::Processes;
use crate::record::{Numbering, Origin};
use crate::signals::Signals;
use crate::summary::Summary;
use crate::window::{LastTime, Window};

pub(crate) fn run(args: &Replay, color: Color) -> ExitCode {
    if let Some(message) = args.logs.terminal_error() {
        return cli::end(&cli::usage_error("replay", message));
    }
    if args.redact && args.format != ReplayFormat::Capture {
        return cli::end(&cli::usage_error("replay", "--redact goes with --format capture"));
    }
    let signals = match Signals::install() {
        Ok(signals) => signals,
        Err(status) => return status,
    };
    match replay(args, color, &signals) {
        Ok(status) => ExitCode::from(status),
        Err(error) => signals.write_failed(&error),
    }
}

/// Replays every input; the error is one of writing.
fn replay(args: &Replay, color: Color, signals: &Signals) -> io::Result<u8> {
    let stdin = [PathBuf::from("-")];
    let files = files(&args.logs, &stdin);
    let skip = match args.last {
        Some(last) => match count(args, files, signals)? {
            Some(lines) => lines.saturating_sub(last),
            None => return Ok(FAILED),
        },
        None => 0,
    };
    let out = RefCell::new(match args.format.lines() {
        Some(format) => {
            let printer = Printer::new(format, color, args.logs.page_size, args.clock, signals.stop())?;
            Out::Lines(Box::new(printer.with_threads(args.jobs.get() - 1)))
        }
        None => Out::Capture(Box::new(Excerpt::new(args.redact, signals.stop()))),
    });
    let names: Vec<_> = files.iter().map(|file| name_of(file)).collect();
    let mut session = Session::new(&args.logs, &out, signals, skip);
    session.captures_only = args.captures_only();
    session.merges = args.format != ReplayFormat::Capture;
    session.pace = args.speed.map(Pace::new);
    session.all(files, &names)?;
    out.borrow_mut().flush()?;
    Ok(session.status)
}

/// Reads all logs one after the other, and gives the exit status; the error is one of writing.
pub(crate) fn read(logs: &Logs, out: &RefCell<Out>, signals: &Signals) -> io::Result<u8> {
    let stdin = [PathBuf::from("-")];
    let files = files(logs, &stdin);
    let names: Vec<_> = files.iter().map(|file| name_of(file)).collect();
    let mut session = Session::new(logs, out, signals, 0);
    session.all(files, &names)?;
    Ok(session.status)
}

/// The files, or standard input if there are none.
fn files<'a>(logs: &'a Logs, stdin: &'a [PathBuf; 1]) -> &'a [PathBuf] {
    if logs.files.is_empty() { stdin } else { &logs.files }
}

/// How many lines would be shown; `None` if that cannot be known before they are.
fn count(args: &Replay, files: &[PathBuf], signals: &Signals) -> io::Result<Option<u64>> {
    // What is not there at all will be said when it is opened.
    let is_stream = |file: &&PathBuf| file.as_path() == Path::new("-") || file.exists() && !file.is_file();
    if let Some(file) = files.iter().find(is_stream) {
        complain(&format_args!("{}: --last needs a file, which is read twice", Name(file)));
        return Ok(None);
    }
    let out = RefCell::new(Out::Count(0));
    let mut session = Session::new(&args.logs, &out, signals, 0);
    session.is_quiet = true;
    session.captures_only = args.captures_only();
    session.all(files, &[])?;
    Ok(match out.into_inner() {
        Out::Count(lines) => Some(lines),
        _ => None,
    })
}

/// One pass over all inputs.
struct Session<'a> {
    args: &'a Logs,
    out: &'a RefCell<Out>,
    signals: &'a Signals,
    window: Window,
    pace: Option<Pace>,
    /// Whether several captures are put in the order of their times.
    merges: bool,
    /// Whether a raw log will not do.
    captures_only: bool,
    /// So many lines more are left out.
    skip: u64,
    /// Whether nothing is said of what is wrong, because it will be.
    is_quiet: bool,
    status: u8,
}

/// One input.
struct Source<'a> {
    path: &'a Path,
    log: Log<Input<'a>>,
    write_error: WriteError,
    state: State<'a>,
}

/// What is known of an input so far.
struct State<'a> {
    name: &'a Path,
    numbering: Numbering,
    summary: Summary,
    last_time: LastTime,
    /// Lines of which it is not known whether they are in the window.
    left_out: u64,
    /// What its machine calls a page, if it says so.
    page_size: Option<PageSize>,
    processes: Processes,
    /// Whether the last record was in the window and is not skipped: then what stands behind it is shown, too.
    is_shown: bool,
}

impl<'a> Session<'a> {
    fn new(args: &'a Logs, out: &'a RefCell<Out>, signals: &'a Signals, skip: u64) -> Self {
        Self {
            args,
            out,
            signals,
            window: Window { from: args.from, to: args.to },
            pace: None,
            merges: false,
            captures_only: false,
            skip,
            is_quiet: false,
            status: 0,
        }
    }

    /// Replays all inputs; where there are several, under these names.
    fn all(&mut self, files: &'a [PathBuf], names: &[&'static str]) -> io::Result<()> {
        let several = files.len() > 1;
        let name = |number: usize| names.get(number).filter(|_| several).copied();
        if several && self.merges && files.iter().all(|file| is_capture(file)) {
            let mut sources = vec![];
            for (number, file) in files.iter().enumerate() {
                sources.extend(self.open(file, name(number))?);
            }
            self.merge(&mut sources)?;
            sources.iter().for_each(|source| self.end(source));
            return Ok(());
        }
        for (number, file) in files.iter().enumerate() {
            let Some(mut source) = self.open(file, name(number))? else { continue };
            if several {
                self.out.borrow_mut().begin(&Name(file))?;
            }
            if matches!(source.log, Log::Raw(_)) && self.captures_only {
                let what = "expected a capture: a raw log has neither times nor GPUs";
                self.failed(&io::Error::other(format!("{}: {what}", Name(file))), &source.write_error)?;
                continue;
            }
            while self.step(&mut source)? {}
            self.end(&source);
        }
        Ok(())
    }

    /// Opens an input and finds out what it is; says so and goes on without it if that fails.
    fn open(&mut self, path: &'a Path, name: Option<&'static str>) -> io::Result<Option<Source<'a>>> {
        let write_error = WriteError::default();
        let opened = Input::open(path, self.out, self.signals, &write_error).and_then(Log::detect);
        match opened {
            Ok(log) => {
                let state = State {
                    name: path,
                    numbering: Numbering::new(name),
                    summary: Summary::default(),
                    last_time: LastTime::default(),
                    left_out: 0,
                    page_size: None,
                    processes: Processes::default(),
                    is_shown: self.window.from.is_none(),
                };
                Ok(Some(Source { path, log, write_error, state }))
            }
            Err(error) => {
                self.failed(&error, &write_error)?;
                Ok(None)
            }
        }
    }

    /// An input could not be read, or the output not be written.
    fn failed(&mut self, error: &io::Error, write_error: &WriteError) -> io::Result<()> {
        if let Some(error) = write_error.borrow_mut().take() {
            return Err(error);
        }
        if !self.is_quiet {
            complain(error);
        }
        self.status = FAILED;
        Ok(())
    }

    /// Takes the next entry of an input; false at its end.
    fn step(&mut self, source: &mut Source<'a>) -> io::Result<bool> {
        let Source { log, write_error, state, .. } = source;
        let clock = clock(log);
        match log.next_entry() {
            Ok(Some(entry)) => self.entry(state, &entry, clock).map(|()| true),
            Ok(None) => Ok(false),
            Err(error) => self.failed(&error, write_error).map(|()| false),
        }
    }

    fn entry(&mut self, state: &mut State<'a>, entry: &Entry<'_>, clock: Option<Clock>) -> io::Result<()> {
        match entry {
            Entry::Record(record) => self.record(state, record, clock),
            Entry::Malformed(error) => {
                if !self.is_quiet {
                    complain(&format_args!("{}: {error}", Name(state.name)));
                }
                state.summary.add_malformed_file_line();
                self.out.borrow_mut().malformed_file_line();
                Ok(())
            }
            Entry::Lost(_) | Entry::Full(_) | Entry::End(..) if self.skip > 0 || !state.is_shown => Ok(()),
            Entry::Process(process) if !state.processes.is_named(process) => Ok(()),
            fact => {
                if let Entry::Segment(header) = fact {
                    state.page_size = header.page_size;
                    state.processes = Processes::default();
                }
                self.out.borrow_mut().fact(&Name(state.name), fact, clock)
            }
        }
    }

    fn record(&mut self, state: &mut State<'a>, source: &Record<'_>, clock: Option<Clock>) -> io::Result<()> {
        let origin = Origin { gpu: source.gpu, arrival: source.arrival, clock };
        let record = state.numbering.record(&source.line, origin);
        let ends = source.line.part.ends();
        if record.seq == 1 && source.line.part.begins() {
            state.summary.begin(record.bytes);
        }
        let is_in = self.window.contains(&record, &mut state.last_time);
        state.is_shown = is_in == Some(true);
        if is_in.is_none() && ends {
            state.left_out += 1;
            self.out.borrow_mut().left_out();
        }
        if !state.is_shown {
            return Ok(());
        }
        if ends {
            state.summary.add(&record);
        }
        if !self.args.select.keeps(&record) {
            return Ok(());
        }
        if self.skip > 0 {
            self.skip -= u64::from(ends);
            state.is_shown = false;
            return Ok(());
        }
        if let Some(wait) =
            self.pace.as_mut().zip(source.arrival).and_then(|(pace, arrival)| pace.until(arrival))
        {
            self.out.borrow_mut().flush()?;
            self.signals.wait();
            Pace::wait(wait);
            self.signals.work();
        }
        self.out.borrow_mut().record(source, &record, state.page_size)?;
        let pid = record.event.as_ref().ok().and_then(Event::pid);
        match pid.filter(|_| source.gpu.is_some()).and_then(|pid| state.processes.name(pid)) {
            Some(process) => self.out.borrow_mut().fact(&Name(state.name), &Entry::Process(process), clock),
            None => Ok(()),
        }
    }

    /// Takes the records of several captures in the order of their times.
    fn merge(&mut self, sources: &mut [Source<'a>]) -> io::Result<()> {
        let mut merging = Merging::new(sources.len());
        loop {
            for (number, source) in sources.iter_mut().enumerate() {
                while merging.wants(number) {
                    let Source { log, write_error, state, .. } = source;
                    let clock = clock(log);
                    match log.next_entry() {
                        Ok(Some(Entry::Record(record))) => merging.put(number, &record, clock),
                        Ok(Some(entry)) => {
                            if let Entry::Segment(header) = &entry {
                                merging.segment(number, header);
                            }
                            self.entry(state, &entry, clock)?;
                        }
                        Ok(None) => merging.end(number),
                        Err(error) => {
                            self.failed(&error, write_error)?;
                            merging.end(number);
                        }
                    }
                }
            }
            let Some(merge::Taken { source, kept, bytes, clock }) = merging.take() else { return Ok(()) };
            self.record(&mut sources[source].state, &kept.record(&bytes), clock)?;
            merging.give_back(source, bytes);
        }
    }

    /// Says what was wrong with an input.
    fn end(&mut self, source: &Source<'_>) {
        if self.is_quiet {
            return;
        }
        for sentence in source.state.summary.sentences() {
            complain(&format_args!("{}: {sentence}", Name(source.path)));
        }
        if source.state.left_out > 0 {
            complain(&format_args!("{}: {}", Name(source.path), self.window.left_out(source.state.left_out)));
        }
        if self.args.strict && source.state.summary.is_bad() {
            self.status = self.status.max(BAD_LINES);
        }
    }
}

/// The name as it was given; if it is no text, so that it can be told from others. Records bear it on any thread, as
/// long as the program runs.
fn name_of(path: &Path) -> &'static str {
    let name =
        path.to_str().map_or_else(|| Escaped(path.as_os_str().as_encoded_bytes()).to_string(), Into::into);
    name.leak()
}

/// Whether a file is a capture. What is no file cannot be looked at twice: it counts as none.
fn is_capture(path: &Path) -> bool {
    path != Path::new("-")
        && path.is_file()
        && File::open(path).and_then(Log::detect).is_ok_and(|log| matches!(log, Log::Capture(_)))
}

/// What makes wall-clock time of the next entry.
fn clock(log: &Log<Input<'_>>) -> Option<Clock> {
    match log {
        Log::Capture(replay) => replay.clock(),
        Log::Raw(_) => None,
    }
}
