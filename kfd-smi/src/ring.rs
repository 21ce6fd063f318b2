//! What was read and is still to be written: [`Ring`].
//!
//! The thread that reads the driver must never wait for a disk: what it does not read in time, the driver drops without a
//! word. So it leaves what it read here, and another thread takes all of it at once. Only that exchange is
//! under a lock. What does not fit is counted.

use std::mem;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use kfd_smi_io::Record;
use kfd_smi_io::capture::GpuInfo;
use kfd_smi_proto::{BootNanos, GpuId, ParseError, Part, Trust, parse_line};

/// How many bytes of lines wait at the most.
const MOST_BYTES: usize = 16 << 20;

/// How many lines wait at the most: as many as fit if each is as short as an event can be.
const MOST_ITEMS: usize = MOST_BYTES / 16;

/// Something to write.
#[derive(Debug)]
pub(crate) enum Item {
    Line(Kept),
    /// The driver's buffer of this GPU was full.
    Full(GpuId),
    /// A GPU came.
    Gpu(GpuInfo),
    /// A GPU ended, for this reason.
    End(GpuId, String),
}

/// A record whose bytes are kept elsewhere.
#[derive(Debug)]
pub(crate) struct Kept {
    gpu: Option<GpuId>,
    arrival: Option<BootNanos>,
    length: usize,
    offset: u64,
    /// Why a piece of a line is no event.
    error: Option<ParseError>,
    trust: Trust,
    terminated: bool,
    part: Part,
    drained_before: bool,
}

impl Kept {
    pub(crate) fn new(record: &Record<'_>) -> Self {
        let line = &record.line;
        Self {
            gpu: record.gpu,
            arrival: record.arrival,
            length: line.bytes.len(),
            offset: line.offset,
            error: line.event.err(),
            trust: line.trust,
            terminated: line.terminated,
            part: line.part,
            drained_before: line.drained_before,
        }
    }

    /// When it came.
    pub(crate) const fn arrival(&self) -> Option<BootNanos> {
        self.arrival
    }

    /// The record, made again of its bytes.
    pub(crate) fn record<'a>(&self, bytes: &'a [u8]) -> Record<'a> {
        let mut line = parse_line(bytes);
        line.offset = self.offset;
        line.event = self.error.map_or(line.event, Err);
        line.trust = self.trust;
        line.terminated = self.terminated;
        line.part = self.part;
        line.drained_before = self.drained_before;
        Record::new(self.gpu, self.arrival, line)
    }
}

/// All that was there at one moment.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    items: Vec<Item>,
    bytes: Vec<u8>,
    /// How many records did not fit behind these.
    pub(crate) lost: u64,
}

/// An item with its bytes.
#[derive(Debug)]
pub(crate) enum Taken<'a> {
    Record(Record<'a>),
    Full(GpuId),
    Gpu(&'a GpuInfo),
    End(GpuId, &'a str),
}

impl Batch {
    /// In the order in which they were read.
    pub(crate) fn items(&self) -> impl Iterator<Item = Taken<'_>> {
        let mut rest = &self.bytes[..];
        self.items.iter().map(move |item| match item {
            Item::Line(kept) => {
                let (bytes, behind) = rest.split_at(kept.length);
                rest = behind;
                Taken::Record(kept.record(bytes))
            }
            Item::Full(gpu) => Taken::Full(*gpu),
            Item::Gpu(gpu) => Taken::Gpu(gpu),
            Item::End(gpu, reason) => Taken::End(*gpu, reason),
        })
    }

    fn is_empty(&self) -> bool {
        self.items.is_empty() && self.lost == 0
    }

    fn clear(&mut self) {
        self.items.clear();
        self.bytes.clear();
        self.lost = 0;
    }
}

/// What the writer is to do besides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Wishes {
    /// To go on in a file newly opened.
    pub(crate) reopen: bool,
    /// To end, when everything is written.
    pub(crate) stop: bool,
}

/// See the top of this file.
#[derive(Debug, Default)]
pub(crate) struct Ring {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    batch: Batch,
    wishes: Wishes,
}

impl Ring {
    /// Leaves a record; false if it did not fit.
    pub(crate) fn push(&self, record: &Record<'_>) -> bool {
        let mut state = self.lock();
        let batch = &mut state.batch;
        let bytes = record.line.bytes;
        // Behind a record that was lost, none may stand until the loss was written.
        let fits = batch.bytes.len() + bytes.len() <= MOST_BYTES
            && batch.items.len() < MOST_ITEMS
            && batch.lost == 0;
        if fits {
            batch.bytes.extend_from_slice(bytes);
            batch.items.push(Item::Line(Kept::new(record)));
        } else {
            batch.lost += u64::from(record.line.part.ends());
        }
        drop(state);
        self.changed.notify_one();
        fits
    }

    /// Leaves something else. There are few of them: they always fit.
    pub(crate) fn push_fact(&self, fact: Item) {
        self.lock().batch.items.push(fact);
        self.changed.notify_one();
    }

    pub(crate) fn wish(&self, wish: impl FnOnce(&mut Wishes)) {
        wish(&mut self.lock().wishes);
        self.changed.notify_one();
    }

    /// Takes all that is there, in exchange for the last batch, whose memory is used again. Waits for something, for at
    /// most this long.
    pub(crate) fn take(&self, batch: &mut Batch, timeout: Duration) -> Wishes {
        batch.clear();
        let state = self.lock();
        let nothing = |state: &mut State| state.batch.is_empty() && state.wishes == Wishes::default();
        let waited = self.changed.wait_timeout_while(state, timeout, nothing);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        mem::swap(&mut state.batch, batch);
        mem::take(&mut state.wishes)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A thread that panicked here left whole items.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn push(ring: &Ring, bytes: &[u8]) -> bool {
        ring.push(&Record::new(Some(GpuId(1)), BootNanos::new(5), parse_line(bytes)))
    }

    fn take(ring: &Ring, batch: &mut Batch) -> Wishes {
        ring.take(batch, Duration::ZERO)
    }

    #[test]
    fn what_was_left_is_taken_in_its_order() {
        let ring = Ring::default();
        assert!(push(&ring, b"3 1\n") && push(&ring, b"bad"));
        ring.push_fact(Item::Full(GpuId(1)));
        let mut batch = Batch::default();
        assert_eq!(take(&ring, &mut batch), Wishes::default());
        let items: Vec<_> = batch.items().collect();
        let [Taken::Record(first), Taken::Record(second), Taken::Full(GpuId(1))] = &items[..] else {
            panic!("{items:?}")
        };
        assert_eq!(*first, Record::new(Some(GpuId(1)), BootNanos::new(5), parse_line(b"3 1\n")));
        assert_eq!(*second, Record::new(Some(GpuId(1)), BootNanos::new(5), parse_line(b"bad")));
        ring.wish(|wishes| wishes.stop = true);
        assert!(take(&ring, &mut batch).stop);
        assert_eq!(batch.items().count(), 0);
        assert!(!take(&ring, &mut batch).stop, "a wish is granted once");
    }

    #[test]
    fn what_does_not_fit_is_counted_and_nothing_overtakes_it() {
        let ring = Ring::default();
        let long = vec![b'x'; MOST_BYTES - 3];
        assert!(push(&ring, &long));
        assert!(!push(&ring, b"3 1 job hang\n"));
        assert!(!push(&ring, b"3 1\n"), "it would fit, but stand in front of what was lost");
        let mut batch = Batch::default();
        take(&ring, &mut batch);
        assert_eq!((batch.items().count(), batch.lost), (1, 2));
        assert!(push(&ring, b"3 1\n"));
        take(&ring, &mut batch);
        assert_eq!((batch.items().count(), batch.lost), (1, 0));
    }
}
