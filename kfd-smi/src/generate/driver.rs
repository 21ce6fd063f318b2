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
        self.due = self.due.or(Some(self.away.max(now + latency)));
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
        let gpus = self.fifos.iter().filter(|fifo| fifo.bytes > 0).count() as u64;
        let mut rounds = 0;
        let mut turn = 0;
        for (gpu, fifo) in self.fifos.iter_mut().enumerate().filter(|(_, fifo)| fifo.bytes > 0) {
            let mut read = 0;
            let arrival = |read: usize| {
                let round = read.div_ceil(self.read_size).max(1) as u64;
                (round, now + ((round - 1) * gpus + turn) * READ + READ)
            };
            let is_full = self.read_size > ROOM && fifo.bytes >= self.fifo_size - ROOM;
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
            turn += 1;
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
