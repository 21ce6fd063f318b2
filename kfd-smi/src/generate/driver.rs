//! The driver's buffers, and whoever reads them: [`Driver`].

use std::collections::VecDeque;

use kfd_smi_proto::{Pid, encode};

use super::kernel::Kernel;
use super::plan::Emission;
use super::rng::Rng;

/// The most bytes of an event: MIGRATE_START has 85, a name 15.
const LONGEST: usize = 128;

/// A read that leaves less room than the longest event says that events may have been lost.
const ROOM: usize = 96;

/// What a read of each buffer and a poll of all take, in nanoseconds.
const READ: u64 = 700;
const POLL: u64 = 300;

/// A fifo for each GPU, and a process that reads them when it was woken.
#[derive(Debug)]
pub(crate) struct Driver {
    fifos: Vec<Fifo>,
    fifo_size: usize,
    read_size: usize,
    /// When the buffers will be read; `None` while they are empty.
    due: Option<u64>,
    /// The reader does not read before.
    away: u64,
    /// When it last saw buffers empty.
    polled: u64,
}

/// The buffer of a GPU's file descriptor.
#[derive(Debug, Default)]
struct Fifo {
    entries: VecDeque<Entry>,
    bytes: usize,
    /// How many events were lost since one was inserted.
    lost: u64,
}

#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "nearly all of them are events")]
enum Entry {
    Event(Inserted),
    Gone(Pid, Pid),
}

/// An event in a buffer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Inserted {
    pub(crate) emission: Emission,
    text: [u8; LONGEST],
    length: usize,
    /// Whether the reader had seen the buffer empty before.
    pub(crate) drained: bool,
    /// How many events of this GPU were lost just before.
    pub(crate) lost: u64,
}

impl Inserted {
    fn new(emission: Emission) -> Option<Self> {
        let mut text = [0; LONGEST];
        let mut length = encode(&emission.event, &mut text).ok()?.len();
        if let Some(name) = emission.name {
            // No event can have such a name, for its lines are events of their own: so it is written by hand.
            let rest = &name.bytes[name.first().len()..];
            length -= 1;
            text[length..length + rest.len()].copy_from_slice(rest);
            text[length + rest.len()] = b'\n';
            length += rest.len() + 1;
        }
        Some(Self { emission, text, length, drained: false, lost: 0 })
    }

    /// What the driver prints, newline included.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.text[..self.length]
    }
}

/// What the reader gets.
#[derive(Debug)]
pub(crate) struct Delivery {
    /// In which of several reads in a row, from 1.
    round: u64,
    pub(crate) gpu: usize,
    /// When the read returned.
    pub(crate) arrival: u64,
    pub(crate) what: Delivered,
}

#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "nearly all of them are events")]
pub(crate) enum Delivered {
    /// The read left no room in the buffer: what follows is what it gave.
    Full,
    Event(Inserted),
    /// A process is gone.
    Gone(Pid, Pid),
}

impl Driver {
    pub(crate) fn new(kernel: Kernel, gpus: usize) -> Self {
        let fifos = (0..gpus).map(|_| Fifo::default()).collect();
        let (fifo_size, read_size) = (kernel.fifo_size(), kernel.read_size());
        Self { fifos, fifo_size, read_size, due: None, away: 0, polled: 0 }
    }

    /// When the reader will read, if there is something to be read.
    pub(crate) const fn due(&self) -> Option<u64> {
        self.due
    }

    /// The reader does something else up to a time.
    pub(crate) fn leave(&mut self, until: u64) {
        self.away = self.away.max(until);
        self.due = self.due.map(|due| due.max(until));
    }

    /// Whether the reader must read now so that an event finds room. While it is away, it cannot.
    pub(crate) fn is_short_of_room(&self, gpu: usize, now: u64) -> bool {
        now >= self.away && self.fifos[gpu].bytes + LONGEST > self.fifo_size
    }

    /// Inserts an event, or loses it without a word.
    pub(crate) fn insert(&mut self, gpu: usize, now: u64, emission: Emission, rng: &mut Rng) {
        let Some(mut inserted) = Inserted::new(emission) else { return };
        let latency = if rng.once_in(16) { rng.range(100_000, 900_000) } else { rng.range(4_000, 60_000) };
        let fifo = &mut self.fifos[gpu];
        if fifo.bytes + inserted.length > self.fifo_size {
            fifo.lost += 1;
            return;
        }
        inserted.drained = fifo.bytes == 0 && now > self.polled;
        inserted.lost = std::mem::take(&mut fifo.lost);
        fifo.bytes += inserted.length;
        fifo.entries.push_back(Entry::Event(inserted));
        self.due = self.due.or_else(|| Some(self.away.max(now + latency)));
    }

    /// A process is gone: that is said behind the events that are there.
    pub(crate) fn gone(&mut self, now: u64, pid: Pid, tid: Pid, deliveries: &mut Vec<Delivery>) {
        for (gpu, fifo) in self.fifos.iter_mut().enumerate() {
            if fifo.entries.is_empty() {
                deliveries.push(Delivery { round: 0, gpu, arrival: now, what: Delivered::Gone(pid, tid) });
            } else {
                fifo.entries.push_back(Entry::Gone(pid, tid));
            }
        }
    }

    /// Reads all buffers until they are empty: one read each, and again where a read gives but 8 bytes.
    pub(crate) fn read(&mut self, now: u64, deliveries: &mut Vec<Delivery>) {
        let now = now.max(self.polled);
        let read_size = self.read_size;
        let is_ready = |(_, fifo): &(usize, &mut Fifo)| fifo.bytes > 0;
        let gpus = self.fifos.iter_mut().enumerate().filter(is_ready).count() as u64;
        let mut rounds = 0;
        for (turn, (gpu, fifo)) in (0..).zip(self.fifos.iter_mut().enumerate().filter(is_ready)) {
            let mut read = 0;
            let arrival = |read: usize| {
                let round = read.div_ceil(read_size).max(1) as u64;
                (round, now + ((round - 1) * gpus + turn) * READ + READ)
            };
            let is_full = read_size > ROOM && fifo.bytes >= self.fifo_size - ROOM;
            if is_full {
                let (round, arrival) = arrival(0);
                deliveries.push(Delivery { round, gpu, arrival, what: Delivered::Full });
            }
            for entry in fifo.entries.drain(..) {
                let what = match entry {
                    Entry::Event(inserted) => {
                        read += inserted.length;
                        Delivered::Event(inserted)
                    }
                    Entry::Gone(pid, tid) => Delivered::Gone(pid, tid),
                };
                let (round, arrival) = arrival(read);
                rounds = rounds.max(round);
                deliveries.push(Delivery { round, gpu, arrival, what });
            }
            fifo.bytes = 0;
        }
        // The lines of all GPUs are said as they were completed.
        deliveries.sort_by_key(|delivery| (delivery.round, delivery.gpu));
        self.polled = now + rounds * gpus * READ + POLL;
        self.due = None;
    }

    /// How many events were lost behind the last ones of their GPUs.
    pub(crate) fn lost(&self) -> u64 {
        self.fifos.iter().map(|fifo| fifo.lost).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::names::{HOSTILE, ORDINARY};
    use crate::generate::plan::{Plan, What};
    use crate::generate::world::World;

    /// What the driver prints for threads with these names, one event after the other.
    fn inserted(seed: u64) -> Vec<Vec<u8>> {
        let (mut world, mut steps) = (World::new(seed, Kernel::V6_19, 1), VecDeque::new());
        let tid = world.new_pid();
        let mut plan = Plan::new(&mut world, &mut steps, 1);
        for _ in 0..60 {
            let names = if plan.world.rng.once_in(3) { ORDINARY } else { HOSTILE };
            let name = &names[plan.world.rng.index(names.len())];
            match plan.world.rng.below(5) {
                0 => plan.process_start(0, tid, name),
                1 => plan.process_end(0, tid, name),
                2 => plan.post_reset(0),
                _ => plan.vm_fault(0, tid, name),
            }
        }
        let events = steps.into_iter().filter_map(|step| match step.what {
            What::Event(_, emission) => Inserted::new(emission),
            _ => None,
        });
        events.map(|event| event.bytes().strip_suffix(b"\n").unwrap().to_vec()).collect()
    }

    /// The law of the library, on events whose beginnings are known.
    #[test]
    fn what_the_driver_did_not_begin_is_marked() {
        for seed in 0..200 {
            kfd_smi_testkit::laws::forged_lines_are_marked(&inserted(seed));
        }
    }

    fn event() -> Emission {
        let (mut world, mut steps) = (World::new(1, Kernel::V6_19, 1), VecDeque::new());
        let pid = world.new_pid();
        Plan::new(&mut world, &mut steps, 1).vm_fault(0, pid, &ORDINARY[0]);
        match steps[0].what {
            What::Event(_, emission) => emission,
            _ => panic!("no event"),
        }
    }

    #[test]
    fn a_full_buffer_loses_whole_events_and_the_newest() {
        let (mut driver, mut rng) = (Driver::new(Kernel::V6_12, 1), Rng::new(1));
        driver.leave(1_000_000);
        let length = Inserted::new(event()).unwrap().length;
        let fit = 1024 / length;
        for now in 0..100 {
            assert!(!driver.is_short_of_room(0, now), "nobody is there to make room");
            driver.insert(0, now, event(), &mut rng);
        }
        assert_eq!((driver.due(), driver.lost()), (Some(1_000_000), 100 - fit as u64));
        let mut deliveries = vec![];
        driver.read(1_000_000, &mut deliveries);
        assert!(matches!(deliveries[0].what, Delivered::Full));
        assert_eq!(deliveries.len(), 1 + fit);
        driver.insert(0, 2_000_000, event(), &mut rng);
        deliveries.clear();
        driver.read(3_000_000, &mut deliveries);
        let Delivered::Event(inserted) = &deliveries[0].what else { panic!() };
        assert_eq!((inserted.lost, inserted.drained, driver.lost()), (100 - fit as u64, true, 0));
    }

    /// Up to 5.17, a line takes several reads, and each GPU is read in turn.
    #[test]
    fn reads_of_eight_bytes_complete_lines_of_all_gpus_in_turns() {
        let (mut driver, mut rng) = (Driver::new(Kernel::V5_10, 2), Rng::new(1));
        for gpu in [0, 0, 1, 1] {
            driver.insert(gpu, 10, event(), &mut rng);
        }
        let mut deliveries = vec![];
        driver.read(100, &mut deliveries);
        assert_eq!(deliveries.iter().map(|delivery| delivery.gpu).collect::<Vec<_>>(), [0, 1, 0, 1]);
        assert!(deliveries.is_sorted_by(|one, next| one.arrival < next.arrival));
        let rounds = Inserted::new(event()).unwrap().length.div_ceil(8) as u64;
        assert_eq!(deliveries[0].arrival, 100 + (rounds - 1) * 2 * READ + READ);
    }
}
