//! What pairing should do, said as plainly as can be: a list and a loop. It knows nothing of the real one.

use core::fmt;
use core::time::Duration;

use kfd_smi_proto::{
    AbandonReason, Activity, BootNanos, Event, GpuId, Line, Paired, Pid, Span, SpanKind, parse_line,
};

/// A line with its origin, or a sweep.
#[derive(Clone)]
pub enum Step {
    /// A line comes.
    Line {
        /// Without its newline.
        bytes: Vec<u8>,
        /// Whether it could be forged.
        forgeable: bool,
        /// Which GPU carried it.
        gpu: Option<GpuId>,
        /// When it arrived.
        arrival: Option<BootNanos>,
    },
    /// What is too old at this time is given up.
    Expire(BootNanos),
}

/// Its line as text.
impl fmt::Debug for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line { bytes, forgeable, gpu, arrival } => {
                let mark = if *forgeable { "forged " } else { "" };
                write!(f, "{mark}\"{}\" on {gpu:?} at {arrival:?}", bytes.escape_ascii())
            }
            Self::Expire(now) => write!(f, "expire at {now}"),
        }
    }
}

impl Step {
    /// The line of a step with its mark.
    #[must_use]
    pub fn line(bytes: &[u8], forgeable: bool) -> Line<'_> {
        let mut line = parse_line(bytes);
        if forgeable {
            let mut tracker = kfd_smi_proto::TrustTracker::new();
            tracker.judge(b"1 5:", &parse_line(b"1 5:").event);
            line.trust = tracker.judge(b"", &parse_line(b"").event);
            assert!(line.trust.is_forgeable());
        }
        line
    }
}

/// The fields of a [`Span`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Open {
    gpu: Option<GpuId>,
    activity: Activity,
    first_start: Option<BootNanos>,
    start: Option<BootNanos>,
    merged: u32,
    forgeable: bool,
}

impl Open {
    /// Which of the five it is.
    #[must_use]
    pub const fn kind(&self) -> SpanKind {
        self.activity.kind()
    }
}

impl From<&Span> for Open {
    fn from(span: &Span) -> Self {
        let Span { gpu, activity, first_start, start, merged, forgeable, .. } = *span;
        Self { gpu, activity, first_start, start, merged, forgeable }
    }
}

/// The fields of a [`Paired`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Said {
    /// A START met its END.
    Interval(Open, Option<BootNanos>),
    /// A START was given up.
    Abandoned(Open, AbandonReason),
    /// A START of what was open.
    Merged(SpanKind),
    /// A restore that left other evictions.
    NestedEnd(SpanKind),
    /// An END without START.
    OrphanEnd(SpanKind),
    /// A restore that was put off.
    Rescheduled,
}

impl From<&Paired> for Said {
    fn from(paired: &Paired) -> Self {
        match paired {
            Paired::Interval(interval) => Self::Interval(Open::from(&interval.span), interval.end),
            Paired::Abandoned(span, reason) => Self::Abandoned(Open::from(span), *reason),
            Paired::Merged(kind) => Self::Merged(*kind),
            Paired::NestedEnd(kind) => Self::NestedEnd(*kind),
            Paired::OrphanEnd(kind) => Self::OrphanEnd(*kind),
            Paired::Rescheduled => Self::Rescheduled,
            other => panic!("{other:?}"),
        }
    }
}

/// The model: what is open, in the order of the STARTs, with the number of evictions.
#[derive(Clone, Debug)]
pub struct Model {
    room: usize,
    expiry: u64,
    open: Vec<(Open, u32)>,
}

/// What makes a START and an END belong together, in words.
fn key(activity: &Activity) -> String {
    match activity {
        Activity::Migrate { migration, .. } => format!("{migration:?}"),
        Activity::PageFault { pid, page, node, .. } => format!("fault of {pid} at {page} on {node}"),
        Activity::Queue { pid, node, .. } => format!("queues of {pid} on {node}"),
        Activity::Reset { reset_seq } => format!("reset {reset_seq}"),
        Activity::Process { pid } => format!("process {pid}"),
        other => panic!("{other:?}"),
    }
}

/// What a line begins.
fn begun(event: &Event<'_>) -> Option<Activity> {
    Some(match event {
        Event::MigrateStart(start) => Activity::Migrate {
            migration: start.migration(),
            prefetch_loc: start.prefetch_loc,
            preferred_loc: start.preferred_loc,
            error_code: None,
        },
        Event::PageFaultStart(fault) => Activity::PageFault {
            pid: fault.pid,
            page: fault.page,
            node: fault.node,
            access: fault.access,
            outcome: None,
        },
        Event::QueueEviction(eviction) => {
            Activity::Queue { pid: eviction.pid, node: eviction.node, trigger: eviction.trigger }
        }
        Event::GpuPreReset(reset) => Activity::Reset { reset_seq: reset.reset_seq },
        Event::ProcessStart(process) => Activity::Process { pid: process.pid },
        _ => return None,
    })
}

/// What a line ends, and what of it.
fn ended(event: &Event<'_>) -> Option<(String, SpanKind)> {
    Some(match event {
        Event::MigrateEnd(end) => (format!("{:?}", end.migration()), SpanKind::Migrate),
        Event::PageFaultEnd(fault) => {
            (format!("fault of {} at {} on {}", fault.pid, fault.page, fault.node), SpanKind::PageFault)
        }
        Event::QueueRestore(restore) if !restore.restore().is_rescheduled() => {
            (format!("queues of {} on {}", restore.pid, restore.node), SpanKind::Queue)
        }
        Event::GpuPostReset(reset) => (format!("reset {}", reset.reset_seq), SpanKind::Reset),
        Event::ProcessEnd(process) => (format!("process {}", process.pid), SpanKind::Process),
        _ => return None,
    })
}

impl Model {
    /// With room for so many spans, of which each process has a quarter.
    #[must_use]
    pub const fn new(room: usize, expiry: Duration) -> Self {
        Self { room, expiry: expiry.as_nanos() as u64, open: vec![] }
    }

    /// What is open.
    pub fn open(&self) -> impl Iterator<Item = Open> {
        self.open.iter().map(|(open, _)| *open)
    }

    /// What a step gives.
    #[must_use]
    pub fn step(&mut self, step: &Step) -> Vec<Said> {
        match step {
            Step::Expire(now) => {
                let expiry = self.expiry;
                self.abandon(AbandonReason::Expired, |open| expired(open, Some(*now), expiry))
            }
            Step::Line { bytes, forgeable, gpu, arrival } => match parse_line(bytes).event {
                Ok(event) => self.event(&event, *forgeable, *gpu, event.time().or(*arrival)),
                Err(_) => vec![],
            },
        }
    }

    fn event(
        &mut self,
        event: &Event<'_>,
        forgeable: bool,
        gpu: Option<GpuId>,
        time: Option<BootNanos>,
    ) -> Vec<Said> {
        if let Some(activity) = begun(event) {
            let open = Open { gpu, activity, first_start: time, start: time, merged: 0, forgeable };
            return self.start(open);
        }
        match (ended(event), event) {
            (Some((_, kind)), _) if forgeable => vec![Said::OrphanEnd(kind)],
            (Some((key, kind)), _) => self.end(event, &key, kind, gpu, time),
            (None, Event::QueueRestore(_)) => vec![Said::Rescheduled],
            _ => vec![],
        }
    }

    fn abandon(&mut self, reason: AbandonReason, which: impl Fn(&Open) -> bool) -> Vec<Said> {
        let (gone, left) = self.open.drain(..).partition(|(open, _)| which(open));
        self.open = left;
        let gone: Vec<(Open, u32)> = gone;
        gone.into_iter().map(|(open, _)| Said::Abandoned(open, reason)).collect()
    }

    fn place(&self, gpu: Option<GpuId>, wanted: &str) -> Option<usize> {
        self.open.iter().position(|(open, _)| open.gpu == gpu && key(&open.activity) == wanted)
    }

    fn start(&mut self, new: Open) -> Vec<Said> {
        let kind = new.activity.kind();
        let mut said = vec![];
        if kind == SpanKind::Reset && !new.forgeable {
            said = self.abandon(AbandonReason::Reset, |open| {
                open.gpu == new.gpu && open.activity.kind() != SpanKind::Process
            });
        }
        if let Some(place) = self.place(new.gpu, &key(&new.activity)) {
            let (old, depth) = self.open[place];
            if new.forgeable || old.forgeable || !expired(&old, new.start, self.expiry) {
                if !new.forgeable {
                    if !old.forgeable && kind == SpanKind::Queue {
                        self.open[place] = (Open { merged: old.merged + 1, ..old }, depth + 1);
                    } else {
                        self.open.remove(place);
                        let retried = Open { first_start: old.first_start, merged: old.merged + 1, ..new };
                        self.open.push((if old.forgeable { new } else { retried }, 1));
                    }
                }
                said.push(Said::Merged(kind));
                return said;
            }
            self.open.remove(place);
            said.push(Said::Abandoned(old, AbandonReason::Expired));
        }
        let pid = new.activity.pid();
        let same = |(open, _): &(Open, u32)| open.activity.pid() == pid;
        let own = self.open.iter().filter(|open| same(open)).count();
        let victim = if pid.is_some() && own >= (self.room / 4).max(1) {
            self.open.iter().position(same)
        } else {
            (self.open.len() == self.room).then_some(0)
        };
        match victim {
            Some(_) if new.forgeable => {
                said.push(Said::Abandoned(new, AbandonReason::PushedOut));
                return said;
            }
            Some(place) => said.push(Said::Abandoned(self.open.remove(place).0, AbandonReason::PushedOut)),
            None => {}
        }
        self.open.push((new, 1));
        said
    }

    fn end(
        &mut self,
        event: &Event<'_>,
        key: &str,
        kind: SpanKind,
        gpu: Option<GpuId>,
        time: Option<BootNanos>,
    ) -> Vec<Said> {
        let mut said = vec![];
        if kind == SpanKind::Process {
            let pid: Option<Pid> = event.pid();
            said = self.abandon(AbandonReason::ProcessEnd, |open| {
                open.gpu == gpu && open.activity.kind() != SpanKind::Process && open.activity.pid() == pid
            });
        }
        let Some(place) = self.place(gpu, key) else {
            said.push(Said::OrphanEnd(kind));
            return said;
        };
        if self.open[place].1 > 1 {
            self.open[place].1 -= 1;
            said.push(Said::NestedEnd(kind));
            return said;
        }
        let (mut open, _) = self.open.remove(place);
        if expired(&open, time, self.expiry) {
            said.extend([Said::Abandoned(open, AbandonReason::Expired), Said::OrphanEnd(kind)]);
            return said;
        }
        match (&mut open.activity, event) {
            (Activity::Migrate { error_code, .. }, Event::MigrateEnd(end)) => *error_code = end.error_code(),
            (Activity::PageFault { outcome, .. }, Event::PageFaultEnd(end)) => *outcome = Some(end.outcome),
            _ => {}
        }
        said.push(Said::Interval(open, time));
        said
    }
}

fn expired(open: &Open, now: Option<BootNanos>, expiry: u64) -> bool {
    let (Some(start), Some(now)) = (open.start, now) else { return false };
    matches!(open.activity.kind(), SpanKind::Migrate | SpanKind::PageFault)
        && now.nanos() > start.nanos()
        && now.nanos() - start.nanos() > expiry
}
