//! What can be said to `generate`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

use super::{duration, size};
use crate::generate::{Kernel, Scenario};

/// Make up events, for demonstrations and tests without a GPU.
///
/// What is written is what some kernel could have printed, byte for byte; the same options give the same bytes everywhere.
/// --truth writes what they mean, known from what was made up and not from reading it: the statistics of the log, as one
/// JSON object.
///
/// Exit status: 0; 2 if the usage was wrong or a file could not be written. A file that exists is left alone. On a full
/// disk, the file ends with the last whole line.
#[derive(Debug, Args)]
pub(crate) struct Generate {
    /// What goes on on the machine.
    #[arg(
        long = "scenario",
        value_name = "NAME,...",
        value_enum,
        value_delimiter = ',',
        default_value = "mixed"
    )]
    pub(crate) scenarios: Vec<Scenario>,
    /// Where the random numbers begin.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,
    /// The kernel that prints the events, from this version on to the next in this list.
    #[arg(long, value_name = "VERSION", value_enum, default_value_t = Kernel::V6_19)]
    pub(crate) kernel: Kernel,
    /// How many GPUs there are; 2 if it is not given, for raw logs 1, because these are of one GPU alone.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=64))]
    pub(crate) gpus: Option<u32>,
    /// How many processes there are at a time.
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) processes: u32,
    #[command(flatten)]
    pub(crate) limit: Limits,
    /// What is written.
    #[arg(long, value_enum, default_value_t = GenerateFormat::Capture)]
    pub(crate) format: GenerateFormat,
    /// Where it is written; `-` is standard output.
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    pub(crate) output: PathBuf,
    /// Where the truth is written; `-` is standard output.
    ///
    /// Its percentiles are exact for up to 65,536 durations, beyond that at most 0.1 % too small. Its findings are what was
    /// done on purpose: `lost_events` (how many the full buffers of the kernel lost, and in front of which lines) and
    /// `forged_lines` (how many lines are names of tasks).
    #[arg(long, value_name = "FILE")]
    pub(crate) truth: Option<PathBuf>,
}

/// When it is enough: 1000 events if nothing is said.
#[derive(Debug, Args)]
#[group(multiple = false)]
pub(crate) struct Limits {
    /// So many events; where names of tasks forge lines, there are more lines.
    #[arg(long, value_name = "N")]
    pub(crate) events: Option<u64>,
    /// As many as come in this time of the kernel: 90s, 15m, 1h30m.
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) duration: Option<Duration>,
    /// A file of at most so many bytes, or with K, M or G behind it.
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) size: Option<u64>,
}

/// What is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum GenerateFormat {
    /// What the driver's file descriptor of one GPU gives.
    Raw,
    /// A capture, as `kfd-smi record` makes it.
    Capture,
}
