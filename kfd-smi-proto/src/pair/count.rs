//! How many STARTs and ENDs became what: [`PairCounts`].

use super::role::Role;
use super::span::SpanKind;
use super::{AbandonReason, Paired};
use crate::event::Event;

/// How many STARTs and ENDs of one kind there were, and what became of them.
///
/// Nothing is lost:
///
/// ```text
/// starts = intervals + open + abandoned + merged
/// ends   = intervals + nested_ends + orphan_ends
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub struct PairCount {
    /// Events that begin something.
    pub starts: u64,
    /// Events that end something. A restore that was put off is none.
    pub ends: u64,
    /// STARTs that met their END.
    pub intervals: u64,
    /// STARTs that came while the same was open: retries, nested evictions.
    pub merged: u64,
    /// ENDs that ended only the innermost of several nested evictions.
    pub nested_ends: u64,
    /// ENDs without a START. Some are bound to be: the START came before the first line, or was lost.
    pub orphan_ends: u64,
    /// STARTs given up because there was no room.
    pub pushed_out: u64,
    /// STARTs given up because they were too old.
    pub expired: u64,
    /// STARTs given up because their process gave up the GPU.
    pub process_end: u64,
    /// STARTs given up because the GPU was reset.
    pub reset: u64,
}

impl PairCount {
    const ZERO: Self = Self {
        starts: 0,
        ends: 0,
        intervals: 0,
        merged: 0,
        nested_ends: 0,
        orphan_ends: 0,
        pushed_out: 0,
        expired: 0,
        process_end: 0,
        reset: 0,
    };

    /// STARTs that were given up, for whatever reason.
    #[must_use]
    pub const fn abandoned(&self) -> u64 {
        self.pushed_out
            .saturating_add(self.expired)
            .saturating_add(self.process_end)
            .saturating_add(self.reset)
    }

    /// STARTs without an END: given up or still open.
    #[must_use]
    pub const fn unpaired_starts(&self) -> u64 {
        self.starts.saturating_sub(self.intervals).saturating_sub(self.merged)
    }

    /// STARTs that still wait for their END.
    #[must_use]
    pub const fn open(&self) -> u64 {
        self.unpaired_starts().saturating_sub(self.abandoned())
    }

    fn each(&mut self) -> [&mut u64; 10] {
        let Self { starts, ends, intervals, merged, nested_ends, .. } = self;
        let Self { orphan_ends, pushed_out, expired, process_end, reset, .. } = self;
        [starts, ends, intervals, merged, nested_ends, orphan_ends, pushed_out, expired, process_end, reset]
    }
}

/// A [`PairCount`] for each kind of span.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub struct PairCounts {
    /// MIGRATE_START and MIGRATE_END.
    pub migrate: PairCount,
    /// PAGE_FAULT_START and PAGE_FAULT_END.
    pub page_fault: PairCount,
    /// QUEUE_EVICTION and QUEUE_RESTORE.
    pub queue: PairCount,
    /// GPU_PRE_RESET and GPU_POST_RESET.
    pub reset: PairCount,
    /// PROCESS_START and PROCESS_END.
    pub process: PairCount,
    /// QUEUE_RESTOREs that were put off: they end nothing.
    pub rescheduled: u64,
}

impl PairCounts {
    /// Nothing came yet.
    pub(crate) const ZERO: Self = Self {
        migrate: PairCount::ZERO,
        page_fault: PairCount::ZERO,
        queue: PairCount::ZERO,
        reset: PairCount::ZERO,
        process: PairCount::ZERO,
        rescheduled: 0,
    };

    /// Those of one kind.
    #[must_use]
    pub const fn of(&self, kind: SpanKind) -> &PairCount {
        match kind {
            SpanKind::Migrate => &self.migrate,
            SpanKind::PageFault => &self.page_fault,
            SpanKind::Queue => &self.queue,
            SpanKind::Reset => &self.reset,
            SpanKind::Process => &self.process,
        }
    }

    const fn of_mut(&mut self, kind: SpanKind) -> &mut PairCount {
        match kind {
            SpanKind::Migrate => &mut self.migrate,
            SpanKind::PageFault => &mut self.page_fault,
            SpanKind::Queue => &mut self.queue,
            SpanKind::Reset => &mut self.reset,
            SpanKind::Process => &mut self.process,
        }
    }

    /// Adds those of another pairer: of another GPU, another machine, another part of a log.
    pub fn merge(&mut self, other: &Self) {
        for kind in SpanKind::ALL {
            let mut other = *other.of(kind);
            for (count, more) in self.of_mut(kind).each().into_iter().zip(other.each()) {
                *count = count.saturating_add(*more);
            }
        }
        self.rescheduled = self.rescheduled.saturating_add(other.rescheduled);
    }

    /// A line came.
    pub(crate) fn count_event(&mut self, event: &Event<'_>) {
        let count = match Role::of(event) {
            Some(Role::Start(activity)) => &mut self.of_mut(activity.kind()).starts,
            Some(Role::End(key, _)) => &mut self.of_mut(key.kind()).ends,
            Some(Role::Rescheduled) | None => return,
        };
        *count = count.saturating_add(1);
    }

    /// Something became of a line.
    pub(crate) fn count_paired(&mut self, paired: &Paired) {
        let count = match paired {
            Paired::Interval(interval) => &mut self.of_mut(interval.span.activity.kind()).intervals,
            Paired::Merged(kind) => &mut self.of_mut(*kind).merged,
            Paired::NestedEnd(kind) => &mut self.of_mut(*kind).nested_ends,
            Paired::OrphanEnd(kind) => &mut self.of_mut(*kind).orphan_ends,
            Paired::Rescheduled => &mut self.rescheduled,
            Paired::Abandoned(span, reason) => {
                let count = self.of_mut(span.activity.kind());
                match reason {
                    AbandonReason::PushedOut => &mut count.pushed_out,
                    AbandonReason::Expired => &mut count.expired,
                    AbandonReason::ProcessEnd => &mut count.process_end,
                    AbandonReason::Reset => &mut count.reset,
                }
            }
        };
        *count = count.saturating_add(1);
    }
}
