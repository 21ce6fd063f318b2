//! `kfd-smi monitor`: events as they happen.

use std::io;
use std::process::ExitCode;

use kfd_smi_io::{Clock, Next};
use signal_hook::consts::{SIGINT, SIGTERM};

use crate::cli::{ClockChoice, Color, Monitor};
use crate::complain::{FAILED, complain, fail, write_failed};
use crate::live::{self, LastSignal, Live, say_ended, say_full};
use crate::machine::page_size;
use crate::printer::Printer;
use crate::record::{Numbering, Origin};

pub(crate) fn run(args: &Monitor, color: Color) -> ExitCode {
    let begun = live::begin(&[SIGINT, SIGTERM], &args.device, &args.select);
    let (live, signal) = match begun {
        Ok(begun) => begun,
        Err(error) => return fail(&error),
    };
    match monitor(args, color, live, &signal) {
        Ok(status) => ExitCode::from(status),
        Err(error) => write_failed(&error),
    }
}

/// Prints until a signal comes or no GPU is left; the error is one of writing.
fn monitor(args: &Monitor, color: Color, live: Live, signal: &LastSignal) -> io::Result<u8> {
    let Live { mut reader, .. } = live;
    let page_size = args.page_size.unwrap_or_else(page_size);
    let clock = args.clock.unwrap_or(ClockChoice::Wall);
    let mut printer = Printer::new(args.format, color, Some(page_size), Some(clock), signal.stop())?;
    printer.flush()?;
    let mut numbering = Numbering::new(None);
    let (mut arrival, mut clock) = (None, Clock::now());
    loop {
        // What one wake-up brought is written before the next wait.
        let next = match reader.is_ready() {
            Ok(false) => {
                printer.flush()?;
                reader.next(None)
            }
            Ok(true) => reader.try_next(),
            Err(error) => Err(error),
        };
        match next {
            Ok(Next::Record(record)) => {
                // Lines of one read came at one time, on every clock.
                if record.arrival != arrival {
                    (arrival, clock) = (record.arrival, Clock::now());
                }
                let origin = Origin { gpu: record.gpu, arrival, clock: Some(clock) };
                let line = record.line;
                let record = numbering.record(&line, origin);
                if args.select.keeps(&record) {
                    printer.print(&line, &record)?;
                }
            }
            Ok(Next::Full(gpu)) => say_full(gpu),
            Ok(Next::Ended(gpu, error)) => say_ended(gpu, error.as_ref()),
            Ok(Next::Woken) if signal.take().is_some() => {
                printer.flush()?;
                return Ok(0);
            }
            Ok(Next::Finished) => {
                printer.flush()?;
                complain(&"no GPU is left to watch");
                return Ok(FAILED);
            }
            Ok(_) => {}
            Err(error) => {
                printer.flush()?;
                complain(&error);
                return Ok(FAILED);
            }
        }
    }
}
