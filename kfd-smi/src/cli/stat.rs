//! What the user can say to `stat`.

use std::time::Duration;

use clap::{Args, ValueEnum};

use super::{Device, Logs, duration};
use crate::finding::Threshold;

/// Count what is in a log, or what happens now: events, migrations, faults, evictions, resets, and what stands out.
///
/// A log is a capture or raw, as for `kfd-smi replay`. What is counted can be chosen: a line that is left out is as if it were
/// not there. So the end of what began before --from has no start, and --event migrate_end leaves all ends without one.
/// Several logs are counted together; STARTs and ENDs are paired within each. With --live the events of this machine are
/// counted until SIGINT or SIGTERM, and shown again and again.
///
/// Below the tables stand the findings, a sentence each of what stands out. What makes one is a number that --threshold sets.
///
/// Exit status: 0; 1 with --strict if a line was malformed or cut short; 2 if the usage was wrong, or a file or the driver
/// could not be read.
#[derive(Debug, Args)]
#[command(after_long_help = crate::finding::help())]
pub(crate) struct Stat {
    #[command(flatten)]
    pub(crate) logs: Logs,
    /// How to print.
    #[arg(long, value_enum, default_value_t = StatFormat::Human)]
    pub(crate) format: StatFormat,
    /// The tables for people to show, by what their lines are about; all if it is not given.
    #[arg(long, value_enum, value_name = "WHAT,...", value_delimiter = ',')]
    pub(crate) by: Vec<By>,
    #[command(flatten)]
    pub(crate) judge: Judge,
    /// Count what happens on this machine now.
    #[arg(long, conflicts_with_all = ["files", "from", "to", "strict"])]
    pub(crate) live: bool,
    /// With --live: how often to print: 2s, 1m.
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "2s", requires = "live", conflicts_with_all = ["files", "from", "to", "strict"])]
    pub(crate) interval: Duration,
    #[command(flatten)]
    pub(crate) device: Device,
}

/// What makes a finding.
#[derive(Clone, Debug, Args)]
pub(crate) struct Judge {
    /// From which number on something is a finding; see below for the rules.
    #[arg(long = "threshold", value_name = "RULE=N,...", value_delimiter = ',', value_parser = Threshold::parse)]
    pub(crate) thresholds: Vec<Threshold>,
    /// After how long without an END a migration or a page fault is given up: it has no duration then, and counts as unpaired.
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "10s")]
    pub(crate) expiry: Duration,
    /// How many lines before a reset are kept and shown with it.
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u16).range(0..=1000))]
    pub(crate) before_reset: u16,
}

/// How statistics are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum StatFormat {
    /// Tables for people.
    Human,
    /// One JSON object.
    Json,
}

/// What the lines of a table are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum By {
    /// Kinds of events.
    Event,
    /// GPUs.
    Gpu,
    /// Processes.
    Pid,
}
