//! Where something is missing in front of a record: [`Seam`].

use kfd_smi_proto::{Decoder, GpuId};

use super::error::{CaptureErrorKind, Mistake};
use super::fields::{Fields, decimal};

/// The longest name of a thread, and so the most that a line can leave for those behind it.
pub(super) const LONGEST_NAME: usize = 15;

/// What is known of the lines of a GPU that are missing before the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Seam {
    /// The next record goes on with a line whose beginning is missing.
    Open,
    /// The next record begins a line, and so many bytes of a name can stand from there on.
    Budget(usize),
}

impl Seam {
    pub(super) fn read(fields: &mut Fields<'_>) -> Result<(GpuId, Self), Mistake> {
        let gpu = fields.gpu()?;
        let seam = fields.read(CaptureErrorKind::Seam, |field| {
            if field == b"open" {
                return Some(Self::Open);
            }
            let budget = usize::try_from(decimal(field)?).ok()?;
            (budget <= LONGEST_NAME).then_some(Self::Budget(budget))
        })?;
        Ok((gpu, seam))
    }

    /// Brings a decoder that is not within a line to where it would be without the seam, and tells how many bytes it
    /// was given for that.
    pub(super) fn apply(self, decoder: &mut Decoder) -> u64 {
        match self {
            Self::Open => {
                // What fills its buffer is the first piece of a line.
                let room = decoder.buffer();
                let given = room.len();
                room.fill(b'x');
                decoder.advance(given);
                decoder.next_line();
                given as u64
            }
            Self::Budget(budget) => {
                // A line that fits no name ends the budget that there was; one with a name leaves what it does not use.
                let name = &[b'x'; LONGEST_NAME][budget..];
                let lines = [&[b'x'; LONGEST_NAME][..], b"\n", b"1 0:", name, b"\n"];
                let given = lines.iter().map(|bytes| decoder.feed(bytes)).sum::<usize>();
                while decoder.next_line().is_some() {}
                given as u64
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kfd_smi_proto::Part;

    #[test]
    fn a_budget_is_what_was_asked_for() {
        for budget in 0..=LONGEST_NAME {
            let forgeable = |length: usize| {
                let mut decoder = Decoder::new();
                decoder.feed(b"1 5:\n");
                decoder.next_line();
                Seam::Budget(budget).apply(&mut decoder);
                decoder.feed(&[b'x'; 20][..length]);
                decoder.feed(b"\n");
                decoder.next_line().unwrap().trust.is_forgeable()
            };
            for length in 0..18 {
                assert_eq!(forgeable(length), length < budget, "{length} bytes of {budget}");
            }
        }
    }

    #[test]
    fn an_open_line_goes_on() {
        let mut decoder = Decoder::new();
        let given = Seam::Open.apply(&mut decoder);
        decoder.feed(b"rest\n3 1\n");
        let rest = decoder.next_line().unwrap();
        assert_eq!((rest.bytes, rest.part, rest.offset), (b"rest".as_slice(), Part::Last, given));
        assert!(decoder.next_line().unwrap().event.is_ok());
    }
}
