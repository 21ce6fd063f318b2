//! Which END belongs to which START: [`Pairer`].

use core::fmt;
use core::time::Duration;

use crate::field::{BootNanos, GpuId, Pid};
use crate::line::Line;

mod count;
mod map;
mod role;
mod span;
mod table;

pub use count::{PairCount, PairCounts};
pub use span::{Activity, DeviceToDevice, Interval, Span, SpanKind};

use map::Id;
use role::{Ending, Role};
use span::Key;
use table::Table;

/// Makes intervals of STARTs and ENDs: how long a migration took, a fault, a suspension, a reset.
///
/// ```
/// use kfd_smi_proto::{Activity, Paired, Pairer, lines};
///
/// let log = b"5 14601738586508 -152990 @7f0f15200(200) 0->1ea0 1ea0:ffffffff 1\n\
///             6 14601738596508 -152990 @7f0f15200(200) 0->1ea0 1 -12\n\
///             a 14601738599999 -152990 1ea0 0\n";
/// let mut pairer: Pairer = Pairer::new();
/// let mut failed = 0;
/// for line in lines(log) {
///     // The GPU whose file descriptor carried the line, and when it arrived, where that is known.
///     pairer.pair(&line, None, None, |paired| match paired {
///         Paired::Interval(interval) => {
///             assert_eq!(interval.duration(), Some(10_000));
///             if let Activity::Migrate { error_code: Some(-12), .. } = interval.span.activity {
///                 failed += 1;
///             }
///         }
///         Paired::OrphanEnd(kind) => println!("the start of a {kind:?} is missing: {line:?}"),
///         _ => {}
///     });
/// }
/// assert_eq!(failed, 1);
/// assert_eq!(pairer.counts().queue.orphan_ends, 1);
/// assert_eq!(pairer.open().count(), 0);
/// ```
///
/// # What belongs together
///
/// A START and an END with the same key, which the GPU whose file descriptor carried them is always part of
/// (in a log without GPUs, all lines have the same):
///
/// | kind | key | START | END |
/// |---|---|---|---|
/// | migration | process, pages, from, to, trigger | MIGRATE_START | MIGRATE_END |
/// | page fault | process, page, node | PAGE_FAULT_START | PAGE_FAULT_END |
/// | suspension of queues | process, node | QUEUE_EVICTION | QUEUE_RESTORE |
/// | reset | number of the reset | GPU_PRE_RESET | GPU_POST_RESET |
/// | process | thread | PROCESS_START | PROCESS_END |
///
/// # What breaks a pair
///
/// The driver does not end all that it starts: a fault whose migration failed starts again, Linux up to 6.12
/// prints no end for some migrations, processes and resets take things with them; and a full fifo loses lines.
///
/// * A START whose key is open is a retry and *merged*: the interval runs from the last START, and
///   [`first_start`](Span::first_start) keeps the first.
/// * If the last START is longer ago than the expiry (10 seconds, unless told otherwise), it is given up: a
///   retry begins anew, and an END is an orphan. Migrations and faults expire; queues, resets and
///   processes can take any time. The times compared are those of the two lines; for those that never come again,
///   there is [`expire`](Self::expire).
/// * Evictions *nest*: each one while the queues are suspended needs its own restore. The suspension runs from the
///   first eviction to the restore that leaves none. A restore that was put off (`R`) ends nothing.
/// * PROCESS_END gives up all that is open of that pid on that GPU, and ends the process. (Its pid is a thread's:
///   what the other events call by the process is found only if that was the main thread.)
/// * GPU_PRE_RESET gives up all that is open on that GPU, an earlier reset too, except processes: they outlive it.
///
/// # Forged lines
///
/// A line that [could be forged](crate::Trust::is_forgeable) ends nothing, whatever it says. It can begin
/// something, if there is room and the same is not open; the first genuine START of the same key takes its place.
///
/// # Bounds
///
/// `K` spans can be open, a power of two; each process has a share of a quarter of them, at least one. A START
/// beyond its share pushes out the oldest of its process; one without room, the oldest of all (oldest: whose last
/// START came first; of nested evictions, the first counts). So no flood of one process hides another. What is
/// pushed out is handed out and counted. Nothing is allocated; the default of 1024 takes 173 kB, so keep it in a
/// static or on a heap where stacks are small.
///
/// Each line takes the same time however many spans are open, except that PROCESS_END and GPU_PRE_RESET go
/// through what they give up and what else is open, and that keys can have the same hash. The hash has no seed: a
/// process that chooses its addresses to that end makes a line cost up to `K` comparisons, and gains nothing else.
///
/// ```compile_fail,E0080
/// let _ = kfd_smi_proto::Pairer::<1000>::new(); // not a power of two
/// ```
///
/// # It adds up
///
/// See [`PairCount`]: every START and END is accounted for.
#[derive(Clone)]
pub struct Pairer<const K: usize = 1024> {
    table: Table<K>,
    counts: PairCounts,
    /// In nanoseconds.
    expiry: u64,
}

/// What became of a START or an END.
///
/// A line can have several results, when it gives up what was open, and a START that is opened has none yet. Each
/// END has exactly one of [`Interval`](Self::Interval), [`NestedEnd`](Self::NestedEnd) and
/// [`OrphanEnd`](Self::OrphanEnd).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "snake_case"))]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum Paired {
    /// The line is the END of a START.
    Interval(Interval),
    /// A START will have no END: an earlier one, or the line itself, for which there was no room.
    Abandoned(Span, AbandonReason),
    /// The line is a START of what was open already: a retry, or an eviction that nests.
    Merged(SpanKind),
    /// The line is a restore that leaves other evictions.
    NestedEnd(SpanKind),
    /// The line is an END without START.
    OrphanEnd(SpanKind),
    /// The line is a restore that was put off.
    Rescheduled,
}

/// Why a START was given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "snake_case"))]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum AbandonReason {
    /// There was no room.
    PushedOut,
    /// Its END did not come in time.
    Expired,
    /// Its process gave up the GPU.
    ProcessEnd,
    /// The GPU was reset.
    Reset,
}

/// Where results go. One type for all callers, so that the code is there once.
type Out<'a> = &'a mut dyn FnMut(Paired);

impl<const K: usize> Pairer<K> {
    /// After this time without END, a migration or fault is given up: 10 seconds.
    pub const EXPIRY: Duration = Duration::from_secs(10);

    /// How many spans of one process can be open.
    const SHARE: usize = if K >= 4 { K / 4 } else { 1 };

    /// Nothing is open; the expiry is [`EXPIRY`](Self::EXPIRY).
    #[must_use]
    pub const fn new() -> Self {
        Self::with_expiry(Self::EXPIRY)
    }

    /// Nothing is open; migrations and faults are given up when older than this.
    #[must_use]
    pub const fn with_expiry(expiry: Duration) -> Self {
        const {
            assert!(
                K.is_power_of_two() && K <= 1 << 30,
                "the number of open spans of a pairer is a power of two, 2^30 at most"
            );
        }
        let nanos = expiry.as_nanos();
        let expiry = if nanos > u64::MAX as u128 { u64::MAX } else { nanos as u64 };
        Self { table: Table::new(), counts: PairCounts::ZERO, expiry }
    }

    /// Takes the next line, and hands out what became of it and of what was open.
    ///
    /// `gpu` is the GPU whose file descriptor carried the line, `arrival` when it did; both may be unknown. The
    /// arrival serves as the time of resets and processes only. Lines of one file descriptor come in their
    /// order; those of several may be mixed in any way. A malformed line has no result.
    pub fn pair(
        &mut self,
        line: &Line<'_>,
        gpu: Option<GpuId>,
        arrival: Option<BootNanos>,
        mut each: impl FnMut(Paired),
    ) {
        let Ok(event) = &line.event else { return };
        let Some(role) = Role::of(event) else { return };
        self.counts.count_event(event);
        let time = event.time().or(arrival);
        let forgeable = line.trust.is_forgeable();
        match role {
            Role::Start(activity) => {
                let (first_start, start) = (time, time);
                self.start(Span { gpu, activity, first_start, start, merged: 0, forgeable }, &mut each);
            }
            Role::End(key, _) if forgeable => self.put(Paired::OrphanEnd(key.kind()), &mut each),
            Role::End(key, ending) => self.end(gpu, &key, time, ending, &mut each),
            Role::Rescheduled => self.put(Paired::Rescheduled, &mut each),
        }
    }

    /// Gives up what is older than the expiry. Call it now and then if what never ends should be heard of
    /// before it is pushed out. It goes through all that is open.
    pub fn expire(&mut self, now: BootNanos, mut each: impl FnMut(Paired)) {
        let mut id = self.table.oldest();
        while let Some(node) = self.table.node(id) {
            let is_old = self.has_expired(&node.span, Some(now));
            let newer = self.table.newer(id);
            if is_old {
                self.abandon(id, AbandonReason::Expired, &mut each);
            }
            id = newer;
        }
    }

    /// What is open, the oldest first.
    pub fn open(&self) -> impl Iterator<Item = &Span> {
        let mut id = self.table.oldest();
        core::iter::from_fn(move || {
            let node = self.table.node(id)?;
            id = self.table.newer(id);
            Some(&node.span)
        })
    }

    /// What became of all STARTs and ENDs so far.
    #[must_use]
    pub const fn counts(&self) -> &PairCounts {
        &self.counts
    }

    fn start(&mut self, span: Span, out: Out<'_>) {
        if let Activity::Reset { .. } = span.activity
            && !span.forgeable
        {
            self.reset(span.gpu, out);
        }
        if let Some(id) = self.table.find(span.gpu, &span.activity.key()) {
            if !self.is_anew(id, &span) {
                self.merge(id, span);
                return self.put(Paired::Merged(span.activity.kind()), out);
            }
            self.abandon(id, AbandonReason::Expired, out);
        }
        let is_beyond_share = |pid: &Pid| self.table.count_of(*pid) >= Self::SHARE;
        let victim = match span.activity.pid().filter(is_beyond_share) {
            Some(pid) => Some(self.table.oldest_of(pid)),
            None => self.table.is_full().then(|| self.table.oldest()),
        };
        match victim {
            Some(_) if span.forgeable => {
                return self.put(Paired::Abandoned(span, AbandonReason::PushedOut), out);
            }
            Some(id) => self.abandon(id, AbandonReason::PushedOut, out),
            None => {}
        }
        self.table.open(span);
    }

    /// Whether this START of what is open begins it anew.
    fn is_anew(&self, id: Id, span: &Span) -> bool {
        let Some(node) = self.table.node(id) else { return false };
        !span.forgeable && !node.span.forgeable && self.has_expired(&node.span, span.start)
    }

    fn merge(&mut self, id: Id, span: Span) {
        let Some(node) = self.table.node_mut(id) else { return };
        if span.forgeable {
            return;
        }
        if node.span.forgeable {
            // The genuine one takes its place.
            node.span = span;
        } else {
            node.span.merged = node.span.merged.saturating_add(1);
            if let Activity::Queue { .. } = span.activity {
                node.depth = node.depth.saturating_add(1);
                return;
            }
            node.span.activity = span.activity;
            node.span.start = span.start;
        }
        self.table.renew(id);
    }

    fn end(&mut self, gpu: Option<GpuId>, key: &Key, time: Option<BootNanos>, ending: Ending, out: Out<'_>) {
        if let Key::Process { pid } = *key {
            self.process_end(gpu, pid, out);
        }
        let Some(id) = self.table.find(gpu, key) else {
            return self.put(Paired::OrphanEnd(key.kind()), out);
        };
        let Some(node) = self.table.node_mut(id) else { return };
        if node.depth > 1 {
            node.depth = node.depth.saturating_sub(1);
            return self.put(Paired::NestedEnd(key.kind()), out);
        }
        let mut span = node.span;
        if self.has_expired(&span, time) {
            self.abandon(id, AbandonReason::Expired, out);
            return self.put(Paired::OrphanEnd(key.kind()), out);
        }
        self.table.remove(id);
        ending.complete(&mut span.activity);
        self.put(Paired::Interval(Interval { span, end: time }), out);
    }

    /// Gives up all of a process on a GPU but the process itself.
    fn process_end(&mut self, gpu: Option<GpuId>, pid: Pid, out: Out<'_>) {
        let mut id = self.table.oldest_of(pid);
        while let Some(node) = self.table.node(id) {
            let ends = node.span.gpu == gpu && node.span.activity.kind() != SpanKind::Process;
            let newer = self.table.newer_of_same(id);
            if ends {
                self.abandon(id, AbandonReason::ProcessEnd, out);
            }
            id = newer;
        }
    }

    /// Gives up all on a GPU but the processes.
    fn reset(&mut self, gpu: Option<GpuId>, out: Out<'_>) {
        let mut id = self.table.oldest();
        while let Some(node) = self.table.node(id) {
            let ends = node.span.gpu == gpu && node.span.activity.kind() != SpanKind::Process;
            let newer = self.table.newer(id);
            if ends {
                self.abandon(id, AbandonReason::Reset, out);
            }
            id = newer;
        }
    }

    fn has_expired(&self, span: &Span, now: Option<BootNanos>) -> bool {
        matches!(span.activity.kind(), SpanKind::Migrate | SpanKind::PageFault)
            && span.age(now).is_some_and(|age| age > self.expiry)
    }

    fn abandon(&mut self, id: Id, reason: AbandonReason, out: Out<'_>) {
        if let Some(node) = self.table.remove(id) {
            self.put(Paired::Abandoned(node.span, reason), out);
        }
    }

    fn put(&mut self, paired: Paired, out: Out<'_>) {
        self.counts.count_paired(&paired);
        out(paired);
    }
}

impl<const K: usize> Default for Pairer<K> {
    fn default() -> Self {
        Self::new()
    }
}

/// What is open, and what became of the rest.
impl<const K: usize> fmt::Debug for Pairer<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        struct Open<'a, const K: usize>(&'a Pairer<K>);
        impl<const K: usize> fmt::Debug for Open<'_, K> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_list().entries(self.0.open()).finish()
            }
        }
        let Self { counts, expiry, .. } = self;
        f.debug_struct("Pairer")
            .field("open", &Open(self))
            .field("counts", counts)
            .field("expiry", &Duration::from_nanos(*expiry))
            .finish()
    }
}

#[cfg(test)]
mod tests;
