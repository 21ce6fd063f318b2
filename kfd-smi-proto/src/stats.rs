//! What a log comes to: [`Statistics`].

use crate::event::{Access, Event, FaultOutcome};
use crate::field::{BootNanos, Location};
use crate::line::Line;
use crate::page::PageCount;
use crate::pair::{Activity, Interval, PairCounts, Paired};
use crate::trigger::{EvictionTrigger, MigrateTrigger};

mod events;
mod histogram;

pub use events::EventCounts;
pub use histogram::Histogram;

use events::{add_each, count_trigger};

/// What the lines of a log, and what a [`Pairer`](crate::Pairer) made of them, come to.
///
/// Give it each line, and each result of pairing:
///
/// ```
/// use kfd_smi_proto::{PageSize, Pairer, Statistics, lines};
///
/// let log = b"5 1000 -7 @10(200) 0->1ea0 1ea0:ffffffff 0\n\
///             6 1500 -7 @10(200) 0->1ea0 0 0\n\
///             7 2000 -7 @10(1ea0) W\n\
///             8 2300 -7 @10(1ea0) U\n\
///             gibberish\n";
/// let (mut pairer, mut statistics) = (<Pairer>::new(), Box::new(Statistics::new()));
/// for line in lines(log) {
///     statistics.line(&line);
///     pairer.pair(&line, None, None, |paired| statistics.paired(&paired));
/// }
/// let moved = &statistics.host_to_device;
/// assert_eq!((moved.count, moved.total_pages, moved.total_nanos), (1, 0x200, 500));
/// assert_eq!(moved.max_pages.unwrap().size(PageSize::FOUR_KIB), Some(2 << 20));
/// assert_eq!(statistics.faults.durations.max(), Some(300));
/// assert_eq!((statistics.lines, statistics.malformed), (5, 1));
/// ```
///
/// Statistics add up: those of a whole are the [`merge`](Self::merge) of those of its parts, be they GPUs, threads
/// or machines, as long as each part was paired on its own or with one pairer throughout. Lines that
/// [could be forged](crate::Trust::is_forgeable) count like the others and in `forgeable`; but an interval that one
/// began has no duration.
///
/// What grows with the input is not here (per GPU, per process): [`EventCounts`] is small, for a map of them.
/// Nothing is allocated; it takes 62 kB, so keep it in a static or on a heap where stacks are small.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Statistics {
    /// Lines. A line that a decoder handed out in pieces is one.
    pub lines: u64,
    /// Lines that are an event, known or unknown.
    pub events: u64,
    /// Lines that are none.
    pub malformed: u64,
    /// Lines that could be forged.
    pub forgeable: u64,
    /// The earliest time of the kernel.
    pub first_time: Option<BootNanos>,
    /// The latest time of the kernel.
    pub last_time: Option<BootNanos>,
    /// How many events of each kind there were.
    pub kinds: EventCounts,
    /// What became of STARTs and ENDs.
    pub pairs: PairCounts,
    /// Migrations from system memory.
    pub host_to_device: Migrations,
    /// Migrations to system memory.
    pub device_to_host: Migrations,
    /// Migrations between other places, which no kernel so far reports.
    pub other_migrations: Migrations,
    migration_triggers: [u64; MigrateTrigger::KNOWN.len() + 1],
    /// Page faults of the GPUs.
    pub faults: Faults,
    /// Suspensions of user queues.
    pub queues: Queues,
}

/// Migrations in one direction that were paired.
///
/// A migration failed if its END has an error code other than 0. All but `failed` is about the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Migrations {
    /// How many did not fail.
    pub count: u64,
    /// How many failed.
    pub failed: u64,
    /// The size of the smallest.
    pub min_pages: Option<PageCount>,
    /// The size of the largest.
    pub max_pages: Option<PageCount>,
    /// Their sizes together, in pages. (An END without error does not say that every page moved.)
    pub total_pages: u128,
    /// Their durations together, in nanoseconds.
    pub total_nanos: u128,
}

/// Page faults of the GPUs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Faults {
    /// PAGE_FAULT_STARTs of reads, paired or not.
    pub read: u64,
    /// PAGE_FAULT_STARTs of writes, paired or not.
    pub write: u64,
    /// PAGE_FAULT_ENDs after a migration was tried, paired or not.
    pub migrated: u64,
    /// PAGE_FAULT_ENDs after only the page table was updated, paired or not.
    pub updated: u64,
    /// Nanoseconds from the last START to the END, of pairs.
    pub durations: Histogram,
}

/// Suspensions of user queues.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Queues {
    evictions: [u64; EvictionTrigger::KNOWN.len() + 1],
    /// QUEUE_RESTOREs that were not put off, paired or not.
    pub restores: u64,
    /// QUEUE_RESTOREs that were put off.
    pub rescheduled: u64,
    /// Nanoseconds from the first eviction to the restore that left none, of pairs.
    pub suspended: Histogram,
}

impl Statistics {
    /// Of nothing.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            lines: 0,
            events: 0,
            malformed: 0,
            forgeable: 0,
            first_time: None,
            last_time: None,
            kinds: EventCounts::ZERO,
            pairs: PairCounts::ZERO,
            host_to_device: Migrations::NONE,
            device_to_host: Migrations::NONE,
            other_migrations: Migrations::NONE,
            migration_triggers: [0; MigrateTrigger::KNOWN.len() + 1],
            faults: Faults { read: 0, write: 0, migrated: 0, updated: 0, durations: Histogram::new() },
            queues: Queues {
                evictions: [0; EvictionTrigger::KNOWN.len() + 1],
                restores: 0,
                rescheduled: 0,
                suspended: Histogram::new(),
            },
        }
    }

    /// Adds a line, malformed ones too. Of the pieces of a long line, the last one counts.
    pub fn line(&mut self, line: &Line<'_>) {
        if !line.part.ends() {
            return;
        }
        add(&mut self.lines, 1);
        let forgeable = line.trust.is_forgeable();
        add(&mut self.forgeable, u64::from(forgeable));
        let Ok(event) = &line.event else { return add(&mut self.malformed, 1) };
        add(&mut self.events, 1);
        self.kinds.count(event);
        self.pairs.count_event(event);
        if let Some(time) = event.time() {
            self.first_time = Some(self.first_time.map_or(time, |first| first.min(time)));
            self.last_time = Some(self.last_time.map_or(time, |last| last.max(time)));
        }
        let count = match event {
            Event::PageFaultStart(fault) => match fault.access {
                Access::READ => &mut self.faults.read,
                Access::WRITE => &mut self.faults.write,
                _ => return,
            },
            Event::PageFaultEnd(fault) => match fault.outcome {
                FaultOutcome::MIGRATED => &mut self.faults.migrated,
                FaultOutcome::UPDATED => &mut self.faults.updated,
                _ => return,
            },
            Event::QueueEviction(eviction) => {
                return count_trigger(&mut self.queues.evictions, eviction.trigger.0);
            }
            Event::QueueRestore(restore) if restore.restore().is_rescheduled() => {
                &mut self.queues.rescheduled
            }
            Event::QueueRestore(_) => &mut self.queues.restores,
            _ => return,
        };
        add(count, 1);
    }

    /// Adds a result of pairing.
    pub fn paired(&mut self, paired: &Paired) {
        self.pairs.count_paired(paired);
        let Paired::Interval(interval) = paired else { return };
        let duration = interval.duration().filter(|_| !interval.span.forgeable);
        match interval.span.activity {
            Activity::Migrate { .. } => self.migration(interval, duration),
            Activity::PageFault { .. } => {
                duration.into_iter().for_each(|nanos| self.faults.durations.record(nanos));
            }
            Activity::Queue { .. } => {
                duration.into_iter().for_each(|nanos| self.queues.suspended.record(nanos));
            }
            Activity::Reset { .. } | Activity::Process { .. } => {}
        }
    }

    fn migration(&mut self, interval: &Interval, duration: Option<u64>) {
        let Activity::Migrate { migration, error_code, .. } = interval.span.activity else { return };
        let direction = match (migration.from, migration.to) {
            (Location::SYSTEM, _) => &mut self.host_to_device,
            (_, Location::SYSTEM) => &mut self.device_to_host,
            _ => &mut self.other_migrations,
        };
        if error_code.is_some_and(|code| code != 0) {
            return add(&mut direction.failed, 1);
        }
        let pages = migration.range.count;
        direction.merge(&Migrations {
            count: 1,
            failed: 0,
            min_pages: Some(pages),
            max_pages: Some(pages),
            total_pages: u128::from(pages.0),
            total_nanos: u128::from(duration.unwrap_or(0)),
        });
        count_trigger(&mut self.migration_triggers, migration.trigger.0);
    }

    /// Adds those of another part of the whole.
    pub fn merge(&mut self, other: &Self) {
        for (sum, more) in [
            (&mut self.lines, other.lines),
            (&mut self.events, other.events),
            (&mut self.malformed, other.malformed),
            (&mut self.forgeable, other.forgeable),
            (&mut self.faults.read, other.faults.read),
            (&mut self.faults.write, other.faults.write),
            (&mut self.faults.migrated, other.faults.migrated),
            (&mut self.faults.updated, other.faults.updated),
            (&mut self.queues.restores, other.queues.restores),
            (&mut self.queues.rescheduled, other.queues.rescheduled),
        ] {
            add(sum, more);
        }
        self.first_time = earlier(self.first_time, other.first_time);
        self.last_time = self.last_time.max(other.last_time);
        self.kinds.merge(&other.kinds);
        self.pairs.merge(&other.pairs);
        self.host_to_device.merge(&other.host_to_device);
        self.device_to_host.merge(&other.device_to_host);
        self.other_migrations.merge(&other.other_migrations);
        add_each(&mut self.migration_triggers, &other.migration_triggers);
        self.faults.durations.merge(&other.faults.durations);
        add_each(&mut self.queues.evictions, &other.queues.evictions);
        self.queues.suspended.merge(&other.queues.suspended);
    }

    /// Nanoseconds from the earliest to the latest time of the kernel; `None` if there was none.
    #[must_use]
    pub fn span(&self) -> Option<u64> {
        Some(self.last_time?.nanos().saturating_sub(self.first_time?.nanos()))
    }

    /// How many migrations were paired and did not fail, for each trigger in the order of
    /// [`MigrateTrigger::KNOWN`]; last, with `None`, those of unknown triggers.
    pub fn migration_triggers(&self) -> impl Iterator<Item = (Option<MigrateTrigger>, u64)> {
        with_triggers(MigrateTrigger::KNOWN, self.migration_triggers)
    }
}

impl Default for Statistics {
    fn default() -> Self {
        Self::new()
    }
}

impl Queues {
    /// How many evictions there were, paired or not, for each trigger in the order of
    /// [`EvictionTrigger::KNOWN`]; last, with `None`, those of unknown triggers.
    pub fn evictions(&self) -> impl Iterator<Item = (Option<EvictionTrigger>, u64)> {
        with_triggers(EvictionTrigger::KNOWN, self.evictions)
    }
}

impl Migrations {
    const NONE: Self =
        Self { count: 0, failed: 0, min_pages: None, max_pages: None, total_pages: 0, total_nanos: 0 };

    /// Adds others.
    pub fn merge(&mut self, other: &Self) {
        add(&mut self.count, other.count);
        add(&mut self.failed, other.failed);
        self.min_pages = earlier(self.min_pages, other.min_pages);
        self.max_pages = self.max_pages.max(other.max_pages);
        self.total_pages = self.total_pages.saturating_add(other.total_pages);
        self.total_nanos = self.total_nanos.saturating_add(other.total_nanos);
    }
}

fn add(sum: &mut u64, more: u64) {
    *sum = sum.saturating_add(more);
}

/// The smaller one; `None` is no candidate.
fn earlier<T: Ord>(one: Option<T>, other: Option<T>) -> Option<T> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

fn with_triggers<T: Copy + 'static, const N: usize>(
    known: &'static [T],
    counts: [u64; N],
) -> impl Iterator<Item = (Option<T>, u64)> {
    known.iter().copied().map(Some).chain([None]).zip(counts)
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use crate::{Pairer, lines};
    use std::boxed::Box;

    fn of(log: &str) -> Box<Statistics> {
        let (mut pairer, mut statistics) = (Pairer::<64>::new(), Box::new(Statistics::new()));
        for line in lines(log.as_bytes()) {
            statistics.line(&line);
            pairer.pair(&line, None, None, |paired| statistics.paired(&paired));
        }
        assert_eq!(&statistics.pairs, pairer.counts());
        statistics
    }

    #[test]
    fn the_sizes_are_as_documented() {
        assert!(size_of::<Histogram>().div_ceil(1000) == 31, "{}", size_of::<Histogram>());
        assert!(size_of::<Statistics>().div_ceil(1000) == 62, "{}", size_of::<Statistics>());
        assert_eq!(size_of::<EventCounts>(), 120);
        // Some machines of 32 bits align numbers of 64 bits less.
        let pairer = if align_of::<u64>() == 8 { 173 } else { 157 };
        assert!(size_of::<Pairer>().div_ceil(1000) == pairer, "{}", size_of::<Pairer>());
    }

    #[test]
    fn migrations_count_by_direction_and_failed_ones_only_as_such() {
        let statistics = of("5 100 -1 @1(10) 0->1ea0 0:0 0\n6 200 -1 @1(10) 0->1ea0 0\n\
             5 300 -1 @1(30) 0->1ea0 0:0 1\n6 600 -1 @1(30) 0->1ea0 1 0\n\
             5 300 -1 @1(99) 0->1ea0 0:0 1\n6 600 -1 @1(99) 0->1ea0 1 -12\n\
             5 0 -1 @1(5) 1ea0->0 0:0 9\n6 7 -1 @1(5) 1ea0->0 9\n\
             5 0 -1 @1(5) 1->2 0:0 3\n6 1 -1 @1(5) 1->2 3\n\
             5 0 -1 @1(5) 0->ffffffff 0:0 3\n6 1 -1 @1(5) 0->ffffffff 3\n\
             6 1 -1 @1(5) 0->1ea0 3\n");
        let down = &statistics.host_to_device;
        assert_eq!((down.count, down.failed, down.total_pages, down.total_nanos), (3, 1, 0x45, 401));
        assert_eq!((down.min_pages, down.max_pages), (Some(PageCount(5)), Some(PageCount(0x30))));
        let up = &statistics.device_to_host;
        assert_eq!((up.count, up.failed, up.total_pages, up.total_nanos), (1, 0, 5, 7));
        assert_eq!(statistics.other_migrations.count, 1);
        let triggers = statistics
            .migration_triggers()
            .map(|(trigger, count)| (trigger.and_then(MigrateTrigger::name), count));
        assert!(triggers.eq([
            (Some("prefetch"), 1),
            (Some("pagefault_gpu"), 1),
            (Some("pagefault_cpu"), 0),
            (Some("ttm_eviction"), 2),
            (None, 1),
        ]));
        assert_eq!(statistics.pairs.migrate.orphan_ends, 1);
        assert_eq!(statistics.span(), Some(600));
    }

    #[test]
    fn faults_and_queues_count_lines_paired_or_not() {
        let statistics =
            of("7 100 -1 @1(2) R\n7 200 -1 @1(2) W\n8 260 -1 @1(2) M\n8 300 -1 @1(2) U\n7 1 -1 @9(2) x\n\
             9 100 -1 2 2\n9 150 -1 2 77\na 160 -1 2 R\na 170 -1 2\na 190 -1 2 0\na 200 -1 2 0\n");
        let faults = &statistics.faults;
        assert_eq!((faults.read, faults.write, faults.migrated, faults.updated), (1, 1, 1, 1));
        assert_eq!((faults.durations.count(), faults.durations.max()), (1, Some(60)));
        let queues = &statistics.queues;
        assert_eq!((queues.restores, queues.rescheduled), (3, 1));
        assert_eq!((queues.suspended.count(), queues.suspended.max()), (1, Some(90)));
        let evictions = queues.evictions().filter(|(_, count)| *count > 0);
        assert!(evictions.eq([(Some(EvictionTrigger::TTM), 1), (None, 1)]));
        assert_eq!(
            (statistics.pairs.queue.orphan_ends, statistics.pairs.page_fault.unpaired_starts()),
            (1, 1)
        );
    }

    #[test]
    fn what_a_forged_line_began_has_no_duration() {
        let statistics = of("1 5:\n9 1 -2 3 4\n\
             8 9000000000000 -1 @1(2) M\n\
             a 9000000000000 -2 3 0\n");
        assert_eq!((statistics.forgeable, statistics.lines, statistics.events), (1, 4, 4));
        assert_eq!(statistics.span(), Some(8_999_999_999_999));
        assert_eq!(statistics.pairs.queue.intervals, 1);
        assert_eq!(statistics.queues.suspended.count(), 0);
    }

    #[test]
    fn a_line_in_pieces_is_one() {
        let mut statistics = Statistics::new();
        let mut decoder = crate::Decoder::<128>::new();
        let log = std::format!("3 1\n{:0>300}\n4 1\n", 0);
        let mut rest = log.as_bytes();
        while !rest.is_empty() {
            rest = &rest[decoder.feed(rest)..];
            while let Some(line) = decoder.next_line() {
                statistics.line(&line);
            }
        }
        assert_eq!((statistics.lines, statistics.events, statistics.malformed), (3, 2, 1));
    }
}
