//! What stands out in a log: [`Finding`], and the rules that find it.
//!
//! A finding is one sentence about what was seen, with how often, where and when; it guesses nothing. Each rule has a
//! number from which on it finds something, which `--threshold RULE=N` sets:
//!
//! | rule | what is counted | from |
//! |---|---|---|
//! | `gpu_reset` | resets of all GPUs; each is a finding of its own, with the lines before it | 1 |
//! | `vmfault` | VM faults of a thread | 1 |
//! | `thermal_throttle` | throttle events of a GPU | 1 |
//! | `failed_migrations` | migrations of a process that ended with an error code | 1 |
//! | `fault_retries` | starts of one page fault without an end | 10 |
//! | `fault_storm` | faults of one page that were handled, one after the other | 20 |
//! | `migration_ping_pong` | changes of direction of one range of pages | 10 |
//! | `eviction_churn` | evictions of a process from a GPU within one second, to a tenth | 10 |
//! | `suspension` | percent of the time of the log that the queues of a process were suspended; it must be a second long | 50 |
//! | `lost_events` | signs that events are missing | 1 |
//! | `forgeable_lines` | lines that a process could have forged through its name | 1 |
//!
//! Memory is bounded: each rule keeps so many GPUs, processes, pages or ranges; beyond, it forgets the lighter half, see
//! [`Bounded`](crate::bounded::Bounded). Of each rule and input the heaviest 32 are named and the rest is one finding.

use std::time::Duration;

use kfd_smi_proto::{BootNanos, Escaped, Event, GpuId, PageSize, Paired, Span};

use crate::amount::Count;
use crate::record::Record;
use crate::tally::shown_pid;

mod evidence;
mod gpu;
mod memory;
mod queues;
mod resets;
mod rule;

pub(crate) use evidence::Evidence;
pub(crate) use resets::{Reset, Resets};
pub(crate) use rule::{Rule, Threshold, help};

/// So many findings of one rule and input are told apart.
const MOST_NAMED: usize = 32;

/// Something that stands out.
#[derive(Clone, Debug)]
pub(crate) struct Finding {
    pub(crate) rule: Rule,
    /// A sentence, all of it printable ASCII.
    pub(crate) text: String,
    pub(crate) seen: Seen,
    pub(crate) gpu: Option<GpuId>,
    pub(crate) pid: Option<i64>,
    /// Lines that belong to it, for people.
    pub(crate) context: Vec<String>,
}

/// How often something was seen, and when first and last.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Seen {
    pub(crate) count: u64,
    pub(crate) first_seq: u64,
    pub(crate) last_seq: u64,
    pub(crate) first_ns: Option<u64>,
    pub(crate) last_ns: Option<u64>,
    /// How many of them could be forged.
    pub(crate) forgeable: u64,
}

/// Where a line stands.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct At {
    pub(crate) seq: u64,
    /// The time of the kernel, or that of the arrival.
    pub(crate) nanos: Option<u64>,
    pub(crate) gpu: Option<GpuId>,
    pub(crate) pid: Option<i64>,
    pub(crate) forgeable: bool,
    /// The latest time of the kernel so far in this segment.
    pub(crate) now: Option<BootNanos>,
}

impl At {
    pub(crate) fn new(record: &Record<'_>, now: Option<BootNanos>) -> Self {
        let event = record.event.as_ref().ok();
        Self {
            seq: record.seq,
            nanos: event.and_then(Event::time).or(record.origin.arrival).map(BootNanos::nanos),
            gpu: record.origin.gpu.or_else(|| event.and_then(Event::gpu)),
            pid: event.and_then(shown_pid),
            forgeable: record.trust.is_forgeable(),
            now,
        }
    }
}

impl Seen {
    pub(crate) fn add(&mut self, at: &At) {
        self.merge(&Self {
            count: 1,
            first_seq: at.seq,
            last_seq: at.seq,
            first_ns: at.nanos,
            last_ns: at.nanos,
            forgeable: at.forgeable.into(),
        });
    }

    fn merge(&mut self, other: &Self) {
        if other.count == 0 {
            return;
        }
        if self.count == 0 {
            *self = *other;
            return;
        }
        self.count += other.count;
        self.forgeable += other.forgeable;
        self.first_seq = self.first_seq.min(other.first_seq);
        self.last_seq = self.last_seq.max(other.last_seq);
        self.first_ns = [self.first_ns, other.first_ns].into_iter().flatten().min();
        self.last_ns = self.last_ns.max(other.last_ns);
    }

    /// Whether each of them could be forged.
    pub(crate) const fn is_forgeable(&self) -> bool {
        self.count > 0 && self.forgeable == self.count
    }
}

/// What findings are made of besides what their rules saw.
pub(crate) struct Situation<'a> {
    /// What a process is called.
    pub(crate) name: &'a dyn Fn(i64) -> Option<&'a [u8]>,
    /// The input, where there are several.
    pub(crate) input: Option<&'a str>,
}

impl Situation<'_> {
    /// `process 7 ("python3")`
    fn process(&self, pid: i64) -> String {
        match (self.name)(pid) {
            Some(name) => format!("process {pid} (\"{}\")", Escaped(name)),
            None => format!("process {pid}"),
        }
    }
}

/// Every rule but `gpu_reset`, for one input.
#[derive(Clone, Debug)]
pub(crate) struct Findings {
    thresholds: Vec<Threshold>,
    expiry: Duration,
    /// Whether events are left out, so that a missing one means nothing.
    is_partial: bool,
    gpu: gpu::Gpus,
    memory: memory::Memory,
    queues: queues::Queues,
    evidence: Evidence,
    /// Where its signs stood: in front of them this line.
    signs: Seen,
    last: At,
    orphans: evidence::Orphans,
    forgeable: Seen,
}

impl Findings {
    pub(crate) fn new(thresholds: &[Threshold], expiry: Duration, is_partial: bool) -> Self {
        Self {
            thresholds: thresholds.to_vec(),
            expiry,
            is_partial,
            gpu: gpu::Gpus::default(),
            memory: memory::Memory::default(),
            queues: queues::Queues::default(),
            evidence: Evidence::default(),
            signs: Seen::default(),
            last: At::default(),
            orphans: evidence::Orphans::new(expiry),
            forgeable: Seen::default(),
        }
    }

    /// Another input begins.
    pub(crate) fn clear(&mut self) {
        *self = Self::new(&self.thresholds, self.expiry, self.is_partial);
    }

    /// A boot is over, with this still open at this time: nothing will end it, and times begin anew.
    pub(crate) fn end_segment<'a>(&mut self, open: impl Iterator<Item = &'a Span>, now: Option<BootNanos>) {
        for span in open {
            let age = span.start.zip(now).map_or(0, |(start, now)| now.nanos().saturating_sub(start.nanos()));
            self.memory.open(span);
            self.queues.open(span, age);
            self.orphans.open(span, age, &self.last);
        }
        self.queues.end_segment();
        self.orphans.end_segment();
    }

    /// From which number on a rule finds something: what was said last counts.
    pub(crate) fn threshold(&self, rule: Rule) -> u64 {
        let said = self.thresholds.iter().rev().find(|threshold| threshold.rule == rule);
        said.map_or_else(|| rule.threshold(), |threshold| threshold.from)
    }

    /// Takes a line and what became of it.
    pub(crate) fn line(&mut self, at: &At, record: &Record<'_>, results: &[Paired], page_size: PageSize) {
        if at.forgeable {
            self.forgeable.add(at);
        }
        self.last = *at;
        let Ok(event) = &record.event else {
            return self.sign(&Evidence { malformed: 1, ..Evidence::default() }, at.forgeable);
        };
        self.gpu.event(at, event);
        self.queues.event(at, event);
        self.orphans.event(at, event);
        if let Event::DroppedEvents(dropped) = event
            && dropped.id() != kfd_smi_proto::DroppedEvents::NEW_ID
        {
            self.sign(&Evidence { dropped: dropped.count.into(), ..Evidence::default() }, at.forgeable);
        }
        for paired in results {
            self.memory.paired(at, paired, page_size);
            self.queues.paired(at, paired);
            self.orphans.paired(at, paired, results);
        }
    }

    /// Something besides lines tells that events are missing, behind the last line.
    pub(crate) fn evidence(&mut self, evidence: &Evidence) {
        self.sign(evidence, false);
    }

    fn sign(&mut self, evidence: &Evidence, forgeable: bool) {
        self.evidence.merge(evidence);
        if evidence.is_sign() {
            self.signs.add(&At { seq: self.last.seq.max(1), forgeable: false, ..self.last });
            self.signs.forgeable += if forgeable { evidence.count() } else { 0 };
        }
    }

    /// What was found, if the input ends here.
    pub(crate) fn found(&self, situation: &Situation<'_>, found: &mut Vec<Finding>) {
        let mut out = Sink { findings: self, situation, found };
        self.gpu.found(&mut out);
        self.memory.found(&mut out);
        self.queues.found(&mut out);
        let none = evidence::Orphans::new(self.expiry);
        let orphans = if self.is_partial { &none } else { &self.orphans };
        orphans.found(&self.evidence, &self.signs, &mut out);
        let (count, lines) = (self.forgeable.count, Count(self.forgeable.count, "line"));
        out.rule(Rule::ForgeableLines, [(count, Candidate::new(self.forgeable, None, None))].into_iter(), |_, _| {
            format!("{lines} could be forged: so close behind the name of a task that it could be part of the name")
        });
    }
}

/// Something that could be a finding.
#[derive(Clone, Debug)]
struct Candidate<T> {
    seen: Seen,
    gpu: Option<GpuId>,
    pid: Option<i64>,
    what: T,
}

impl Candidate<()> {
    const fn new(seen: Seen, gpu: Option<GpuId>, pid: Option<i64>) -> Self {
        Self { seen, gpu, pid, what: () }
    }
}

/// Where findings go.
struct Sink<'a, 'b> {
    findings: &'a Findings,
    situation: &'a Situation<'b>,
    found: &'a mut Vec<Finding>,
}

impl Sink<'_, '_> {
    /// Makes findings of those whose number is large enough: the heaviest first, and the rest together.
    fn rule<T>(
        &mut self,
        rule: Rule,
        candidates: impl Iterator<Item = (u64, Candidate<T>)>,
        text: impl Fn(&Situation<'_>, &Candidate<T>) -> String,
    ) {
        let from = self.findings.threshold(rule).max(1);
        let mut all: Vec<_> = candidates.filter(|(number, _)| *number >= from).map(|(_, one)| one).collect();
        all.sort_by_key(|one| (std::cmp::Reverse(one.seen.count), one.seen.first_seq, one.pid, one.gpu));
        for one in all.iter().take(MOST_NAMED) {
            self.push(rule, text(self.situation, one), one.seen, one.gpu, one.pid);
        }
        let rest = &all[all.len().min(MOST_NAMED)..];
        if !rest.is_empty() {
            let mut seen = Seen::default();
            rest.iter().for_each(|one| seen.merge(&one.seen));
            self.push(rule, format!("{} more of this kind", rest.len()), seen, None, None);
        }
    }

    fn push(&mut self, rule: Rule, mut text: String, seen: Seen, gpu: Option<GpuId>, pid: Option<i64>) {
        finish(&mut text, &seen, rule, self.situation.input);
        self.found.push(Finding { rule, text, seen, gpu, pid, context: vec![] });
    }
}

/// Adds what every text ends in.
fn finish(text: &mut String, seen: &Seen, rule: Rule, input: Option<&str>) {
    if seen.is_forgeable() && rule != Rule::ForgeableLines {
        text.push_str(" (could be forged)");
    }
    if let Some(input) = input {
        text.push_str(&format!(" [{input}]"));
    }
}

/// `on GPU 0x1ea0`, if it is known.
fn on(gpu: Option<GpuId>) -> String {
    gpu.map_or_else(String::new, |gpu| format!(" on GPU {gpu}"))
}
