//! What lies between a START and its END: [`Activity`], [`Span`], [`Interval`].

use core::time::Duration;

use crate::event::{Access, FaultOutcome, Migration};
use crate::field::{BootNanos, GpuId, Location, Pid};
use crate::page::{PageNumber, PageRange};
use crate::trigger::{EvictionTrigger, MigrateTrigger};

/// The five things that begin with one event and end with another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "snake_case"))]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum SpanKind {
    /// MIGRATE_START to MIGRATE_END.
    Migrate,
    /// PAGE_FAULT_START to PAGE_FAULT_END.
    PageFault,
    /// QUEUE_EVICTION to QUEUE_RESTORE: the queues are suspended.
    Queue,
    /// GPU_PRE_RESET to GPU_POST_RESET.
    Reset,
    /// PROCESS_START to PROCESS_END.
    Process,
}

impl SpanKind {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Migrate, Self::PageFault, Self::Queue, Self::Reset, Self::Process];
}

/// What goes on between a START and its END.
///
/// The fields that both lines have, together with the GPU whose file descriptor carried them, make a START and
/// an END belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "snake_case"))]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum Activity {
    /// Pages move.
    Migrate {
        /// What both lines have.
        migration: Migration,
        /// START: where the process asked them to be fetched to.
        prefetch_loc: Location,
        /// START: where the process prefers them to be.
        preferred_loc: Location,
        /// END: 0 or a negative errno; `None` before the end, and where the line does not hold it (up to 6.12).
        error_code: Option<i32>,
    },
    /// The driver handles a page fault of the GPU.
    PageFault {
        /// Both: the process.
        pid: Pid,
        /// Both: the page that was touched.
        page: PageNumber,
        /// Both: the GPU that touched it.
        node: GpuId,
        /// START: what it wanted.
        access: Access,
        /// END: how the fault was handled; `None` before the end.
        outcome: Option<FaultOutcome>,
    },
    /// The user queues of a process are suspended on a GPU.
    Queue {
        /// Both: the process.
        pid: Pid,
        /// Both: the GPU its queues run on.
        node: GpuId,
        /// START: why the first eviction was.
        trigger: EvictionTrigger,
    },
    /// The GPU is reset. Its cause is text of the START line and stays there.
    Reset {
        /// Both: the number of the reset.
        reset_seq: u32,
    },
    /// A process uses the GPU.
    Process {
        /// Both: the *thread* that last set up the address space.
        pid: Pid,
    },
}

/// What the two lines have in common.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Key {
    Migrate(Migration),
    PageFault { pid: Pid, page: PageNumber, node: GpuId },
    Queue { pid: Pid, node: GpuId },
    Reset { reset_seq: u32 },
    Process { pid: Pid },
}

impl Key {
    pub(super) const fn kind(&self) -> SpanKind {
        match self {
            Self::Migrate(_) => SpanKind::Migrate,
            Self::PageFault { .. } => SpanKind::PageFault,
            Self::Queue { .. } => SpanKind::Queue,
            Self::Reset { .. } => SpanKind::Reset,
            Self::Process { .. } => SpanKind::Process,
        }
    }

    /// A mix without seed. Whoever knows it can make keys collide; that costs him and us time, see
    /// [`Map`](super::map::Map).
    pub(super) fn hash(&self, gpu: Option<GpuId>) -> u32 {
        let mix = Mix(0).add(self.kind() as u64).add(gpu.map_or(u64::MAX, |gpu| u64::from(gpu.0)));
        let mix = match *self {
            Self::Migrate(Migration { pid, range: PageRange { start, count }, from, to, trigger }) => mix
                .add(u64::from(pid.as_unsigned()) << 32 | u64::from(trigger.0.cast_unsigned()))
                .add(start.0)
                .add(count.0)
                .add(u64::from(from.0) << 32 | u64::from(to.0)),
            Self::PageFault { pid, page, node } => {
                mix.add(page.0).add(u64::from(pid.as_unsigned()) << 32 | u64::from(node.0))
            }
            Self::Queue { pid, node } => mix.add(u64::from(pid.as_unsigned()) << 32 | u64::from(node.0)),
            Self::Reset { reset_seq } => mix.add(u64::from(reset_seq)),
            Self::Process { pid } => mix.add(u64::from(pid.as_unsigned())),
        };
        mix.hash()
    }
}

/// Multiplies by the golden ratio and folds the upper half into the lower, for each number.
struct Mix(u64);

impl Mix {
    const fn add(self, number: u64) -> Self {
        let product = (self.0 ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Self(product ^ product >> 32)
    }

    const fn hash(self) -> u32 {
        self.0 as u32
    }
}

/// The hash of a process alone.
pub(super) const fn hash_of_pid(pid: Pid) -> u32 {
    Mix(0).add(pid.as_unsigned() as u64).hash()
}

impl Activity {
    /// Which of the five it is.
    #[must_use]
    pub const fn kind(&self) -> SpanKind {
        self.key().kind()
    }

    /// The process, or for [`Process`](Self::Process) its thread; a reset has none.
    #[must_use]
    pub const fn pid(&self) -> Option<Pid> {
        match *self {
            Self::Migrate { migration, .. } => Some(migration.pid),
            Self::PageFault { pid, .. } | Self::Queue { pid, .. } | Self::Process { pid } => Some(pid),
            Self::Reset { .. } => None,
        }
    }

    pub(super) const fn key(&self) -> Key {
        match *self {
            Self::Migrate { migration, .. } => Key::Migrate(migration),
            Self::PageFault { pid, page, node, .. } => Key::PageFault { pid, page, node },
            Self::Queue { pid, node, .. } => Key::Queue { pid, node },
            Self::Reset { reset_seq } => Key::Reset { reset_seq },
            Self::Process { pid } => Key::Process { pid },
        }
    }
}

/// A START, and those that were merged into it.
///
/// The times are the kernel's, or for resets and processes, whose lines have none, the arrivals of the lines,
/// which the caller may not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub struct Span {
    /// The GPU whose file descriptor carried the lines; `None` if that is not known, as in a log.
    pub gpu: Option<GpuId>,
    /// What goes on, as the last START has it; for queues, the first.
    pub activity: Activity,
    /// When it was first started.
    pub first_start: Option<BootNanos>,
    /// When it was last started. Queues are suspended from the first eviction on, so for them it is the same.
    pub start: Option<BootNanos>,
    /// How many STARTs were merged into the first: retries, or evictions that nest.
    pub merged: u32,
    /// Whether a process could have made the START up: see [`Trust`](crate::Trust).
    pub forgeable: bool,
}

impl Span {
    /// How long before a time it was last started, or 0 where times run backwards.
    pub(super) fn age(&self, now: Option<BootNanos>) -> Option<u64> {
        between(self.start, now)
    }
}

/// A START with its END.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub struct Interval {
    /// What was started, and when.
    pub span: Span,
    /// When it ended.
    pub end: Option<BootNanos>,
}

impl Interval {
    /// Nanoseconds from the last START to the END. `None` if the lines have no time and an arrival is missing; 0
    /// where times run backwards, as they may by a little.
    #[must_use]
    pub fn duration(&self) -> Option<u64> {
        self.span.age(self.end)
    }

    /// Nanoseconds from the first START to the END, retries included. See [`duration`](Self::duration).
    #[must_use]
    pub fn elapsed(&self) -> Option<u64> {
        between(self.span.first_start, self.end)
    }

    /// Puts the two legs of a migration from one GPU to another together.
    ///
    /// The driver moves such pages through system memory and reports two migrations: `A -> system` to the clients
    /// of A, then `system -> B` to those of B. This is the first leg, `next` the second, if
    ///
    /// * both are migrations of the same process, pages and trigger, to and from system memory, and A is not B;
    /// * where the carrying GPUs are known, they are A and B;
    /// * the second began when the first had ended, and at most `within` later. One task does both one after the
    ///   other, so this can be short: milliseconds.
    ///
    /// ```
    /// # use core::time::Duration;
    /// # use kfd_smi_proto::{GpuId, Paired, Pairer, lines};
    /// let log = b"5 1000000000 -152990 @7f0f15200(200) 1ea0->0 fc7d:ffffffff 1\n\
    ///             6 1000400000 -152990 @7f0f15200(200) 1ea0->0 1 0\n\
    ///             5 1000410000 -152990 @7f0f15200(200) 0->fc7d fc7d:ffffffff 1\n\
    ///             6 1000900000 -152990 @7f0f15200(200) 0->fc7d 1 0\n";
    /// let (mut pairer, mut legs) = (<Pairer>::new(), vec![]);
    /// for line in lines(log) {
    ///     pairer.pair(&line, None, None, |paired| {
    ///         if let Paired::Interval(interval) = paired {
    ///             legs.push(interval);
    ///         }
    ///     });
    /// }
    /// let moved = legs[0].join(&legs[1], Duration::from_millis(1)).unwrap();
    /// assert_eq!((moved.from, moved.to), (GpuId(0x1ea0), GpuId(0xfc7d)));
    /// assert_eq!(moved.end.nanos() - moved.start.nanos(), 900_000);
    /// assert_eq!(legs[1].join(&legs[0], Duration::from_millis(1)), None);
    /// ```
    #[must_use]
    pub fn join(&self, next: &Self, within: Duration) -> Option<DeviceToDevice> {
        let Activity::Migrate { migration: first, error_code: first_error_code, .. } = self.span.activity
        else {
            return None;
        };
        let Activity::Migrate { migration: second, error_code: second_error_code, .. } = next.span.activity
        else {
            return None;
        };
        let Migration { pid, range, from, to, trigger } = first;
        let (Some(from), Location::SYSTEM, Location::SYSTEM, Some(to)) =
            (from.gpu(), to, second.from, second.to.gpu())
        else {
            return None;
        };
        let carried_by = |carrier: Option<GpuId>, gpu| carrier.is_none_or(|carrier| carrier == gpu);
        let pause = next.span.start?.nanos().checked_sub(self.end?.nanos())?;
        let joins = from != to
            && (pid, range, trigger) == (second.pid, second.range, second.trigger)
            && carried_by(self.span.gpu, from)
            && carried_by(next.span.gpu, to)
            && Duration::from_nanos(pause) <= within;
        let (start, end) = (self.span.start?, next.end?);
        joins.then_some(DeviceToDevice {
            pid,
            range,
            trigger,
            from,
            to,
            start,
            end,
            first_error_code,
            second_error_code,
        })
    }
}

/// Pages that moved from one GPU to another, in two migrations: what [`Interval::join`] gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub struct DeviceToDevice {
    /// The process whose pages moved.
    pub pid: Pid,
    /// The pages.
    pub range: PageRange,
    /// Why they moved.
    pub trigger: MigrateTrigger,
    /// The GPU they were on.
    pub from: GpuId,
    /// The GPU they went to.
    pub to: GpuId,
    /// When the migration to system memory was last started.
    pub start: BootNanos,
    /// When the migration from there ended.
    pub end: BootNanos,
    /// How the way to system memory ended: 0 or a negative errno, `None` if the line does not hold it.
    pub first_error_code: Option<i32>,
    /// How the way from there ended.
    pub second_error_code: Option<i32>,
}

/// Nanoseconds from one time to another, 0 if that is earlier.
fn between(from: Option<BootNanos>, to: Option<BootNanos>) -> Option<u64> {
    Some(to?.nanos().saturating_sub(from?.nanos()))
}
