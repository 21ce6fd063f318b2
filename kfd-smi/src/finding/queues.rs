//! `eviction_churn` and `suspension`: queues that do not run.

use kfd_smi_proto::{AbandonReason, Activity, BootNanos, Event, GpuId, Paired, Span};

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
    /// How many there were in each of the ten tenths of a second up to this one, the place of each its number modulo
    /// ten; and the most that ten had together.
    tenth: u64,
    tenths: [u32; 10],
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
        let Some(now) = at.nanos.map(|nanos| nanos / (SECOND / 10)) else { return };
        let place = |tenth: u64| (tenth % 10) as usize;
        if now.abs_diff(self.tenth) >= 10 {
            self.tenths = [0; 10];
            self.tenth = now;
        }
        // Times can go back a little: what is in the ring stays.
        while self.tenth < now {
            self.tenth += 1;
            self.tenths[place(self.tenth)] = 0;
        }
        let count = &mut self.tenths[place(now)];
        *count = count.saturating_add(1);
        self.peak = self.peak.max(self.tenths.iter().map(|count| u64::from(*count)).sum());
    }
}

impl Queues {
    pub(super) fn end_segment(&mut self) {
        self.before += self.span();
        (self.first, self.last) = (None, 0);
        // A second does not go on in another boot.
        self.all.values_mut().for_each(|churn| churn.tenths = [0; 10]);
    }

    /// These have been suspended for so long, and nothing more comes.
    pub(super) fn open(&mut self, span: &Span, age: u64) {
        if let Some(churn) = self.suspended(span, age) {
            churn.still = true;
        }
    }

    /// These were suspended for so long.
    fn suspended(&mut self, span: &Span, time: u64) -> Option<&mut Churn> {
        let Activity::Queue { pid, node, .. } = span.activity else { return None };
        let churn = self.all.get_mut(&(pid.0.into(), span.gpu.or(Some(node)))).filter(|_| !span.forgeable)?;
        churn.suspended = churn.suspended.saturating_add(time);
        Some(churn)
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
        match paired {
            Paired::Interval(interval) => {
                self.suspended(&interval.span, interval.duration().unwrap_or(0));
            }
            // A hung program is killed, or the GPU reset: its queues stood still until then.
            Paired::Abandoned(span, AbandonReason::ProcessEnd | AbandonReason::Reset) => {
                let start = span.start.map(BootNanos::nanos);
                let time = at.now.zip(start).map_or(0, |(now, start)| now.nanos().saturating_sub(start));
                self.suspended(span, time);
            }
            _ => {}
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
