//! `kfd-smi generate`: events that never were.

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;
use std::process::ExitCode;

use crate::cli::{Generate, GenerateFormat, Limits, end, usage_error};
use crate::complain::fail;
use crate::destination::Destination;
use crate::generate::{Engine, Limit, Scenario, Sink, Truth, Wanted};
use crate::signals::Signals;

/// How many events there are if nothing is said.
const EVENTS: u64 = 1000;

pub(crate) fn run(args: &Generate) -> ExitCode {
    let wanted = match wanted(args) {
        Ok(wanted) => wanted,
        Err(message) => return end(&usage_error("generate", &message)),
    };
    let signals = match Signals::install() {
        Ok(signals) => signals,
        Err(status) => return status,
    };
    match generate(args, &wanted, &signals) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure { path, error }) => {
            // Nobody read when it was to end; and the pipe can have a name, too.
            let is_output = matches!(error.kind(), io::ErrorKind::Interrupted | io::ErrorKind::BrokenPipe);
            if is_output || path == Path::new("-") {
                return signals.write_failed(&error);
            }
            fail(&format_args!("cannot write {}: {error}", path.display()))
        }
    }
}

/// Which file could not be written, and why.
struct Failure<'a> {
    path: &'a Path,
    error: io::Error,
}

fn wanted(args: &Generate) -> Result<Wanted, String> {
    let Generate { kernel, seed, .. } = *args;
    if let Some(one) = args.scenarios.iter().find(|one| one.since() > kernel) {
        let since = one.since().name();
        return Err(format!(
            "the events of {} exist since Linux {since}: choose a newer --kernel",
            name(*one)
        ));
    }
    let is_raw = args.format == GenerateFormat::Raw;
    let gpus = args.gpus.unwrap_or(if is_raw { 1 } else { 2 });
    if is_raw && gpus > 1 {
        return Err("a raw log is of one GPU: choose --format capture, or --gpus 1".to_owned());
    }
    if args.truth.as_deref() == Some(&*args.output) {
        return Err("--output and --truth are the same: choose another file for one of them".to_owned());
    }
    let Limits { events, duration, size } = args.limit;
    let limit = match (events, duration, size) {
        (_, Some(duration), _) => Limit::Duration(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)),
        (_, _, Some(size)) => Limit::Size(size),
        (events, _, _) => Limit::Events(events.unwrap_or(EVENTS)),
    };
    let scenarios = Scenario::chosen(&args.scenarios, kernel);
    Ok(Wanted { scenarios, seed, kernel, gpus: gpus as usize, processes: args.processes as usize, limit })
}

fn name(scenario: Scenario) -> String {
    let value = clap::ValueEnum::to_possible_value(&scenario);
    value.map_or_else(String::new, |value| value.get_name().to_owned())
}

fn generate<'a>(args: &'a Generate, wanted: &Wanted, signals: &Signals) -> Result<(), Failure<'a>> {
    let open =
        |path: &'a Path| Destination::create(path, &signals.stop()).map_err(|error| Failure { path, error });
    let truth_path = args.truth.as_deref();
    let output = open(&args.output)?;
    let truth_file = truth_path.map(open).transpose()?;
    let mut truth = Truth::new(args.format == GenerateFormat::Capture);
    if let Err(error) = write(args, wanted, signals, output, &mut truth) {
        // Nothing is true of half a log.
        truth_path.filter(|path| is_empty_file(path)).map(fs::remove_file);
        return Err(Failure { path: &args.output, error });
    }
    if let Some((path, mut file)) = truth_path.zip(truth_file) {
        let mut text = vec![];
        let written = truth.write(&mut text).and_then(|()| file.write_all(&text)).and_then(|()| file.flush());
        written.map_err(|error| Failure { path, error })?;
    }
    Ok(())
}

/// Whether it was made here, as far as that can be told.
fn is_empty_file(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_file() && metadata.len() == 0)
}

fn write(
    args: &Generate,
    wanted: &Wanted,
    signals: &Signals,
    output: Destination,
    truth: &mut Truth,
) -> io::Result<()> {
    let mut engine = Engine::new(wanted);
    let mut sink = match args.format {
        GenerateFormat::Raw => Sink::raw(output, signals),
        GenerateFormat::Capture => Sink::capture(output, signals, engine.world())?,
    };
    let made = match wanted.limit {
        Limit::Size(most) if sink.size() > most => {
            Err(io::Error::other(format!("the header alone has {} bytes", sink.size())))
        }
        _ => engine.run(&mut sink, truth).and_then(|()| sink.flush()),
    };
    if made.is_err() {
        // If that fails, too, the reader of the file drops the half line.
        _ = sink.cut();
    }
    made
}
