// What the program makes of an input, and the host too: `tests/no_std.rs` includes this file.

use kfd_smi_proto::{Decoder, MAX_LINE, encode};

/// What an input came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    pub lines: u64,
    pub events: u64,
    pub malformed: u64,
    /// Over every event as it is encoded, the offset of every error, and what is known of every line.
    pub checksum: u64,
}

/// Decodes all that can be read, to the last byte; `read` gives 0 at the end.
pub fn fold(mut read: impl FnMut(&mut [u8]) -> usize) -> Totals {
    let mut totals = Totals::default();
    let mut decoder: Decoder = Decoder::new();
    let mut buffer = [0; MAX_LINE + 1];
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
            totals.mix(line.offset);
            totals.mix(u64::from(line.trust.is_forgeable()) << 1 | u64::from(line.terminated));
        }
        if n == 0 {
            return totals;
        }
    }
}

impl Totals {
    /// One step of FNV-1a, for a whole number.
    fn mix(&mut self, value: u64) {
        self.checksum = (self.checksum ^ value).wrapping_mul(0x0000_0100_0000_01b3);
    }
}
