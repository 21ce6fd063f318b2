//! `eviction_churn` and `suspension`: queues that do not run.

use kfd_smi_proto::{Activity, BootNanos, Event, GpuId, Paired, Span};

use super::{At, Candidate, Rule, Seen, Sink, on};
use crate::amount::{Count, Nanos};
use crate::bounded::{Bounded, Weight};

const SECOND: u64 = 1_000_000_000;

#[derive(Clone, Debug, Default)]
pub(super) struct Queues {
    /// By process and GPU.
    all: Bounded<(i64, Option<GpuId>), Churn, 4096>,
    /// The first and the last time of the kernel in this segment, and the time of those before.
    first: Option<u64>,
    last: u64,
    before: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Churn {
    seen: Seen,
    /// The second that is being counted, when it began, and the fullest so far.
    begun: Option<u64>,
    within: u64,
    peak: u64,
    suspended: u64,
    /// Whether it was so at the end of a boot.
    still: bool,
}

impl Weight for Churn {
    fn weight(&self) -> u64 {
        self.seen.count
    }
}

impl Churn {
    fn add(&mut self, at: &At) {
        self.seen.add(at);
        let Some(now) = at.nanos else { return };
        // A second begins with the first eviction behind the one before.
        if self.begun.is_none_or(|begun| now.saturating_sub(begun) >= SECOND || now < begun) {
            (self.begun, self.within) = (Some(now), 0);
        }
        self.within += 1;
        self.peak = self.peak.max(self.within);
    }
}

impl Queues {
    pub(super) fn end_segment(&mut self) {
        self.before += self.span();
        (self.first, self.last) = (None, 0);
        // A second does not go on in another boot.
        self.all.values_mut().for_each(|churn| churn.begun = None);
    }

    /// These have been suspended for so long, and nothing more comes.
    pub(super) fn open(&mut self, span: &Span, age: u64) {
        if let Activity::Queue { pid, node, .. } = span.activity
            && let Some(churn) = self.all.get_mut(&(pid.0.into(), span.gpu.or(Some(node))))
            && !span.forgeable
        {
            churn.suspended = churn.suspended.saturating_add(age);
            churn.still = true;
        }
    }

    fn span(&self) -> u64 {
        self.first.map_or(0, |first| self.last.saturating_sub(first))
    }

    pub(super) fn event(&mut self, at: &At, event: &Event<'_>) {
        // A time that was made up would make every share small.
        if let Some(time) = event.time().map(BootNanos::nanos).filter(|_| !at.forgeable) {
            self.first = Some(self.first.map_or(time, |first| first.min(time)));
            self.last = self.last.max(time);
        }
        if let Event::QueueEviction(_) = event
            && let Some(pid) = at.pid
        {
            self.all.entry((pid, at.gpu), Churn::default, drop).add(at);
        }
    }

    pub(super) fn paired(&mut self, at: &At, paired: &Paired) {
        if let Paired::Interval(interval) = paired
            && let Activity::Queue { .. } = interval.span.activity
            && let Some(pid) = at.pid
            && let Some(churn) = self.all.get_mut(&(pid, at.gpu))
            && !interval.span.forgeable
        {
            churn.suspended = churn.suspended.saturating_add(interval.duration().unwrap_or(0));
        }
    }

    pub(super) fn found(&self, out: &mut Sink<'_, '_>) {
        let all = || {
            self.all.by_weight().into_iter().map(|((pid, gpu), churn)| {
                (churn, Candidate { seen: churn.seen, gpu: *gpu, pid: Some(*pid), what: *churn })
            })
        };
        let churning = all().map(|(churn, one)| (churn.peak, one));
        out.rule(Rule::EvictionChurn, churning, |situation, one| {
            let process = situation.process(one.pid.unwrap_or(0));
            let (count, peak) = (Count(one.seen.count, "time"), one.what.peak);
            format!(
                "the queues of {process} were evicted {count}{}, {peak} of them within one second",
                on(one.gpu)
            )
        });
        let total = self.before + self.span();
        let percent = |churn: &Churn| u128::from(churn.suspended) * 100 / u128::from(total.max(1));
        let long = all().filter(|_| total >= SECOND).map(|(churn, one)| (percent(churn) as u64, one));
        out.rule(Rule::Suspension, long, |situation, one| {
            let process = situation.process(one.pid.unwrap_or(0));
            let still = if one.what.still { ", to the end" } else { "" };
            let (time, of) = (Nanos(one.what.suspended.into()), Nanos(total.into()));
            let share = percent(&one.what);
            format!(
                "the queues of {process} were suspended{} for {time} of {of}, {share} %{still}",
                on(one.gpu)
            )
        });
    }
}
