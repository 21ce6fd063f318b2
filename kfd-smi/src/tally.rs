//! What lines come to, whatever they come from: [`Tally`].

use std::collections::BTreeMap;
use std::mem;
use std::time::Duration;

use kfd_smi_io::Record as IoRecord;
use kfd_smi_io::capture::{Entry, Text};
use kfd_smi_proto::{
    Activity, BootNanos, Event, EventCounts, GpuId, Line, Location, PageSize, Paired, Pairer, Pid, SpanKind,
    Statistics,
};

use crate::bounded::{Bounded, Weight};
use crate::cli::Judge;
use crate::finding::{At, Evidence, Finding, Findings, Resets, Situation};
use crate::record::Record;

/// So many GPUs are told apart; beyond, the less busy half becomes `other`.
const MOST_GPUS: usize = 1024;

/// So many processes are told apart; beyond, the less busy half becomes `other`.
const MOST_PIDS: usize = 16384;

/// So much of the name of a process is kept.
const MOST_NAME: usize = 64;

/// Counts the lines of all inputs.
///
/// It takes the same memory however many there are: what grows with the number of GPUs and processes is in maps that
/// have limits.
#[derive(Debug)]
pub(crate) struct Tally {
    /// As the user said, else as each machine has it.
    page_size: Option<PageSize>,
    /// For each size of pages, of which there are 64 at most: sizes are counted in pages.
    parts: BTreeMap<u64, Box<Statistics>>,
    pairer: Box<Pairer<4096>>,
    expiry: Duration,
    /// What became of the current line.
    results: Vec<Paired>,
    gpus: Bounded<Option<GpuId>, Group, MOST_GPUS>,
    other_gpus: Group,
    pids: Bounded<i64, Group, MOST_PIDS>,
    other_pids: Group,
    resets: Resets,
    /// Of the lines that could be forged.
    pub(crate) forgeable: EventCounts,
    pub(crate) forgeable_malformed: u64,
    /// All of it, of all inputs.
    evidence: Evidence,
    findings: Findings,
    found: Vec<Finding>,
    /// The input, where there are several, and how many there were.
    input: Option<String>,
    inputs: u64,
    /// The boot of the segment, if there was one and it says so.
    boot: Option<Option<Text>>,
    /// The latest time of the kernel in this segment.
    last_time: Option<BootNanos>,
    /// The earliest and the latest of all.
    first_and_last: Option<(BootNanos, BootNanos)>,
    /// Lines that were left out because their time is not known.
    pub(crate) left_out: u64,
}

/// What lines of one GPU or one process come to.
#[derive(Clone, Debug, Default)]
pub(crate) struct Group {
    pub(crate) counts: EventCounts,
    events: u64,
    /// Bytes of migrations that were paired and did not fail.
    pub(crate) to_device: u128,
    pub(crate) to_host: u128,
    /// How long queues were suspended, of pairs.
    pub(crate) suspended: u128,
    /// How often a process began to use GPUs: several GPUs report one and the same.
    pub(crate) processes: u64,
    /// On how many GPUs it is just now.
    alive: u64,
    pub(crate) name: Option<Box<[u8]>>,
}

impl Weight for Group {
    fn weight(&self) -> u64 {
        self.events
    }
}

impl Group {
    pub(crate) const fn events(&self) -> u64 {
        self.events
    }

    fn count(&mut self, event: &Event<'_>) {
        self.counts.count(event);
        self.events += 1;
        match event {
            Event::ProcessStart(_) => {
                self.processes += u64::from(self.alive == 0);
                self.alive += 1;
            }
            Event::ProcessEnd(_) => self.alive = self.alive.saturating_sub(1),
            _ => {}
        }
        if let Some(name) = event.task_name() {
            self.call(name.as_bytes());
        }
    }

    fn call(&mut self, name: &[u8]) {
        if self.name.is_none() && !name.is_empty() {
            self.name = Some(name[..name.len().min(MOST_NAME)].into());
        }
    }

    fn paired(&mut self, paired: &Paired, page_size: PageSize) {
        let Paired::Interval(interval) = paired else { return };
        match interval.span.activity {
            Activity::Migrate { migration, error_code, .. } if error_code.is_none_or(|code| code == 0) => {
                let bytes = u128::from(migration.range.count.0) * u128::from(page_size.bytes());
                match (migration.from, migration.to) {
                    (Location::SYSTEM, _) => self.to_device += bytes,
                    (_, Location::SYSTEM) => self.to_host += bytes,
                    _ => {}
                }
            }
            Activity::Queue { .. } if !interval.span.forgeable => {
                self.suspended += u128::from(interval.duration().unwrap_or(0));
            }
            _ => {}
        }
    }

    fn merge(&mut self, other: &Self) {
        self.counts.merge(&other.counts);
        self.events += other.events;
        self.to_device += other.to_device;
        self.to_host += other.to_host;
        self.suspended += other.suspended;
        self.processes += other.processes;
    }
}

impl Tally {
    /// `is_partial`: whether events are left out, so that a missing one means nothing.
    pub(crate) fn new(page_size: Option<PageSize>, judge: &Judge, is_partial: bool) -> Self {
        Self {
            page_size,
            parts: BTreeMap::new(),
            pairer: Box::new(Pairer::with_expiry(judge.expiry)),
            expiry: judge.expiry,
            results: vec![],
            gpus: Bounded::default(),
            other_gpus: Group::default(),
            pids: Bounded::default(),
            other_pids: Group::default(),
            resets: Resets::new(judge.before_reset.into()),
            forgeable: EventCounts::default(),
            forgeable_malformed: 0,
            evidence: Evidence::default(),
            findings: Findings::new(&judge.thresholds, judge.expiry, is_partial),
            found: vec![],
            input: None,
            inputs: 0,
            boot: None,
            last_time: None,
            first_and_last: None,
            left_out: 0,
        }
    }

    /// Another input begins, of this name.
    pub(crate) fn begin(&mut self, name: &str) {
        self.end_segment();
        self.end_input();
        self.boot = None;
        self.input = Some(name.to_owned());
        self.inputs += 1;
        self.resets.begin();
    }

    fn end_segment(&mut self) {
        self.findings.end_segment(self.pairer.open(), self.last_time.take());
        // What is open counts as unpaired already.
        if self.pairer.open().next().is_some() {
            *self.pairer = Pairer::with_expiry(self.expiry);
        }
    }

    fn end_input(&mut self) {
        self.found = self.findings();
        self.findings.clear();
    }

    /// Takes what a capture says besides records.
    pub(crate) fn fact(&mut self, entry: &Entry<'_>) {
        let mut evidence = Evidence::default();
        match entry {
            Entry::Segment(header) => {
                let boot = header.boot_id.clone();
                match self.boot.replace(boot.clone()) {
                    None => {}
                    // The same boot goes on, and so do its spans; but nobody looked in between.
                    Some(before) if before.is_some() && before == boot => evidence.restarts = 1,
                    Some(_) => {
                        self.end_segment();
                        self.resets.begin();
                        evidence.boots = 1;
                    }
                }
            }
            Entry::Process(process) => {
                if let Some(group) = self.pids.get_mut(&process.pid.0.into()) {
                    // The name of the process, where so far there may be that of a thread.
                    if !process.comm.as_bytes().is_empty() {
                        group.name = None;
                    }
                    group.call(process.comm.as_bytes());
                }
            }
            Entry::Lost(records) => evidence.lost = *records,
            Entry::Full(_) => evidence.full = 1,
            Entry::End(..) => evidence.ended = 1,
            _ => {}
        }
        self.add_evidence(&evidence);
    }

    /// The driver's buffer of a GPU was full.
    pub(crate) fn full(&mut self) {
        self.add_evidence(&Evidence { full: 1, ..Evidence::default() });
    }

    /// A GPU is watched no more.
    pub(crate) fn ended(&mut self) {
        self.add_evidence(&Evidence { ended: 1, ..Evidence::default() });
    }

    /// A line of a capture is none of what stands in one.
    pub(crate) fn malformed_file_line(&mut self) {
        self.add_evidence(&Evidence { malformed: 1, ..Evidence::default() });
    }

    fn add_evidence(&mut self, evidence: &Evidence) {
        self.evidence.merge(evidence);
        self.findings.evidence(evidence);
    }

    /// Takes a line, or a piece of one, of a machine with pages of this size, if it is known.
    pub(crate) fn record(&mut self, source: &IoRecord<'_>, record: &Record<'_>, page_size: Option<PageSize>) {
        let line = &source.line;
        if !line.part.ends() {
            return;
        }
        let page_size = self.page_size.or(page_size).unwrap_or(PageSize::FOUR_KIB);
        let mut results = mem::take(&mut self.results);
        self.pairer.pair(line, source.gpu, source.arrival, |paired| results.push(paired));
        let part = self.parts.entry(page_size.bytes()).or_insert_with(|| Box::new(Statistics::new()));
        part.line(line);
        results.iter().for_each(|paired| part.paired(paired));
        // A time that could be forged is none.
        let event = line.event.as_ref().ok().filter(|_| !line.trust.is_forgeable());
        if let Some(time) = event.and_then(Event::time) {
            self.last_time = self.last_time.max(Some(time));
            self.first_and_last = Some(match self.first_and_last {
                Some((first, last)) => (first.min(time), last.max(time)),
                None => (time, time),
            });
        }
        let at = At::new(record, self.last_time);
        self.group(line, source.gpu, &results, page_size);
        self.resets.line(&at, record, &results, self.input.as_deref());
        self.findings.line(&at, record, &results, page_size);
        results.clear();
        self.results = results;
    }

    fn group(&mut self, line: &Line<'_>, gpu: Option<GpuId>, results: &[Paired], page_size: PageSize) {
        let Ok(event) = &line.event else {
            self.forgeable_malformed += u64::from(line.trust.is_forgeable());
            return;
        };
        if line.trust.is_forgeable() {
            self.forgeable.count(event);
        }
        let Self { gpus, other_gpus, pids, other_pids, .. } = self;
        let gpu = gpus.entry(gpu.or_else(|| event.gpu()), Group::default, |gone| other_gpus.merge(&gone));
        gpu.count(event);
        results.iter().for_each(|paired| gpu.paired(paired, page_size));
        if let Some(pid) = shown_pid(event) {
            let group = pids.entry(pid, Group::default, |gone| other_pids.merge(&gone));
            group.count(event);
            results.iter().for_each(|paired| group.paired(paired, page_size));
        }
    }

    /// Each size of pages in bytes, with what was counted on machines that have it.
    pub(crate) fn parts(&self) -> impl Iterator<Item = (u64, &Statistics)> {
        self.parts.iter().map(|(bytes, statistics)| (*bytes, &**statistics))
    }

    /// All of it, for all that is not counted in pages.
    pub(crate) fn whole(&self) -> Box<Statistics> {
        let mut whole = Box::new(Statistics::new());
        self.parts().for_each(|(_, part)| whole.merge(part));
        whole
    }

    /// How many STARTs had to go because too many waited for their END.
    pub(crate) fn given_up(&self) -> u64 {
        let of =
            |part: &Statistics| SpanKind::ALL.map(|kind| part.pairs.of(kind).pushed_out).iter().sum::<u64>();
        self.parts().map(|(_, part)| of(part)).sum()
    }

    /// What each GPU comes to, in the order of their ids, those that are not known last, and the rest together.
    pub(crate) fn gpus(&self) -> (Vec<(Option<GpuId>, &Group)>, &Group) {
        let mut gpus: Vec<_> = self.gpus.by_weight().into_iter().map(|(gpu, group)| (*gpu, group)).collect();
        gpus.sort_by_key(|(gpu, _)| (gpu.is_none(), *gpu));
        (gpus, &self.other_gpus)
    }

    /// What the busiest processes come to, this many at most, the busiest first, and the rest together; and how many
    /// are in the rest, at least.
    pub(crate) fn pids(&self, most: usize) -> (Vec<(i64, &Group)>, Group, usize) {
        let mut pids: Vec<_> = self.pids.by_weight().into_iter().map(|(pid, group)| (*pid, group)).collect();
        let mut other = self.other_pids.clone();
        let rest = pids.split_off(pids.len().min(most));
        rest.iter().for_each(|(_, group)| other.merge(group));
        (pids, other, rest.len())
    }

    /// Names the busiest processes that have no name yet, as `/proc` has it.
    pub(crate) fn call(&mut self, most: usize, name: impl Fn(Pid) -> Text) {
        let (busiest, ..) = self.pids(most);
        let nameless: Vec<_> =
            busiest.into_iter().filter(|(_, group)| group.name.is_none()).map(|(pid, _)| pid).collect();
        for pid in nameless {
            if let (Ok(number), Some(group)) = (i32::try_from(pid), self.pids.get_mut(&pid)) {
                group.call(name(Pid(number)).as_bytes());
            }
        }
    }

    /// What tells that events are missing.
    pub(crate) const fn evidence(&self) -> &Evidence {
        &self.evidence
    }

    /// Nanoseconds from the first to the last line; `None` also if they are not of one boot: then their times have
    /// nothing to do with each other. What could be forged has no part in it.
    pub(crate) fn span(&self) -> Option<u64> {
        let (first, last) = self.first_and_last.filter(|_| self.inputs <= 1 && self.evidence.boots == 0)?;
        Some(last.nanos() - first.nanos())
    }

    pub(crate) const fn resets(&self) -> &Resets {
        &self.resets
    }

    /// What stands out so far.
    pub(crate) fn findings(&self) -> Vec<Finding> {
        let mut found = self.found.clone();
        let situation = Situation {
            name: &|pid| self.pids.get(&pid).and_then(|group| group.name.as_deref()),
            input: self.input.as_deref(),
        };
        let mut findings = self.findings.clone();
        findings.end_segment(self.pairer.open(), self.last_time);
        findings.found(&situation, &mut found);
        found
    }

    /// Those of all inputs, resets among them.
    pub(crate) fn all_findings(&self) -> Vec<Finding> {
        let mut found = self.findings();
        self.resets.found(self.findings.threshold(crate::finding::Rule::GpuReset), &mut found);
        found.sort_by_key(|finding| finding.rule);
        found
    }
}

/// The pid as a record shows it: a thread's cannot be negative.
pub(crate) fn shown_pid(event: &Event<'_>) -> Option<i64> {
    let pid = event.pid()?;
    Some(match event {
        Event::VmFault(_) | Event::ProcessStart(_) | Event::ProcessEnd(_) => pid.as_unsigned().into(),
        _ => pid.0.into(),
    })
}
