// What the program makes of an input, and the host too: `tests/no_std.rs` includes this file.

use kfd_smi_proto::{Decoder, EncodeError, GpuId, Line, MAX_LINE, Paired, Pairer, Statistics, encode, lines};

/// What an input came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    pub lines: u64,
    pub events: u64,
    pub malformed: u64,
    /// Over every event as it is encoded, the offset of every error, what is known of every line, every result of
    /// pairing, and what statistics make of all.
    pub checksum: u64,
}

/// Decodes all that can be read, to the last byte, and encodes it again; `read` gives 0 at the end.
///
/// It goes through two decoders, so that all their code is in the program: one that holds every line, and the
/// smallest, which belongs to a GPU and gives long lines in pieces. Only the first one's lines are counted.
pub fn fold(mut read: impl FnMut(&mut [u8]) -> usize) -> Totals {
    let mut totals = Totals::default();
    let mut decoder: Decoder = Decoder::new();
    let mut small = Decoder::<128>::for_gpu(GpuId(0x1ea0));
    small.source_drained();
    let mut pairer: Pairer = Pairer::new();
    let mut statistics = Statistics::new();
    loop {
        let free = decoder.buffer();
        let n = read(free);
        let mut rest = free.get(..n).unwrap_or_default();
        while !rest.is_empty() {
            let fed = small.feed(rest);
            rest = rest.get(fed..).unwrap_or_default();
            while let Some(line) = small.next_line() {
                totals.mix_line(&line);
            }
            totals.mix(u64::from(small.has_line()));
        }
        decoder.advance(n);
        while let Some(line) = if n == 0 { decoder.finish() } else { decoder.next_line() } {
            totals.count(&line);
            totals.mix_line(&line);
            statistics.line(&line);
            pairer.pair(&line, None, None, |paired| {
                statistics.paired(&paired);
                totals.mix_paired(&paired);
            });
        }
        if n == 0 {
            while let Some(line) = small.finish() {
                totals.mix_line(&line);
            }
            pairer.open().for_each(|span| totals.mix(span.start.map_or(0, |time| time.nanos())));
            if totals.lines > 0 {
                totals.mix_statistics(&statistics);
            }
            return totals;
        }
    }
}

impl Totals {
    fn mix_paired(&mut self, paired: &Paired) {
        match paired {
            Paired::Interval(interval) => {
                self.mix(interval.duration().unwrap_or(1));
                self.mix(interval.elapsed().unwrap_or(2));
            }
            Paired::Abandoned(span, reason) => {
                self.mix(span.start.map_or(3, |time| time.nanos()));
                self.mix(*reason as u64);
            }
            Paired::Merged(kind) => self.mix(4 + *kind as u64),
            Paired::NestedEnd(kind) => self.mix(9 + *kind as u64),
            Paired::OrphanEnd(kind) => self.mix(14 + *kind as u64),
            _ => self.mix(19),
        }
    }

    fn mix_statistics(&mut self, statistics: &Statistics) {
        let mut twice = Statistics::new();
        twice.merge(statistics);
        twice.merge(statistics);
        for (_, count) in twice.kinds.iter() {
            self.mix(count);
        }
        for direction in [&twice.host_to_device, &twice.device_to_host] {
            self.mix(direction.total_pages as u64);
            self.mix(direction.total_nanos as u64);
        }
        for histogram in [&twice.faults.durations, &twice.queues.suspended] {
            self.mix(histogram.quantile(99, 100).unwrap_or(1));
        }
        self.mix(twice.span().unwrap_or(2));
    }

    fn count(&mut self, line: &Line<'_>) {
        let ended = u64::from(line.part.ends());
        self.lines = self.lines.wrapping_add(ended);
        match line.event {
            Ok(_) => self.events = self.events.wrapping_add(1),
            Err(_) => self.malformed = self.malformed.wrapping_add(ended),
        }
    }

    fn mix_line(&mut self, line: &Line<'_>) {
        match line.event {
            Ok(event) => {
                self.mix_encoded(encode(&event, &mut [0; MAX_LINE + 1]));
                self.mix_encoded(encode(&event, &mut [0; 16]));
            }
            Err(error) => {
                self.mix(error.offset as u64);
                self.mix(error.id.map_or(0, |id| u64::from(id.0)));
            }
        }
        for again in lines(line.bytes) {
            self.mix(u64::from(again.event == line.event));
        }
        self.mix(line.offset);
        let flags =
            [line.trust.is_forgeable(), line.trust.is_foreign(), line.terminated, line.drained_before];
        for flag in flags {
            self.mix(u64::from(flag));
        }
    }

    fn mix_encoded(&mut self, encoded: Result<&[u8], EncodeError>) {
        match encoded {
            Ok(bytes) => bytes.iter().for_each(|byte| self.mix(u64::from(*byte))),
            Err(EncodeError::BufferTooSmall { needed }) => self.mix(needed as u64),
            Err(_) => self.mix(u64::MAX),
        }
    }

    /// One step of FNV-1a, for a whole number.
    fn mix(&mut self, value: u64) {
        self.checksum = (self.checksum ^ value).wrapping_mul(0x0000_0100_0000_01b3);
    }
}
