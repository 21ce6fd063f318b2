// What the program makes of an input, and the host too: `tests/no_std.rs` includes this file.

use kfd_smi_proto::{Decoder, MAX_LINE, Paired, Pairer, Statistics, encode};

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

/// Decodes all that can be read, to the last byte; `read` gives 0 at the end.
pub fn fold(mut read: impl FnMut(&mut [u8]) -> usize) -> Totals {
    let mut totals = Totals::default();
    let mut decoder: Decoder = Decoder::new();
    let mut buffer = [0; MAX_LINE + 1];
    let mut pairer: Pairer = Pairer::new();
    let mut statistics = Statistics::new();
    loop {
        let n = read(decoder.buffer());
        decoder.advance(n);
        while let Some(line) = if n == 0 { decoder.finish() } else { decoder.next_line() } {
            totals.lines = totals.lines.wrapping_add(u64::from(line.part.ends()));
            match line.event {
                Ok(event) => {
                    totals.events = totals.events.wrapping_add(1);
                    for byte in encode(&event, &mut buffer).unwrap_or_default() {
                        totals.mix(u64::from(*byte));
                    }
                }
                Err(error) => {
                    totals.malformed = totals.malformed.wrapping_add(u64::from(line.part.ends()));
                    totals.mix(error.offset as u64);
                    totals.mix(error.id.map_or(0, |id| u64::from(id.0)));
                }
            }
            statistics.line(&line);
            pairer.pair(&line, None, None, |paired| {
                statistics.paired(&paired);
                totals.mix_paired(&paired);
            });
            totals.mix(line.offset);
            totals.mix(u64::from(line.trust.is_forgeable()) << 1 | u64::from(line.terminated));
        }
        if n == 0 {
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

    /// One step of FNV-1a, for a whole number.
    fn mix(&mut self, value: u64) {
        self.checksum = (self.checksum ^ value).wrapping_mul(0x0000_0100_0000_01b3);
    }
}
