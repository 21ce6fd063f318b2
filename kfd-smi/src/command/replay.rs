//! `kfd-smi replay`: logs in, records out.

use std::io::{self, IsTerminal as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::CommandFactory as _;
use clap::error::ErrorKind;
use kfd_smi_proto::{Decoder, Line};

use crate::cli::{Cli, ClockChoice, Color, Replay};
use crate::complain::{BAD_LINES, FAILED, complain};
use crate::input::{Input, Name};
use crate::printer::Printer;
use crate::progress::Progress;
use crate::record::{Numbering, Origin};
use crate::signals::Signals;
use crate::summary::Summary;

/// Large enough that a system call costs nothing; it holds every line that can be an event.
const BUFFER: usize = 128 << 10;

pub(crate) fn run(args: &Replay, color: Color) -> ExitCode {
    if args.files.is_empty() && io::stdin().is_terminal() {
        let message = "expected a FILE, or a log on standard input, which is a terminal";
        Cli::command().error(ErrorKind::MissingRequiredArgument, message).exit();
    }
    match replay(args, color) {
        Ok(status) => ExitCode::from(status),
        // Whoever read the output has seen enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            complain(&format_args!("standard output: {error}"));
            ExitCode::from(FAILED)
        }
    }
}

/// Replays every input; the error is one of writing.
fn replay(args: &Replay, color: Color) -> io::Result<u8> {
    let signals = Signals::install()?;
    let mut printer = Printer::new(args.format, color, args.page_size, ClockChoice::Boot)?;
    let stdin = [PathBuf::from("-")];
    let files = if args.files.is_empty() { &stdin } else { &args.files[..] };
    let mut status = 0;
    for file in files {
        let name = (files.len() > 1).then(|| file.to_string_lossy());
        if name.is_some() {
            printer.begin(&Name(file))?;
        }
        let mut one = One {
            args,
            printer: &mut printer,
            numbering: Numbering::new(name.as_deref()),
            summary: Summary::default(),
        };
        if let Err(error) = one.replay(file, &signals)? {
            complain(&format_args!("{}: {error}", Name(file)));
            status = FAILED;
        }
        for sentence in one.summary.sentences() {
            complain(&format_args!("{}: {sentence}", Name(file)));
        }
        if args.strict && one.summary.is_bad() {
            status = status.max(BAD_LINES);
        }
    }
    Ok(status)
}

/// The replay of one input.
struct One<'a> {
    args: &'a Replay,
    printer: &'a mut Printer,
    numbering: Numbering<'a>,
    summary: Summary,
}

impl One<'_> {
    /// The inner error is one of reading, the outer one of writing.
    fn replay(&mut self, file: &Path, signals: &Signals) -> io::Result<io::Result<()>> {
        let mut input = match Input::open(file) {
            Ok(input) => input,
            Err(error) => return Ok(Err(error)),
        };
        let mut progress = Progress::new(input.size);
        let mut decoder = Box::new(Decoder::<BUFFER>::new());
        let end = loop {
            self.printer.flush()?;
            signals.wait();
            let read = input.read(decoder.buffer());
            signals.work();
            match read {
                Ok(0) => break Ok(()),
                Ok(n) => {
                    decoder.advance(n);
                    progress.advance(n);
                }
                Err(error) => break Err(error),
            }
            while let Some(line) = decoder.next_line() {
                self.line(&line)?;
            }
        };
        while let Some(line) = decoder.finish() {
            self.line(&line)?;
        }
        self.printer.flush()?;
        Ok(end)
    }

    fn line(&mut self, line: &Line<'_>) -> io::Result<()> {
        let record = self.numbering.record(line, Origin::default());
        if line.part.ends() {
            self.summary.add(&record);
        }
        if self.args.select.keeps(&record) {
            self.printer.print(line, &record)?;
        }
        Ok(())
    }
}
