//! What the user can say to `check`.

use std::time::Duration;

use clap::Args;
use clap::builder::PossibleValuesParser;

use super::{Device, Judge, Logs, duration, event_names};
use crate::finding::Rule;

/// Tell whether something bad happened: one line and an exit status, for health checks.
///
/// It reads logs as `kfd-smi stat` does, or with --live watches this machine for a while, and prints one line of less than 80
/// characters: what was seen, without names or addresses. What counts is given by --fail-on: names of events, or of the
/// rules that make findings.
///
/// Exit status: 0 if nothing of it was seen; 1 if something was; 2 if it could not look: wrong usage, a file or the driver
/// that could not be read, no line that is an event, lines of unknown time with --from or --to, or events that this user is
/// not shown.
#[derive(Debug, Args)]
#[command(after_long_help = crate::finding::help())]
pub(crate) struct Check {
    #[command(flatten)]
    pub(crate) logs: Logs,
    /// What is bad: names of events or of rules.
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', value_parser = names(), default_value = DEFAULT)]
    pub(crate) fail_on: Vec<String>,
    #[command(flatten)]
    pub(crate) judge: Judge,
    /// Watch this machine.
    #[arg(long, conflicts_with_all = ["files", "from", "to", "strict"])]
    pub(crate) live: bool,
    /// With --live: for how long: 30s, 5m.
    #[arg(long = "for", value_name = "TIME", value_parser = duration, default_value = "30s", requires = "live", conflicts_with_all = ["files", "from", "to", "strict"])]
    pub(crate) time: Duration,
    #[command(flatten)]
    pub(crate) device: Device,
}

/// What should not happen on a healthy node, whatever runs on it, and what ends a program.
const DEFAULT: &str = "vmfault,gpu_pre_reset,failed_migrations,fault_retries";

fn names() -> PossibleValuesParser {
    let rules = Rule::ALL.iter().map(|rule| rule.name());
    let rules = rules.filter(|rule| !event_names().any(|event| event == *rule));
    PossibleValuesParser::new(event_names().chain(rules))
}
