//! Several captures in the order of their times: [`Merging`].

use kfd_smi_io::capture::Header;
use kfd_smi_io::{Clock, Record};

use crate::ring::Kept;

/// Holds the next record of each capture and gives the earliest.
///
/// Captures of one boot are compared by arrival, others by wall-clock time. The order within a capture stays.
#[derive(Debug)]
pub(crate) struct Merging {
    sources: Vec<Source>,
}

#[derive(Debug, Default)]
struct Source {
    next: Option<(Kept, Option<Clock>)>,
    bytes: Vec<u8>,
    boot_id: Option<Vec<u8>>,
    ended: bool,
}

/// A record, and the capture it is of.
#[derive(Debug)]
pub(crate) struct Taken {
    pub(crate) source: usize,
    pub(crate) kept: Kept,
    pub(crate) bytes: Vec<u8>,
    pub(crate) clock: Option<Clock>,
}

impl Merging {
    pub(crate) fn new(sources: usize) -> Self {
        Self { sources: (0..sources).map(|_| Source::default()).collect() }
    }

    /// Whether a record of this capture is needed to tell which is the earliest.
    pub(crate) fn wants(&self, source: usize) -> bool {
        self.sources[source].next.is_none() && !self.sources[source].ended
    }

    pub(crate) fn put(&mut self, source: usize, record: &Record<'_>, clock: Option<Clock>) {
        let source = &mut self.sources[source];
        source.bytes.clear();
        source.bytes.extend_from_slice(record.line.bytes);
        source.next = Some((Kept::new(record), clock));
    }

    /// A capture begins, or goes on in another boot.
    pub(crate) fn segment(&mut self, source: usize, header: &Header) {
        self.sources[source].boot_id = header.boot_id.as_ref().map(|id| id.as_bytes().to_vec());
    }

    pub(crate) fn end(&mut self, source: usize) {
        self.sources[source].ended = true;
    }

    /// The earliest record; of equal ones, that of the capture named first.
    pub(crate) fn take(&mut self) -> Option<Taken> {
        let mut waiting = self.sources.iter().filter(|source| source.next.is_some());
        let first = waiting.next().and_then(|source| source.boot_id.as_ref());
        let is_one_boot = first.is_some() && waiting.all(|source| source.boot_id.as_ref() == first);
        let key = |source: &Source| {
            let (kept, clock) = source.next.as_ref()?;
            let arrival = kept.arrival()?;
            Some(match clock {
                Some(clock) if !is_one_boot => clock.realtime_of(arrival),
                _ => arrival.nanos().cast_signed(),
            })
        };
        let waiting = self.sources.iter().enumerate().filter(|(_, source)| source.next.is_some());
        let (source, _) = waiting.min_by_key(|(number, source)| (key(source), *number))?;
        let (kept, clock) = self.sources[source].next.take()?;
        let bytes = std::mem::take(&mut self.sources[source].bytes);
        Some(Taken { source, kept, bytes, clock })
    }

    /// Takes the memory of a record again.
    pub(crate) fn give_back(&mut self, source: usize, bytes: Vec<u8>) {
        self.sources[source].bytes = bytes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kfd_smi_proto::{BootNanos, GpuId, parse_line};

    fn merged(boot_ids: [&str; 2], offsets: [i64; 2]) -> Vec<usize> {
        let mut merging = Merging::new(2);
        let mut arrivals = [vec![30, 20, 10], vec![25, 15]];
        for (number, id) in boot_ids.iter().enumerate() {
            let mut header = Header::default();
            header.boot_id = Some((*id).into());
            merging.segment(number, &header);
        }
        let mut order = vec![];
        loop {
            for (number, arrivals) in arrivals.iter_mut().enumerate() {
                if merging.wants(number) {
                    let Some(arrival) = arrivals.pop() else {
                        merging.end(number);
                        continue;
                    };
                    let record = Record::new(Some(GpuId(1)), BootNanos::new(arrival), parse_line(b"3 1\n"));
                    let zero = BootNanos::MIN;
                    merging.put(
                        number,
                        &record,
                        Some(Clock { boot: zero, realtime: offsets[number], monotonic: 0 }),
                    );
                }
            }
            let Some(taken) = merging.take() else { return order };
            order.push(taken.source);
            merging.give_back(taken.source, taken.bytes);
        }
    }

    #[test]
    fn one_boot_is_ordered_by_arrival_and_several_by_the_wall_clock() {
        assert_eq!(merged(["a", "a"], [1000, 0]), [0, 1, 0, 1, 0]);
        assert_eq!(merged(["a", "b"], [0, 0]), [0, 1, 0, 1, 0]);
        assert_eq!(merged(["a", "b"], [1000, 0]), [1, 1, 0, 0, 0]);
    }
}
