//! `kfd-smi check`: whether something bad happened, in one line and an exit status.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::io::{self, Write as _};
use std::process::ExitCode;

use kfd_smi_proto::GpuId;
use signal_hook::consts::{SIGINT, SIGTERM};

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
    let lines = tally.whole().lines;
    let (status, line) = match looked {
        _ if !seen.is_empty() => (SEEN, bad(&seen)),
        Looked::No(reason) => (FAILED, format!("unknown: {reason}")),
        Looked::BadLines => (SEEN, "bad: malformed lines".to_owned()),
        Looked::Yes if tally.evidence().full > 0 => {
            (0, format!("ok: nothing in {lines} lines, some may be missing"))
        }
        Looked::Yes => (0, format!("ok: nothing in {lines} lines")),
    };
    let mut out = Output::new(stop);
    match writeln!(out, "{line:.MOST_WIDTH$}").and_then(|()| out.flush()) {
        // Whoever does not read the line reads the status.
        Ok(()) => ExitCode::from(status),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::from(status),
        Err(error) => write_failed(&error),
    }
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

/// `bad: 2 gpu_pre_reset on 0x1ea0, 1 vmfault (could be forged)`, cut between two of them where it is too long.
fn bad(seen: &[Bad<'_>]) -> String {
    let mut line = "bad: ".to_owned();
    for (number, Bad { name, count, gpus, forgeable }) in seen.iter().enumerate() {
        let comma = if number > 0 { ", " } else { "" };
        let gpus = match (gpus.len(), gpus.first()) {
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
        let room = if more > 1 { MOST_WIDTH - ", and 99 more".len() } else { MOST_WIDTH };
        if line.len() + part.len() > room {
            line.push_str(&if number > 0 { format!(", and {more} more") } else { format!("{count} {name}") });
            break;
        }
        line.push_str(&part);
    }
    line
}
