//! `failed_migrations`, `fault_retries`, `fault_storm`, `migration_ping_pong`: pages that find no rest.

use std::collections::BTreeMap;

use kfd_smi_proto::{Activity, GpuId, Location, PageCount, PageNumber, PageRange, PageSize, Paired, Span};

use super::{At, Candidate, Rule, Seen, Sink, on};
use crate::amount::{Bytes, Count};
use crate::bounded::{Bounded, Weight};
use crate::errno::ErrorCode;

/// So many different error codes of a process are told apart.
const MOST_CODES: usize = 8;

#[derive(Clone, Debug, Default)]
pub(super) struct Memory {
    failed: Bounded<i64, Failed, 4096>,
    /// By process and GPU.
    retried: Bounded<(i64, Option<GpuId>), Retried, 4096>,
    /// By process, GPU and page.
    faults: Bounded<(i64, Option<GpuId>, u64), Faults, 8192>,
    /// By process, first page and number of pages.
    ranges: Bounded<(i64, u64, u64), Turning, 8192>,
}

#[derive(Clone, Debug, Default)]
struct Failed {
    seen: Seen,
    codes: BTreeMap<i32, u64>,
    other: u64,
}

/// STARTs of faults that were started already.
#[derive(Clone, Copy, Debug, Default)]
struct Retried {
    seen: Seen,
    /// The most of one fault.
    most: u32,
}

#[derive(Clone, Copy, Debug)]
struct Faults {
    seen: Seen,
    page_size: PageSize,
}

/// A range that moves to and fro.
#[derive(Clone, Copy, Debug)]
struct Turning {
    /// Where it went last.
    to: Location,
    turns: Seen,
    page_size: PageSize,
}

impl Weight for Failed {
    fn weight(&self) -> u64 {
        self.seen.count
    }
}

impl Weight for Retried {
    fn weight(&self) -> u64 {
        self.seen.count
    }
}

impl Weight for Faults {
    fn weight(&self) -> u64 {
        self.seen.count
    }
}

impl Weight for Turning {
    fn weight(&self) -> u64 {
        self.turns.count
    }
}

impl Memory {
    pub(super) fn paired(&mut self, at: &At, paired: &Paired, page_size: PageSize) {
        match paired {
            Paired::Interval(interval) => self.interval(at, &interval.span, page_size),
            Paired::Abandoned(span, _) => self.open(span),
            Paired::Merged(kfd_smi_proto::SpanKind::PageFault) => {
                if let Some(pid) = at.pid {
                    self.retried.entry((pid, at.gpu), Retried::default, drop).seen.add(at);
                }
            }
            _ => {}
        }
    }

    fn interval(&mut self, at: &At, span: &Span, page_size: PageSize) {
        match span.activity {
            Activity::Migrate { migration, error_code: Some(code), .. } if code != 0 => {
                let failed = self.failed.entry(migration.pid.0.into(), Failed::default, drop);
                failed.seen.add(at);
                if failed.codes.len() < MOST_CODES || failed.codes.contains_key(&code) {
                    *failed.codes.entry(code).or_default() += 1;
                } else {
                    failed.other += 1;
                }
            }
            Activity::Migrate { migration, .. } => {
                let PageRange { start, count } = migration.range;
                let new = || Turning { to: migration.to, turns: Seen::default(), page_size };
                let range = self.ranges.entry((migration.pid.0.into(), start.0, count.0), new, drop);
                if range.to != migration.to {
                    range.to = migration.to;
                    range.turns.add(at);
                }
            }
            Activity::PageFault { pid, page, .. } => {
                self.open(span);
                let new = || Faults { seen: Seen::default(), page_size };
                self.faults.entry((pid.0.into(), at.gpu, page.0), new, drop).seen.add(at);
            }
            _ => {}
        }
    }

    /// Nothing more comes of a fault; how often was it tried?
    pub(super) fn open(&mut self, span: &Span) {
        if let Activity::PageFault { pid, node, .. } = span.activity
            && let Some(retried) = self.retried.get_mut(&(pid.0.into(), span.gpu.or(Some(node))))
        {
            retried.most = retried.most.max(span.merged);
        }
    }

    pub(super) fn found(&self, out: &mut Sink<'_, '_>) {
        self.found_failed(out);
        self.found_retries(out);
        self.found_storms(out);
        self.found_turning(out);
    }

    fn found_failed(&self, out: &mut Sink<'_, '_>) {
        let failed = self.failed.by_weight().into_iter().map(|(pid, failed)| {
            (failed.seen.count, Candidate { seen: failed.seen, gpu: None, pid: Some(*pid), what: failed })
        });
        out.rule(Rule::FailedMigrations, failed, |situation, one| {
            let mut codes: Vec<_> = one.what.codes.iter().collect();
            codes.sort_by_key(|(code, count)| (std::cmp::Reverse(**count), **code));
            let mut codes: Vec<_> =
                codes.iter().map(|(code, count)| format!("{count} with {}", ErrorCode(**code))).collect();
            if one.what.other > 0 {
                codes.push(format!("{} with others", one.what.other));
            }
            let process = situation.process(one.pid.unwrap_or(0));
            format!("{} of {process} failed: {}", Count(one.seen.count, "migration"), codes.join(", "))
        });
    }

    fn found_retries(&self, out: &mut Sink<'_, '_>) {
        let retried = self.retried.by_weight().into_iter().map(|((pid, gpu), retried)| {
            let most = retried.most;
            (most.into(), Candidate { seen: retried.seen, gpu: *gpu, pid: Some(*pid), what: most })
        });
        out.rule(Rule::FaultRetries, retried, |situation, one| {
            let process = situation.process(one.pid.unwrap_or(0));
            let (count, gpu, most) = (Count(one.seen.count, "time"), on(one.gpu), one.what);
            format!(
                "page faults of {process} were retried {count} without an end{gpu}, one of them {most} times"
            )
        });
    }

    fn found_storms(&self, out: &mut Sink<'_, '_>) {
        let from = out.findings.threshold(Rule::FaultStorm);
        let mut storms = BTreeMap::new();
        for ((pid, gpu, page), faults) in self.faults.by_weight() {
            if faults.seen.count >= from {
                let worst = (*page, *faults);
                let storm = storms.entry((*pid, *gpu)).or_insert_with(|| (Seen::default(), 0_u64, worst));
                storm.0.merge(&faults.seen);
                storm.1 += 1;
            }
        }
        let storms = storms.into_iter().map(|((pid, gpu), (seen, pages, worst))| {
            (worst.1.seen.count, Candidate { seen, gpu, pid: Some(pid), what: (pages, worst) })
        });
        out.rule(Rule::FaultStorm, storms, |situation, one| {
            let process = situation.process(one.pid.unwrap_or(0));
            let (pages, (page, Faults { seen, page_size })) = &one.what;
            let address = Address(PageNumber(*page), *page_size);
            let (count, gpu) = (one.seen.count, on(one.gpu));
            format!(
                "{process} faulted {count} times on the same {}{gpu}, {} of them at {address}",
                Count(*pages, "page"),
                seen.count
            )
        });
    }

    fn found_turning(&self, out: &mut Sink<'_, '_>) {
        let from = out.findings.threshold(Rule::MigrationPingPong);
        let mut turning = BTreeMap::new();
        for ((pid, start, count), range) in self.ranges.by_weight() {
            if range.turns.count >= from {
                let worst = (PageRange { start: PageNumber(*start), count: PageCount(*count) }, *range);
                let all = turning.entry(*pid).or_insert_with(|| (Seen::default(), 0_u64, worst));
                all.0.merge(&range.turns);
                all.1 += 1;
            }
        }
        let turning = turning.into_iter().map(|(pid, (seen, ranges, worst))| {
            (worst.1.turns.count, Candidate { seen, gpu: None, pid: Some(pid), what: (ranges, worst) })
        });
        out.rule(Rule::MigrationPingPong, turning, |situation, one| {
            let process = situation.process(one.pid.unwrap_or(0));
            let (ranges, (range, Turning { turns, page_size, .. })) = &one.what;
            let address = Address(range.start, *page_size);
            let bytes = Bytes(u128::from(range.count.0) * u128::from(page_size.bytes()));
            let (count, worst) = (one.seen.count, turns.count);
            format!(
                "{} of {process} went to and fro, {count} turns in all, {worst} of them {bytes} at {address}",
                Count(*ranges, "range")
            )
        });
    }
}

/// Where a page begins, in bytes; if that is no address, its number.
struct Address(PageNumber, PageSize);

impl std::fmt::Display for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0.address(self.1) {
            Some(address) => write!(f, "{address:#x}"),
            None => write!(f, "page {}", self.0),
        }
    }
}
