//! What was begun and not ended: [`Spans`].

use std::collections::BTreeMap;

use kfd_smi_proto::{Event, GpuId, Pid};

/// Who waits longer than this for the end of a migration or fault waits in vain, in nanoseconds.
const IN_VAIN: u64 = 10_000_000_000;

/// What begins and ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Migrate,
    PageFault,
    Queue,
    Reset,
    Process,
}

/// What ends with its process.
const OF_PROCESSES: [Kind; 3] = [Kind::Migrate, Kind::PageFault, Kind::Queue];

/// What both lines of a span have in common, besides the GPU that carried them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    kind: Kind,
    pid: i32,
    /// Whatever else there is, as plain numbers.
    rest: [u64; 5],
}

#[derive(Clone, Copy, Debug)]
struct Open {
    time: Option<u64>,
    /// How many evictions there are to be restored.
    depth: u64,
    is_forgeable: bool,
}

/// How many spans of a kind had no end, and how many ends had no span.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Unpaired {
    pub(super) starts: u64,
    pub(super) ends: u64,
}

/// A span that ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ended {
    pub(super) kind: Kind,
    /// From the last time it was begun; `None` if that has no time, or a process could have made it up.
    pub(super) nanos: Option<u64>,
}

/// Those that are open, and what became of the others.
#[derive(Debug, Default)]
pub(super) struct Spans {
    open: BTreeMap<(Option<GpuId>, Key), Open>,
    unpaired: BTreeMap<Kind, Unpaired>,
}

enum Edge {
    Begin(Key),
    End(Key),
}

impl Edge {
    fn of(event: &Event<'_>) -> Option<Self> {
        let key = |kind, pid: Pid, rest| Key { kind, pid: pid.0, rest };
        let reset = |seq: u32| key(Kind::Reset, Pid(0), [seq.into(), 0, 0, 0, 0]);
        Some(match event {
            Event::MigrateStart(start) => Self::Begin(migration(&start.migration())),
            Event::MigrateEnd(end) => Self::End(migration(&end.migration())),
            Event::PageFaultStart(fault) => {
                Self::Begin(key(Kind::PageFault, fault.pid, [fault.page.0, fault.node.0.into(), 0, 0, 0]))
            }
            Event::PageFaultEnd(fault) => {
                Self::End(key(Kind::PageFault, fault.pid, [fault.page.0, fault.node.0.into(), 0, 0, 0]))
            }
            Event::QueueEviction(eviction) => {
                Self::Begin(key(Kind::Queue, eviction.pid, [eviction.node.0.into(), 0, 0, 0, 0]))
            }
            Event::QueueRestore(restore) if !super::is_put_off(restore) => {
                Self::End(key(Kind::Queue, restore.pid, [restore.node.0.into(), 0, 0, 0, 0]))
            }
            Event::GpuPreReset(pre) => Self::Begin(reset(pre.reset_seq)),
            Event::GpuPostReset(post) => Self::End(reset(post.reset_seq)),
            Event::ProcessStart(process) => Self::Begin(key(Kind::Process, process.pid, [0; 5])),
            Event::ProcessEnd(process) => Self::End(key(Kind::Process, process.pid, [0; 5])),
            _ => return None,
        })
    }
}

fn migration(migration: &kfd_smi_proto::Migration) -> Key {
    let kfd_smi_proto::Migration { pid, range, from, to, trigger } = migration;
    let trigger = trigger.0.unsigned_abs().into();
    let rest = [range.start.0, range.count.0, from.0.into(), to.0.into(), trigger];
    Key { kind: Kind::Migrate, pid: pid.0, rest }
}

impl Spans {
    pub(super) fn unpaired(&self, kind: Kind) -> Unpaired {
        let open = self.open.keys().filter(|(_, key)| key.kind == kind).count() as u64;
        let Unpaired { starts, ends } = self.unpaired.get(&kind).copied().unwrap_or_default();
        Unpaired { starts: starts + open, ends }
    }

    /// Takes what begins or ends something; gives what ended.
    pub(super) fn event(
        &mut self,
        gpu: Option<GpuId>,
        event: &Event<'_>,
        is_forgeable: bool,
    ) -> Option<Ended> {
        let time = event.time().map(|time| time.nanos());
        match Edge::of(event)? {
            Edge::Begin(key) => {
                self.begin(gpu, key, Open { time, depth: 1, is_forgeable });
                None
            }
            Edge::End(key) if is_forgeable => {
                self.of(key.kind).ends += 1;
                None
            }
            Edge::End(key) => self.end(gpu, key, time),
        }
    }

    fn of(&mut self, kind: Kind) -> &mut Unpaired {
        self.unpaired.entry(kind).or_default()
    }

    fn begin(&mut self, gpu: Option<GpuId>, key: Key, new: Open) {
        if key.kind == Kind::Reset && !new.is_forgeable {
            // Nothing on that GPU goes on behind a reset, not even an earlier one.
            self.give_up(gpu, &OF_PROCESSES, None);
            self.give_up(gpu, &[Kind::Reset], None);
        }
        let Some(old) = self.open.get_mut(&(gpu, key)) else {
            self.open.insert((gpu, key), new);
            return;
        };
        if new.is_forgeable {
            // Nothing that is open already is begun by what could be forged.
        } else if old.is_forgeable {
            *old = new;
        } else if waits_in_vain(key.kind, old.time, new.time) {
            *old = new;
            self.of(key.kind).starts += 1;
        } else if key.kind == Kind::Queue {
            old.depth += 1;
        } else {
            old.time = new.time;
        }
    }

    fn end(&mut self, gpu: Option<GpuId>, key: Key, time: Option<u64>) -> Option<Ended> {
        if key.kind == Kind::Process {
            self.give_up(gpu, &OF_PROCESSES, Some(key.pid));
        }
        let Some(old) = self.open.get_mut(&(gpu, key)) else {
            self.of(key.kind).ends += 1;
            return None;
        };
        if old.depth > 1 {
            old.depth -= 1;
            return None;
        }
        let Open { time: begun, is_forgeable, .. } = *old;
        self.open.remove(&(gpu, key));
        if waits_in_vain(key.kind, begun, time) {
            let unpaired = self.of(key.kind);
            unpaired.starts += 1;
            unpaired.ends += 1;
            return None;
        }
        let nanos = begun.zip(time).map(|(begun, time)| time.saturating_sub(begun));
        Some(Ended { kind: key.kind, nanos: nanos.filter(|_| !is_forgeable) })
    }

    /// A process and its thread are gone from a GPU: what is open of it will never end.
    pub(super) fn gone(&mut self, gpu: Option<GpuId>, pid: Pid, tid: Pid) {
        self.give_up(gpu, &OF_PROCESSES, Some(pid.0));
        self.give_up(gpu, &[Kind::Process], Some(tid.0));
    }

    /// What is open of these kinds on a GPU, of one process or all, will never end.
    fn give_up(&mut self, gpu: Option<GpuId>, kinds: &[Kind], pid: Option<i32>) {
        for kind in kinds.iter().copied() {
            let first = Key { kind, pid: pid.unwrap_or(i32::MIN), rest: [u64::MIN; 5] };
            let last = Key { kind, pid: pid.unwrap_or(i32::MAX), rest: [u64::MAX; 5] };
            let keys: Vec<_> = self.open.range((gpu, first)..=(gpu, last)).map(|(key, _)| *key).collect();
            self.of(kind).starts += keys.len() as u64;
            keys.iter().for_each(|key| _ = self.open.remove(key));
        }
    }
}

fn waits_in_vain(kind: Kind, begun: Option<u64>, now: Option<u64>) -> bool {
    let waited = begun.zip(now).map(|(begun, now)| now.saturating_sub(begun));
    matches!(kind, Kind::Migrate | Kind::PageFault) && waited.is_some_and(|waited| waited > IN_VAIN)
}
