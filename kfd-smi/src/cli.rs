//! What the user can say.

use std::io::Write as _;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use anstream::ColorChoice;
use clap::builder::PossibleValuesParser;
use clap::error::ErrorKind;
use clap::{Args, CommandFactory as _, Parser, Subcommand, ValueEnum};
use jiff::SignedDuration;
use kfd_smi_io::Kfd;
use kfd_smi_proto::{EventId, GpuId, PageSize};

use crate::complain::printable;

mod check;
mod generate;
mod logs;
mod stat;

pub(crate) use check::Check;
pub(crate) use generate::{Generate, GenerateFormat, Limits};
pub(crate) use logs::Logs;
pub(crate) use stat::{By, Judge, Stat, StatFormat};

/// See what the AMD GPU driver just did: page faults, migrations, queue evictions, resets, throttling.
#[derive(Debug, Parser)]
#[command(version)]
pub(crate) struct Cli {
    /// When to use colours.
    #[arg(long, global = true, value_enum, default_value_t = Color::Auto)]
    pub(crate) color: Color,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// When to use colours.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, unless NO_COLOR is set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

impl From<Color> for ColorChoice {
    fn from(color: Color) -> Self {
        match color {
            Color::Auto => Self::Auto,
            Color::Always => Self::Always,
            Color::Never => Self::Never,
        }
    }
}

/// Says what is wrong with the arguments, or the help that was asked for, and ends.
pub(crate) fn end(error: &clap::Error) -> ExitCode {
    if error.use_stderr() {
        // Arguments can be file names, which can hold anything.
        for line in error.to_string().lines() {
            _ = writeln!(anstream::stderr(), "{}", printable(line));
        }
    } else {
        _ = error.print();
    }
    u8::try_from(error.exit_code()).map_or(ExitCode::FAILURE, ExitCode::from)
}

/// What is wrong with the arguments of a subcommand, where they cannot say it by themselves.
pub(crate) fn usage_error(subcommand: &str, message: &str) -> clap::Error {
    let mut command = Cli::command();
    command.build();
    let subcommand = command.find_subcommand_mut(subcommand);
    let error = |command: &mut clap::Command| command.error(ErrorKind::MissingRequiredArgument, message);
    match subcommand {
        Some(subcommand) => error(subcommand),
        None => error(&mut command),
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Generate(Generate),
    Gpus(Gpus),
    Monitor(Monitor),
    Record(Record),
    Replay(Replay),
    Stat(Stat),
    Check(Check),
}

/// Where the driver is; elsewhere in tests and in some containers.
#[derive(Debug, Args)]
pub(crate) struct Device {
    /// The device of the driver.
    #[arg(long, value_name = "PATH", default_value = Kfd::PATH)]
    pub(crate) kfd_path: PathBuf,
    /// Where sysfs is mounted.
    #[arg(long, value_name = "PATH", default_value = "/sys")]
    sysfs_root: PathBuf,
}

impl Device {
    /// Where the GPUs are listed.
    pub(crate) fn topology(&self) -> PathBuf {
        self.sysfs_root.join("class/kfd/kfd/topology")
    }
}

/// Show the GPUs of this machine, and whether their events can be watched.
#[derive(Debug, Args)]
pub(crate) struct Gpus {
    #[command(flatten)]
    pub(crate) device: Device,
    /// How to print.
    #[arg(long, value_enum, default_value_t = GpusFormat::Human)]
    pub(crate) format: GpusFormat,
}

/// How GPUs are printed.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum GpusFormat {
    /// A table for people.
    Human,
    /// One JSON object.
    Json,
}

/// Show events as they happen.
///
/// It watches all GPUs, or those given with --gpu, until it is stopped by SIGINT or SIGTERM. Without CAP_SYS_ADMIN it sees
/// resets and throttling alone. While it runs, the driver cannot be unloaded nor its partitions changed.
///
/// Exit status: 0 when it was stopped; 2 if the driver cannot be watched.
#[derive(Debug, Args)]
pub(crate) struct Monitor {
    #[command(flatten)]
    pub(crate) device: Device,
    /// How to print.
    #[arg(long, value_enum, default_value_t = Format::Human)]
    pub(crate) format: Format,
    #[command(flatten)]
    pub(crate) select: Select,
    /// The clock of the times in lines for people; wall if it is not given.
    #[arg(long, value_enum)]
    pub(crate) clock: Option<ClockChoice>,
    /// The page size of this machine, in bytes or as 4K, 64K, 2M; what the system says if it is not given.
    #[arg(long, value_name = "SIZE", value_parser = page_size)]
    pub(crate) page_size: Option<PageSize>,
}

/// Show the events of a log, on any machine.
///
/// A log is a capture, as `kfd-smi record` makes it, or raw: what was read from the driver's file descriptor of one GPU, byte
/// for byte. Which it is, is found out. Several captures are shown in the order of their times. Lines that are no events
/// are shown in their place with the reason, and counted on standard error.
///
/// Exit status: 0; 1 with --strict if a line was malformed or cut short; 2 if the usage was wrong or a file
/// could not be read.
#[derive(Debug, Args)]
pub(crate) struct Replay {
    #[command(flatten)]
    pub(crate) logs: Logs,
    /// How to print.
    #[arg(long, value_enum, default_value_t = ReplayFormat::Human)]
    pub(crate) format: ReplayFormat,
    /// Only the last N lines of those chosen, of files: they are read twice. With --format capture, of the inputs one behind
    /// the other; else of captures in the order of their times.
    #[arg(long, value_name = "N")]
    pub(crate) last: Option<u64>,
    /// Wait between lines as long as it took then (1), or as many times shorter; captures only.
    #[arg(long, value_name = "1|N|max", value_parser = speed)]
    pub(crate) speed: Option<Speed>,
    /// The clock of the times in lines for people; for captures wall if it is not given, for raw logs boot.
    #[arg(long, value_enum)]
    pub(crate) clock: Option<ClockChoice>,
    /// With --format capture: leave out names of tasks, control groups and the host, and serial numbers.
    #[arg(long)]
    pub(crate) redact: bool,
    /// Use so many threads; as many as there are processors if it is not given. The output is the same.
    #[arg(short, long, value_name = "N", value_parser = jobs, default_value_t = processors(), hide_default_value = true)]
    pub(crate) jobs: NonZeroUsize,
}

impl Replay {
    /// Whether times and GPUs are needed, which a raw log does not have.
    pub(crate) fn captures_only(&self) -> bool {
        self.format == ReplayFormat::Capture || self.speed.is_some()
    }
}

/// Record events into a file, to be looked at anywhere.
///
/// The file, a capture, holds what the driver said byte for byte, and what a stranger must know of this machine: kernel,
/// GPUs, processes. `kfd-smi replay FILE` shows it. An existing capture is gone on with. SIGINT and SIGTERM end the
/// recording; SIGHUP opens the file anew, for logrotate.
///
/// Exit status: 0; 2 if the driver cannot be watched or the file not be written. On a full disk, the file ends with the
/// last whole line.
#[derive(Debug, Args)]
pub(crate) struct Record {
    /// The file; `-` is standard output.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,
    #[command(flatten)]
    pub(crate) device: Device,
    #[command(flatten)]
    pub(crate) select: Select,
    /// Stop after this time: 90s, 15m, 1h30m.
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) duration: Option<Duration>,
    /// Begin a new file when this one is so large, in bytes or with K, M or G behind it: FILE becomes FILE.1, and so on.
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) max_size: Option<u64>,
    /// Keep so many old files.
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) max_files: u32,
    /// Leave out names of tasks, control groups and the host, and serial numbers.
    #[arg(long)]
    pub(crate) redact: bool,
}

/// Which clock the times for people are on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ClockChoice {
    /// The date and time of day, in UTC.
    Wall,
    /// Seconds since boot, time spent suspended included: what the driver prints.
    Boot,
    /// Seconds since boot, time spent suspended left out: what the kernel's log prints.
    Mono,
}

/// How events of a log are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReplayFormat {
    /// One line for people.
    Human,
    /// One JSON object a line.
    Json,
    /// A header, then a row each (RFC 4180).
    Csv,
    /// The driver's own lines, byte for byte, control characters included.
    Raw,
    /// A capture of what was chosen, from captures.
    Capture,
}

impl ReplayFormat {
    /// The format of the lines, unless it is a capture.
    pub(crate) const fn lines(self) -> Option<Format> {
        Some(match self {
            Self::Human => Format::Human,
            Self::Json => Format::Json,
            Self::Csv => Format::Csv,
            Self::Raw => Format::Raw,
            Self::Capture => return None,
        })
    }
}

/// How events are printed.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Format {
    /// One line for people.
    Human,
    /// One JSON object a line.
    Json,
    /// A header, then a row each (RFC 4180).
    Csv,
    /// The driver's own lines, byte for byte, control characters included.
    Raw,
}

/// Which events are printed; each option narrows the choice.
#[derive(Debug, Args)]
pub(crate) struct Select {
    /// Only these events, by name; `malformed` and `unknown` are names, too.
    #[arg(long = "event", value_name = "NAME,...", value_delimiter = ',', value_parser = PossibleValuesParser::new(event_names()))]
    pub(crate) events: Vec<String>,
    /// Only events of these processes.
    #[arg(long = "pid", value_name = "PID,...", value_delimiter = ',', value_parser = pid)]
    pub(crate) pids: Vec<u32>,
    /// Only events on, from or to these GPUs: 0x1ea0 as in events, or decimal as in sysfs. In a raw log, VM faults, resets,
    /// throttling and processes name no GPU and are left out.
    #[arg(long = "gpu", value_name = "GPU,...", value_delimiter = ',', value_parser = gpu_id)]
    pub(crate) gpus: Vec<GpuId>,
    /// Leave out lines that a process could have forged through its name.
    #[arg(long)]
    pub(crate) trusted_only: bool,
}

/// Every value of the key `event` in the JSON form.
fn event_names() -> impl Iterator<Item = &'static str> {
    let known = EventId::KNOWN.iter().filter_map(|id| id.name());
    known.chain(["dropped_events", "unknown", "malformed"])
}

fn gpu_id(text: &str) -> Result<GpuId, String> {
    let is_signed = text.contains('+');
    let id = match text.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16),
        None => text.parse(),
    };
    id.ok().filter(|_| !is_signed).map(GpuId).ok_or_else(|| {
        if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            format!("expected a decimal number, or 0x{text} if it is hexadecimal")
        } else {
            "expected a GPU id such as 0x1ea0, or 7840 as sysfs prints it".to_owned()
        }
    })
}

fn pid(text: &str) -> Result<u32, String> {
    let digits = Some(text).filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
    let pid = digits.and_then(|digits| digits.parse().ok());
    pid.ok_or_else(|| "expected a process id, in decimal as in events".to_owned())
}

fn jobs(text: &str) -> Result<NonZeroUsize, String> {
    text.parse().map_err(|_| "expected a number of threads, 1 or more".to_owned())
}

fn processors() -> NonZeroUsize {
    thread::available_parallelism().unwrap_or(NonZeroUsize::MIN)
}

fn page_size(text: &str) -> Result<PageSize, String> {
    let page_size = size(text).ok().and_then(PageSize::new);
    page_size.ok_or_else(|| "expected a power of two, in bytes or with K or M behind it".to_owned())
}

fn size(text: &str) -> Result<u64, String> {
    let (digits, shift) = match text.as_bytes() {
        [digits @ .., b'k' | b'K'] => (digits, 10),
        [digits @ .., b'm' | b'M'] => (digits, 20),
        [digits @ .., b'g' | b'G'] => (digits, 30),
        digits => (digits, 0),
    };
    let number = str::from_utf8(digits).ok().and_then(|digits| digits.parse::<u64>().ok());
    let size = number.and_then(|number| number.checked_mul(1 << shift));
    size.ok_or_else(|| "expected a number of bytes, with K, M or G behind it or without".to_owned())
}

/// How many times faster than recorded.
pub(crate) type Speed = f64;

fn speed(text: &str) -> Result<Speed, String> {
    // As fast as can be is to wait for a time that is over.
    let speed = if text == "max" { Some(Speed::INFINITY) } else { text.parse().ok() };
    speed.filter(|speed| *speed > 0.0).ok_or_else(|| "expected max, or a number above 0".to_owned())
}

fn duration(text: &str) -> Result<Duration, String> {
    // A bare number is seconds, as for sleep(1).
    let seconds = text.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    let friendly = || text.parse::<SignedDuration>().ok().and_then(|duration| duration.try_into().ok());
    seconds.or_else(friendly).ok_or_else(|| "expected a time such as 90s, 15m or 1h30m".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn a_gpu_is_hexadecimal_only_with_its_prefix() {
        assert_eq!(gpu_id("0x1f4b"), Ok(GpuId(8011)));
        assert_eq!(gpu_id("8011"), Ok(GpuId(8011)));
        assert!(gpu_id("1f4b").unwrap_err().contains("0x1f4b"));
        assert!(gpu_id("gfx").is_err());
        for wrong in ["0x100000000", "0x+5", "+5", ""] {
            assert!(gpu_id(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_duration_has_units() {
        for (text, seconds) in [("90s", 90), ("15m", 900), ("1h30m", 5400), ("5", 5), ("1h 1s", 3601)] {
            assert_eq!(duration(text), Ok(Duration::from_secs(seconds)), "{text}");
        }
        for wrong in ["", "-5s", "-5", "x", "5parsecs", "inf"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_page_size_is_a_power_of_two() {
        assert_eq!(page_size("4096"), Ok(PageSize::FOUR_KIB));
        assert_eq!(page_size("64K").map(PageSize::bytes), Ok(65536));
        assert_eq!(page_size("2M").map(PageSize::bytes), Ok(2 << 20));
        for wrong in ["", "0", "4095", "K", "-4096", "99999999999999999999M"] {
            assert!(page_size(wrong).is_err(), "{wrong}");
        }
    }
}
