//! Statistics for machines and for people.

mod human;
mod json;

use std::io;

use kfd_smi_proto::{EvictionTrigger, MigrateTrigger, Migrations, Statistics};

use crate::amount::bytes_per_second;
use crate::cli::{By, StatFormat};
use crate::output::Output;
use crate::tally::Tally;

/// Writes all that was counted.
pub(crate) fn write(
    tally: &Tally,
    format: StatFormat,
    by: &[By],
    colored: bool,
    out: &mut Output,
) -> io::Result<()> {
    match format {
        StatFormat::Human => human::write(tally, by, colored, out),
        StatFormat::Json => json::write(tally, out),
    }
}

/// Those that there were.
fn seen(counts: impl IntoIterator<Item = (&'static str, u64)>) -> impl Iterator<Item = (&'static str, u64)> {
    counts.into_iter().filter(|(_, count)| *count > 0)
}

/// What a trigger without a name is called.
const OTHER: &str = "other";

fn migration_triggers(whole: &Statistics) -> impl Iterator<Item = (&'static str, u64)> {
    let name = |trigger: Option<MigrateTrigger>| trigger.and_then(MigrateTrigger::name).unwrap_or(OTHER);
    whole.migration_triggers().map(move |(trigger, count)| (name(trigger), count))
}

fn eviction_triggers(whole: &Statistics) -> impl Iterator<Item = (&'static str, u64)> {
    let name = |trigger: Option<EvictionTrigger>| trigger.and_then(EvictionTrigger::name).unwrap_or(OTHER);
    whole.queues.evictions().map(move |(trigger, count)| (name(trigger), count))
}

/// Migrations in one direction, in bytes.
#[derive(Clone, Copy, Debug, Default)]
struct Moved {
    count: u64,
    failed: u64,
    min: Option<u128>,
    max: Option<u128>,
    total: u128,
    nanos: u128,
}

impl Moved {
    /// Those of all machines, each with the size of its pages.
    fn of(tally: &Tally, direction: impl Fn(&Statistics) -> &Migrations) -> Self {
        let mut all = Self::default();
        for (page_size, statistics) in tally.parts() {
            let moved = direction(statistics);
            let bytes = |pages: u128| pages.saturating_mul(page_size.into());
            let min = moved.min_pages.map(|pages| bytes(pages.0.into()));
            all.count += moved.count;
            all.failed += moved.failed;
            all.min = [all.min, min].into_iter().flatten().min();
            all.max = all.max.max(moved.max_pages.map(|pages| bytes(pages.0.into())));
            all.total = all.total.saturating_add(bytes(moved.total_pages));
            all.nanos = all.nanos.saturating_add(moved.total_nanos);
        }
        all
    }

    const fn average(&self) -> Option<u128> {
        self.total.checked_div(self.count as u128)
    }

    fn rate(&self) -> Option<u128> {
        bytes_per_second(self.total, self.nanos).filter(|_| self.count > 0)
    }
}
