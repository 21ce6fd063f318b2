//! How many times faster or slower: every approach in turn, round after round, by the CPU time of this thread.
//!
//! A machine that is shared or warm changes its speed from one second to the next, so that two times cannot be compared. Two
//! approaches in one round meet the same machine; their ratio is the median of the ratios of all rounds.
//!
//! `cargo bench -p benches --bench ratio` takes about a minute.

use std::fs;
use std::hint::black_box;
use std::time::Duration;

use kfd_smi_proto::{Event, lines};
use kfd_smi_testkit::speed::{SpeedLog, realistic, uniform};

use crate::clock::cpu_time;

mod clock;
mod formatter;
mod ours;
mod rivals;

/// Enough lines that no branch predictor learns them; a few of these fit into the caches of a core.
const SIZE: usize = 1 << 20;
/// Of the logs.
const SEED: u64 = 1;
/// How long to measure, in CPU time.
const DURATION: Duration = Duration::from_secs(45);
/// A median of fewer is worth nothing.
const FEWEST_ROUNDS: usize = 15;

fn main() {
    // `cargo bench -- --test` asks whether all of it works.
    let is_test = std::env::args().any(|argument| argument == "--test");
    let size = if is_test { 1 << 14 } else { SIZE };
    let logs = [realistic(SEED, size), uniform(SEED, size)];
    let events = logs.each_ref().map(events);
    let mut contestants: Vec<Contestant<'_>> =
        logs.iter().zip(&events).flat_map(|(log, events)| contestants(log, events)).collect();
    let rounds = if is_test {
        measure(&mut contestants, Duration::ZERO, 1)
    } else {
        measure(&mut contestants, DURATION, FEWEST_ROUNDS)
    };
    let table = Table { contestants, rounds };

    println!("{}\n{} rounds, medians; {}", machine(), table.rounds.len(), without());
    for log in &logs {
        println!(
            "\n{}: {} lines of {:.1} bytes",
            log.name,
            log.lines(),
            per(log.bytes.len() as u64, log.lines())
        );
        table.print(log);
    }
    println!("\n{:>3}  {:<42} {:>7} {:>8}", "", "goal", "", "measured");
    for goal in GOALS {
        let Some(ratio) = table.ratio(goal.log, goal.above, goal.below) else {
            println!("{:>3}  {:<42} {} left out", goal.number, goal.to_string(), goal.bound());
            continue;
        };
        let verdict = if goal.is_met(ratio) { "pass" } else { "short" };
        println!("{:>3}  {:<42} {} {ratio:>8.2}  {verdict}", goal.number, goal.to_string(), goal.bound());
    }
}

/// What one approach does in one round, with its result asserted.
type Run<'a> = Box<dyn FnMut() + 'a>;

struct Contestant<'a> {
    log: &'static str,
    name: &'static str,
    run: Run<'a>,
}

/// All events of a log.
fn events(log: &SpeedLog) -> Vec<Event<'_>> {
    lines(&log.bytes).map(|line| line.event.expect("the log has events only")).collect()
}

const CHUNKS: [(&str, usize); 4] = [
    ("decoder, 8 KiB chunks", 8192),
    ("decoder, 1 KiB chunks", 1024),
    ("decoder, 96 B chunks", 96),
    ("decoder, 8 B chunks", 8),
];

fn contestants<'a>(log: &'a SpeedLog, events: &'a [Event<'a>]) -> Vec<Contestant<'a>> {
    let mut all: Vec<(&'static str, Run<'a>)> = vec![];
    let expected = ours::whole(&log.bytes);
    assert_eq!(expected.fields, log.checksum, "the library misreads the log");
    all.push(("ours", Box::new(move || assert_eq!(ours::whole(black_box(&log.bytes)), expected))));
    for (name, size) in CHUNKS {
        all.push((name, Box::new(move || assert_eq!(ours::decode(black_box(&log.bytes), size), expected))));
    }
    for (name, read) in rivals::all() {
        all.push((name, Box::new(move || assert_eq!(read(black_box(&log.bytes)), log.checksum, "{name}"))));
    }
    let split = (log.lines(), log.bytes.len() as u64 - log.lines());
    all.push((
        "memchr split",
        Box::new(move || assert_eq!(rivals::floors::split(black_box(&log.bytes)), split)),
    ));
    let mut copy = vec![0; log.bytes.len()];
    all.push((
        "memcpy",
        Box::new(move || {
            rivals::floors::copy(black_box(&log.bytes), &mut copy);
            assert_eq!(black_box(&copy).last(), Some(&b'\n'));
        }),
    ));
    type Write = fn(&[Event<'_>], &mut [u8]) -> usize;
    for (name, write) in [("encode", formatter::ours as Write), ("encode, core::fmt", formatter::by_fmt)] {
        let mut room = vec![0; log.bytes.len()];
        all.push((
            name,
            Box::new(move || {
                assert_eq!(write(black_box(events), &mut room), log.bytes.len());
                assert!(room == log.bytes, "{name}");
            }),
        ));
    }
    all.into_iter().map(|(name, run)| Contestant { log: log.name, name, run }).collect()
}

/// The nanoseconds of every contestant in every round.
fn measure(contestants: &mut [Contestant<'_>], duration: Duration, fewest: usize) -> Vec<Vec<u64>> {
    // Once for the caches, and to see that all of them are right.
    contestants.iter_mut().for_each(|contestant| (contestant.run)());
    let mut rounds = vec![];
    let begin = cpu_time();
    while rounds.len() < fewest || cpu_time() - begin < duration {
        let mut round = vec![0; contestants.len()];
        // Nobody has the same neighbour in front every time.
        for turn in 0..contestants.len() {
            let at = (turn + rounds.len() * 7) % contestants.len();
            let begin = cpu_time();
            (contestants[at].run)();
            round[at] = (cpu_time() - begin).as_nanos() as u64;
        }
        rounds.push(round);
    }
    rounds
}

struct Table<'a> {
    contestants: Vec<Contestant<'a>>,
    rounds: Vec<Vec<u64>>,
}

impl Table<'_> {
    fn print(&self, log: &SpeedLog) {
        println!("{:<24} {:>9} {:>9}", "", "ns/line", "/ ours");
        for contestant in self.contestants.iter().filter(|contestant| contestant.log == log.name) {
            let nanos = self.median(log.name, contestant.name, |round, at| round[at] as f64);
            let ratio = self.ratio(log.name, contestant.name, "ours");
            if let (Some(nanos), Some(ratio)) = (nanos, ratio) {
                println!("{:<24} {:>9.1} {:>9.2}", contestant.name, nanos / log.lines() as f64, ratio);
            }
        }
    }

    /// `None` for those that were left out.
    fn ratio(&self, log: &str, above: &str, below: &str) -> Option<f64> {
        let below = self.position(log, below)?;
        self.median(log, above, |round, above| round[above] as f64 / round[below] as f64)
    }

    fn median(&self, log: &str, name: &str, value: impl Fn(&[u64], usize) -> f64) -> Option<f64> {
        let at = self.position(log, name)?;
        let mut values: Vec<f64> = self.rounds.iter().map(|round| value(round, at)).collect();
        values.sort_by(f64::total_cmp);
        values.get(values.len() / 2).copied()
    }

    fn position(&self, log: &str, name: &str) -> Option<usize> {
        self.contestants.iter().position(|contestant| contestant.log == log && contestant.name == name)
    }
}

/// How far one approach should be from another.
struct Goal {
    number: u32,
    log: &'static str,
    above: &'static str,
    below: &'static str,
    bound: Bound,
}

enum Bound {
    AtLeast(f64),
    AtMost(f64),
}

use Bound::{AtLeast, AtMost};

/// The goals that are ratios.
const GOALS: [Goal; 12] = [
    goal(1, "realistic", "sscanf 8 KiB", "ours", AtLeast(14.0)),
    goal(2, "realistic", "regex", "ours", AtLeast(7.0)),
    goal(3, "realistic", "plain nom", "ours", AtLeast(3.5)),
    goal(4, "realistic", "from_chars", "ours", AtLeast(1.9)),
    goal(5, "realistic", "hand loop", "ours", AtLeast(1.05)),
    goal(6, "realistic", "ours", "memchr split", AtMost(4.6)),
    goal(8, "realistic", CHUNKS[0].0, "ours", AtMost(1.10)),
    goal(8, "realistic", CHUNKS[1].0, "ours", AtMost(1.20)),
    goal(8, "realistic", CHUNKS[2].0, "ours", AtMost(1.5)),
    goal(8, "realistic", CHUNKS[3].0, "ours", AtMost(3.2)),
    goal(9, "realistic", "encode, core::fmt", "encode", AtLeast(4.0)),
    goal(13, "uniform", "hand loop", "ours", AtLeast(1.0)),
];

const fn goal(
    number: u32,
    log: &'static str,
    above: &'static str,
    below: &'static str,
    bound: Bound,
) -> Goal {
    Goal { number, log, above, below, bound }
}

impl std::fmt::Display for Goal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(&format!("{} / {}, {}", self.above, self.below, self.log))
    }
}

impl Goal {
    fn bound(&self) -> String {
        match self.bound {
            AtLeast(bound) => format!("≥ {bound:>5.2}"),
            AtMost(bound) => format!("≤ {bound:>5.2}"),
        }
    }

    fn is_met(&self, ratio: f64) -> bool {
        match self.bound {
            AtLeast(bound) => ratio >= bound,
            AtMost(bound) => ratio <= bound,
        }
    }
}

/// What a figure is worth nothing without.
fn machine() -> String {
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let of = |key: &str| {
        let line = info.lines().find(|line| line.starts_with(key));
        line.and_then(|line| line.split_once(": ")).map_or("?", |(_, value)| value)
    };
    let (cpu, family, model) = (of("model name"), of("cpu family"), of("model\t"));
    let system = rustix::system::uname();
    let (kernel, arch) = (system.release().to_string_lossy(), system.machine().to_string_lossy());
    format!("{cpu} (family {family}, model {model}), {arch}, Linux {kernel}, {}", env!("RUSTC_VERSION"))
}

fn without() -> String {
    match rivals::native::MISSING {
        [] => "all rivals".to_owned(),
        missing => format!("without {}", missing.join(" and ")),
    }
}

fn per(whole: u64, parts: u64) -> f64 {
    whole as f64 / parts as f64
}
