//! `kfd-smi check`: whether something bad happened, in one line and an exit status.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::io::{self, Write as _};
use std::process::ExitCode;

use kfd_smi_proto::GpuId;
use signal_hook::consts::{SIGINT, SIGTERM};

use crate::amount::Count;
use crate::cli::{self, Check};
use crate::command::replay;
use crate::complain::{BAD_LINES, FAILED, complain, write_failed};
use crate::finding::Rule;
use crate::live;
use crate::out::Out;
use crate::output::Output;
use crate::signals::{Signals, Stop};
use crate::tally::Tally;
use crate::watch::{Over, Times, watch};

/// The exit status if something was seen.
const SEEN: u8 = BAD_LINES;

/// What health checks keep of the line.
const MOST_WIDTH: usize = 79;

/// What the driver shows to everyone.
const SHOWN_TO_ALL: [&str; 4] = ["gpu_pre_reset", "gpu_post_reset", "gpu_reset", "thermal_throttle"];

/// Whether it could look.
enum Looked {
    Yes,
    /// Some lines were malformed, and that was asked.
    BadLines,
    /// It could not, for this reason.
    No(String),
}

pub(crate) fn run(args: &Check) -> ExitCode {
    let tally = Tally::new(args.logs.page_size, &args.judge, !args.logs.select.events.is_empty());
    if args.live {
        return watch_driver(args, tally);
    }
    if let Some(message) = args.logs.terminal_error() {
        return cli::end(&cli::usage_error("check", message));
    }
    let signals = match Signals::install() {
        Ok(signals) => signals,
        Err(status) => return status,
    };
    let out = RefCell::new(Out::Tally(Box::new(tally)));
    let looked = match replay::read(&args.logs, &out, &signals) {
        Ok(0) => Looked::Yes,
        Ok(BAD_LINES) => Looked::BadLines,
        _ => Looked::No("not all logs could be read".to_owned()),
    };
    match out.into_inner() {
        Out::Tally(tally) => end(args, &tally, looked, signals.stop()),
        _ => ExitCode::from(FAILED),
    }
}

fn watch_driver(args: &Check, mut tally: Tally) -> ExitCode {
    let (mut live, signal) = match live::begin(&[SIGINT, SIGTERM], &args.device, &args.logs.select) {
        Ok(begun) => begun,
        Err(error) => {
            complain(&error);
            return end(args, &tally, Looked::No("the driver cannot be watched".to_owned()), Stop::default());
        }
    };
    let times = Times { total: Some(args.time), interval: None };
    let over = watch(&mut live, &signal, &args.logs.select, times, &mut tally, |_| Ok(()));
    let hidden = args.fail_on.iter().find(|name| !SHOWN_TO_ALL.contains(&name.as_str()));
    let looked = match (over, hidden) {
        (Ok(Over::Time), Some(name)) if !live.is_privileged => {
            Looked::No(format!("without CAP_SYS_ADMIN no {name} is shown"))
        }
        (Ok(Over::Time), _) if tally.evidence().ended > 0 => {
            Looked::No("a GPU could not be watched to the end".to_owned())
        }
        (Ok(Over::Time), _) => Looked::Yes,
        (Ok(Over::Signal), _) => Looked::No("stopped by a signal before the time was over".to_owned()),
        _ => Looked::No("the driver could not be watched to the end".to_owned()),
    };
    end(args, &tally, looked, signal.stop())
}

/// Prints the line.
fn end(args: &Check, tally: &Tally, looked: Looked, stop: Stop) -> ExitCode {
    let seen = seen(args, tally);
    let (status, line) = match looked {
        _ if !seen.is_empty() => (SEEN, bad(&seen)),
        Looked::No(reason) => (FAILED, format!("unknown: {reason}")),
        Looked::BadLines => (SEEN, "bad: malformed lines".to_owned()),
        Looked::Yes => match not_understood(tally) {
            Some(reason) => (FAILED, format!("unknown: {reason}")),
            None => (0, ok(tally)),
        },
    };
    let mut out = Output::new(stop);
    match writeln!(out, "{line:.MOST_WIDTH$}").and_then(|()| out.flush()) {
        // Whoever does not read the line reads the status.
        Ok(()) => ExitCode::from(status),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::from(status),
        Err(error) => write_failed(&error),
    }
}

/// Why nothing can be said although all was read.
fn not_understood(tally: &Tally) -> Option<String> {
    let whole = tally.whole();
    let malformed = whole.malformed + tally.evidence().malformed;
    if whole.events == 0 && malformed > 0 {
        return Some(format!("no line is an event, {malformed} malformed"));
    }
    (tally.left_out > 0).then(|| format!("the time of {} is not known", Count(tally.left_out, "line")))
}

/// `ok: nothing in 17 lines, 1 malformed, some may be missing`
fn ok(tally: &Tally) -> String {
    let (whole, evidence) = (tally.whole(), tally.evidence());
    let mut line = format!("ok: nothing in {}", Count(whole.lines, "line"));
    let malformed = whole.malformed + evidence.malformed;
    if malformed > 0 {
        line.push_str(&format!(", {malformed} malformed"));
    }
    if evidence.is_sign() {
        line.push_str(", some may be missing");
    }
    line
}

/// Something bad.
struct Bad<'a> {
    name: &'a str,
    count: u64,
    gpus: BTreeSet<GpuId>,
    /// How many of them could be forged.
    forgeable: u64,
}

/// What is bad and was seen, in the order in which it was asked for.
fn seen<'a>(args: &'a Check, tally: &Tally) -> Vec<Bad<'a>> {
    let (whole, findings) = (tally.whole(), tally.all_findings());
    let mut names: Vec<&str> = vec![];
    for name in &args.fail_on {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    let mut all = vec![];
    for name in names {
        let rule = Rule::ALL.into_iter().find(|rule| rule.name() == name);
        let (gpus, _) = tally.gpus();
        let bad = match rule {
            Some(rule) => {
                let found = || findings.iter().filter(|finding| finding.rule == rule);
                Bad {
                    name,
                    count: found().map(|finding| finding.seen.count).fold(0, u64::saturating_add),
                    gpus: found().filter_map(|finding| finding.gpu).collect(),
                    forgeable: found().map(|finding| finding.seen.forgeable).fold(0, u64::saturating_add),
                }
            }
            None if name == "malformed" => {
                let (count, forgeable) = (whole.malformed, tally.forgeable_malformed);
                Bad { name, count, gpus: BTreeSet::new(), forgeable }
            }
            None => Bad {
                name,
                count: whole.kinds.of(name),
                gpus: gpus
                    .iter()
                    .filter(|(_, group)| group.counts.of(name) > 0)
                    .filter_map(|(gpu, _)| *gpu)
                    .collect(),
                forgeable: tally.forgeable.of(name),
            },
        };
        if bad.count > 0 {
            all.push(bad);
        }
    }
    all
}

/// `bad: 2 gpu_pre_reset on 0x1ea0, 1 vmfault (could be forged)`: without the GPUs, and then cut between two of them, where
/// it is too long.
fn bad(seen: &[Bad<'_>]) -> String {
    let whole = bad_up_to(seen, usize::MAX, true);
    if whole.len() <= MOST_WIDTH { whole } else { bad_up_to(seen, MOST_WIDTH, false) }
}

fn bad_up_to(seen: &[Bad<'_>], width: usize, with_gpus: bool) -> String {
    let mut line = "bad: ".to_owned();
    for (number, Bad { name, count, gpus, forgeable }) in seen.iter().enumerate() {
        let comma = if number > 0 { ", " } else { "" };
        let gpus = match (gpus.len(), gpus.first()) {
            _ if !with_gpus => String::new(),
            (0, _) | (_, None) => String::new(),
            (1, Some(gpu)) => format!(" on {gpu}"),
            (several, _) => format!(" on {several} GPUs"),
        };
        let forged = match forgeable {
            0 => String::new(),
            all if all == count => " (could be forged)".to_owned(),
            some => format!(" ({some} could be forged)"),
        };
        let part = format!("{comma}{count} {name}{gpus}{forged}");
        let more = seen.len() - number;
        // Room for what stands behind the last one that fits.
        let room = if more > 1 { width - ", and 99 more kinds".len() } else { width };
        if line.len() + part.len() > room {
            line.push_str(&match (number, more) {
                (0, _) => format!("{count} {name}"),
                (_, 1) => ", and 1 more kind".to_owned(),
                _ => format!(", and {more} more kinds"),
            });
            break;
        }
        line.push_str(&part);
    }
    line
}
