//! `kfd-smi stat`: what a log, or what happens now, comes to.

use std::cell::RefCell;
use std::io::{self, Write as _};
use std::process::ExitCode;

use anstream::{AutoStream, ColorChoice};
use kfd_smi_io::Clock;
use signal_hook::consts::{SIGINT, SIGTERM};

use crate::cli::{self, Color, Stat, StatFormat};
use crate::command::replay;
use crate::complain::{FAILED, complain, fail, write_failed};
use crate::live;
use crate::out::Out;
use crate::output::Output;
use crate::signals::{Signals, Stop};
use crate::stat;
use crate::tally::Tally;
use crate::time::utc;
use crate::watch::{Over, Times, watch};

pub(crate) fn run(args: &Stat, color: Color) -> ExitCode {
    let colored = match color.into() {
        ColorChoice::Auto => AutoStream::choice(&io::stdout()) != ColorChoice::Never,
        choice => choice != ColorChoice::Never,
    };
    let tally = Tally::new(args.logs.page_size, &args.judge, !args.logs.select.events.is_empty());
    if args.live {
        return watch_driver(args, colored, tally);
    }
    if let Some(message) = args.logs.terminal_error() {
        return cli::end(&cli::usage_error("stat", message));
    }
    let signals = match Signals::install() {
        Ok(signals) => signals,
        Err(status) => return status,
    };
    match count(args, colored, tally, &signals) {
        Ok(status) => ExitCode::from(status),
        Err(error) => signals.write_failed(&error),
    }
}

/// Counts what is in the logs; the error is one of writing.
fn count(args: &Stat, colored: bool, tally: Tally, signals: &Signals) -> io::Result<u8> {
    let out = RefCell::new(Out::Tally(Box::new(tally)));
    let status = replay::read(&args.logs, &out, signals)?;
    if let Out::Tally(tally) = &*out.borrow() {
        let given_up = tally.given_up();
        if given_up > 0 {
            complain(&format_args!(
                "{given_up} starts were given up, because too many waited for their end; they count as unpaired"
            ));
        }
        print(args, colored, tally, signals.stop())?;
    }
    Ok(status)
}

fn print(args: &Stat, colored: bool, tally: &Tally, stop: Stop) -> io::Result<()> {
    let mut out = Output::new(stop);
    stat::write(tally, args.format, &args.by, colored, &mut out)?;
    out.flush()
}

/// Counts what happens now, and prints it again and again.
fn watch_driver(args: &Stat, colored: bool, mut tally: Tally) -> ExitCode {
    let begun = live::begin(&[SIGINT, SIGTERM], &args.device, &args.logs.select);
    let (mut live, signal) = match begun {
        Ok(begun) => begun,
        Err(error) => return fail(&error),
    };
    let look = |tally: &Tally| {
        let mut out = Output::new(signal.stop());
        if args.format == StatFormat::Human {
            writeln!(out, "==> {} <==", utc(Clock::now().realtime))?;
        }
        stat::write(tally, args.format, &args.by, colored, &mut out)?;
        if args.format == StatFormat::Human {
            writeln!(out)?;
        }
        out.flush()
    };
    let times = Times { total: None, interval: Some(args.interval) };
    let over = watch(&mut live, &signal, &args.logs.select, times, &mut tally, look);
    match over {
        Ok(Over::Failed) => ExitCode::from(FAILED),
        Ok(_) => ExitCode::SUCCESS,
        Err(error) => write_failed(&error),
    }
}
