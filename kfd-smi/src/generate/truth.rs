//! What the log means, known from what was meant: [`Truth`].
//!
//! It keeps its own books while events are made up, and knows nothing of how they are read, paired or counted
//! elsewhere. So it is a second opinion on whatever makes statistics of the log. What the reader of the driver never
//! got, because it was lost, is not in it but as the finding `lost_events`.

use std::collections::BTreeMap;

use kfd_smi_proto::{Access, Event, FaultOutcome, GpuId, Location, Pid, QueueRestore};

use super::driver::Inserted;

mod durations;
mod pids;
mod report;
mod spans;

use durations::Durations;
use pids::Pids;
use report::Finding;
use spans::{Ended, Kind, Spans};

/// How many events of each name there are.
pub(super) type Counts = BTreeMap<&'static str, u64>;

/// The longest name of a thread.
const LONGEST_NAME: usize = 15;

/// How many resets are listed.
const MOST_RESETS: usize = 256;

/// The books.
#[derive(Debug)]
pub(crate) struct Truth {
    /// Whether the log says which GPU carried a line, as captures do.
    knows_gpus: bool,
    lines: u64,
    events: u64,
    malformed: u64,
    unknown: u64,
    forgeable: u64,
    /// The earliest and the latest time of the kernel.
    times: Option<(u64, u64)>,
    kinds: Counts,
    gpus: BTreeMap<Option<GpuId>, Counts>,
    pids: Pids,
    /// How many bytes of a name can still follow, for each GPU.
    budgets: BTreeMap<GpuId, usize>,
    spans: Spans,
    migrations: [Direction; 3],
    triggers: Counts,
    read: u64,
    write: u64,
    migrated: u64,
    updated: u64,
    handled: Durations,
    evictions: Counts,
    restores: u64,
    rescheduled: u64,
    suspended: Durations,
    resets: Vec<Reset>,
    lost: Finding,
    forged: Finding,
}

/// Migrations in a direction.
#[derive(Clone, Copy, Debug, Default)]
struct Direction {
    count: u64,
    failed: u64,
    min_pages: Option<u64>,
    max_pages: Option<u64>,
    pages: u128,
    nanos: u128,
}

#[derive(Debug)]
struct Reset {
    gpu: Option<GpuId>,
    reset_seq: u32,
    cause: Option<String>,
    completed: bool,
}

impl Truth {
    /// Of nothing yet.
    pub(crate) fn new(knows_gpus: bool) -> Self {
        Self {
            knows_gpus,
            lines: 0,
            events: 0,
            malformed: 0,
            unknown: 0,
            forgeable: 0,
            times: None,
            kinds: Counts::new(),
            gpus: BTreeMap::new(),
            pids: Pids::default(),
            budgets: BTreeMap::new(),
            spans: Spans::default(),
            migrations: [Direction::default(); 3],
            triggers: Counts::new(),
            read: 0,
            write: 0,
            migrated: 0,
            updated: 0,
            handled: Durations::default(),
            evictions: Counts::new(),
            restores: 0,
            rescheduled: 0,
            suspended: Durations::default(),
            resets: vec![],
            lost: Finding::LOST,
            forged: Finding::FORGED,
        }
    }

    /// The reader got an event of a GPU, whole.
    pub(crate) fn event(&mut self, gpu: GpuId, inserted: &Inserted) {
        if inserted.lost > 0 {
            self.lost.add(inserted.lost, self.lines + 1);
        }
        if inserted.drained && self.knows_gpus {
            // What comes behind an empty buffer is no rest of a name; but a raw log does not tell of that.
            self.budgets.remove(&gpu);
        }
        let text = inserted.bytes();
        let first = text.iter().position(|byte| *byte == b'\n').unwrap_or(text.len());
        self.line(gpu, &text[..first], Some(&inserted.emission.event));
        for (line, event) in inserted.emission.name.into_iter().flat_map(|name| name.forged()) {
            self.forged.add(1, self.lines + 1);
            self.line(gpu, line, event.as_ref());
        }
    }

    /// Events were lost behind the last one.
    pub(crate) fn lost(&mut self, events: u64) {
        if events > 0 {
            self.lost.add(events, self.lines);
        }
    }

    /// A process and its thread are gone from a GPU.
    pub(crate) fn gone(&mut self, gpu: GpuId, pid: Pid, tid: Pid) {
        self.spans.gone(self.carrier(gpu), pid, tid);
        self.pids.gone(pid);
        self.pids.gone(tid);
    }

    /// Which GPU a line is known to come from.
    fn carrier(&self, gpu: GpuId) -> Option<GpuId> {
        self.knows_gpus.then_some(gpu)
    }

    fn line(&mut self, gpu: GpuId, line: &[u8], event: Option<&Event<'static>>) {
        self.lines += 1;
        let budget = self.budgets.remove(&gpu).unwrap_or(0);
        let is_forgeable = line.len() < budget && !line.contains(&0);
        let mut budget = if is_forgeable { budget - line.len() - 1 } else { 0 };
        if let Some(name) = event.and_then(Event::task_name) {
            budget = budget.max(LONGEST_NAME - name.as_bytes().len());
        }
        self.budgets.insert(gpu, budget);
        self.forgeable += u64::from(is_forgeable);
        let Some(event) = event else {
            self.malformed += 1;
            return;
        };
        self.count(gpu, event);
        self.pair(self.carrier(gpu), event, is_forgeable);
    }

    /// What counts by the line alone.
    fn count(&mut self, gpu: GpuId, event: &Event<'static>) {
        self.events += 1;
        let name = event.name();
        *self.kinds.entry(name).or_default() += 1;
        let about = self.carrier(gpu).or_else(|| node(event));
        *self.gpus.entry(about).or_default().entry(name).or_default() += 1;
        if let Some(pid) = event.pid() {
            self.pids.count(pid, name);
        }
        if let Some(time) = event.time().map(|time| time.nanos()) {
            let (first, last) = self.times.unwrap_or((time, time));
            self.times = Some((first.min(time), last.max(time)));
        }
        match event {
            Event::Unknown(_) => self.unknown += 1,
            Event::PageFaultStart(fault) if fault.access == Access::READ => self.read += 1,
            Event::PageFaultStart(_) => self.write += 1,
            Event::PageFaultEnd(fault) if fault.outcome == FaultOutcome::MIGRATED => self.migrated += 1,
            Event::PageFaultEnd(_) => self.updated += 1,
            Event::QueueEviction(eviction) => {
                *self.evictions.entry(eviction.trigger.name().unwrap_or("other")).or_default() += 1;
            }
            Event::QueueRestore(restore) if is_put_off(restore) => self.rescheduled += 1,
            Event::QueueRestore(_) => self.restores += 1,
            _ => {}
        }
        if let Event::GpuPreReset(reset) = event {
            if self.resets.len() == MOST_RESETS {
                self.resets.remove(0);
            }
            let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
            let cause = reset.cause.map(|cause| text(cause.as_bytes()));
            let gpu = self.carrier(gpu);
            self.resets.push(Reset { gpu, reset_seq: reset.reset_seq, cause, completed: false });
        }
    }

    /// What begins or ends something.
    fn pair(&mut self, gpu: Option<GpuId>, event: &Event<'static>, is_forgeable: bool) {
        let Some(ended) = self.spans.event(gpu, event, is_forgeable) else { return };
        let Ended { kind, nanos } = ended;
        match (kind, event) {
            (Kind::Migrate, Event::MigrateEnd(end)) => {
                let direction = match (end.from, end.to) {
                    (Location::SYSTEM, _) => 0,
                    (_, Location::SYSTEM) => 1,
                    _ => 2,
                };
                let direction = &mut self.migrations[direction];
                if end.error_code().is_some_and(|code| code != 0) {
                    direction.failed += 1;
                    return;
                }
                let pages = end.range.count.0;
                direction.count += 1;
                direction.min_pages = Some(direction.min_pages.map_or(pages, |least| least.min(pages)));
                direction.max_pages = Some(direction.max_pages.map_or(pages, |most| most.max(pages)));
                direction.pages += u128::from(pages);
                direction.nanos += u128::from(nanos.unwrap_or(0));
                *self.triggers.entry(end.trigger.name().unwrap_or("other")).or_default() += 1;
            }
            (Kind::PageFault, _) => nanos.into_iter().for_each(|nanos| self.handled.add(nanos)),
            (Kind::Queue, _) => nanos.into_iter().for_each(|nanos| self.suspended.add(nanos)),
            (Kind::Reset, Event::GpuPostReset(post)) => {
                let mut resets = self.resets.iter_mut().rev();
                let reset = resets.find(|reset| (reset.gpu, reset.reset_seq) == (gpu, post.reset_seq));
                reset.into_iter().for_each(|reset| reset.completed = true);
            }
            _ => {}
        }
    }
}

fn is_put_off(restore: &QueueRestore<'_>) -> bool {
    restore.restore().byte() == Some(b'R')
}

/// The GPU that an event names, where the one that carried it is not known.
fn node(event: &Event<'_>) -> Option<GpuId> {
    let device =
        |from: Location, to: Location| Some(GpuId(if from == Location::SYSTEM { to.0 } else { from.0 }));
    match event {
        Event::MigrateStart(start) => device(start.from, start.to),
        Event::MigrateEnd(end) => device(end.from, end.to),
        Event::PageFaultStart(fault) => Some(fault.node),
        Event::PageFaultEnd(fault) => Some(fault.node),
        Event::QueueEviction(eviction) => Some(eviction.node),
        Event::QueueRestore(restore) => Some(restore.node),
        Event::UnmapFromGpu(unmap) => Some(unmap.node),
        _ => None,
    }
}
