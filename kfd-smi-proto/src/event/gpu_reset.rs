//! GPU_PRE_RESET, id 3, and GPU_POST_RESET, id 4: `"%x %s\n"`, since Linux 5.10.

use core::fmt;

use nom::Parser as _;

use crate::encode::Encoder;
use crate::grammar::{Parsed, hex32, trailing};
use crate::text::{ResetCause, Trailing};

/// A GPU is about to be reset, or was reset.
///
/// The kernel's format, behind the id, is `"%x %s\n"`, up to 6.10 `"%x\n"`:
/// `3 1 job hang on ring:gfx_0.0.0`. The line of a GPU that *was* reset has an empty cause: `4 1 `,
/// with a blank at its end.
///
/// | field | printed as | meaning |
/// |---|---|---|
/// | `reset_seq` | `%x` | counts the resets of the GPU, from 1; the same before and after |
/// | `cause` | `%s` | free text, since 6.11 |
///
/// The line has no time. A reset that fails has no end; after a reset, processes that were stopped stay so. Up to
/// 5.17 only the resets that a client was there to see are counted. Every partition of a GPU gets both.
///
/// ```
/// use kfd_smi_proto::{Event, parse_line};
///
/// let Ok(Event::GpuPreReset(reset)) = parse_line(b"3 1 HWS hang\n").event else { panic!() };
/// assert_eq!(reset.reset_seq, 1);
/// assert_eq!(reset.cause.unwrap().as_bytes(), b"HWS hang");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[doc(alias = "KFD_SMI_EVENT_GPU_PRE_RESET")]
#[doc(alias = "KFD_SMI_EVENT_GPU_POST_RESET")]
pub struct GpuReset<'a> {
    /// The number of the reset.
    pub reset_seq: u32,
    /// Why; `None` if the line ends behind the number, as it does up to 6.10.
    pub cause: Option<ResetCause<'a>>,
}

impl<'a> GpuReset<'a> {
    pub(crate) fn parse(input: &'a [u8]) -> Parsed<'a, Self> {
        // The cause takes the place that added fields have in other events: all behind a blank.
        let (input, (reset_seq, cause)) = (hex32, trailing).parse(input)?;
        Ok((input, Self { reset_seq, cause: cause.map(Trailing::as_bytes).map(ResetCause::of_line) }))
    }

    pub(crate) fn encode(&self, out: &mut Encoder<'_, 'a>) {
        out.hex(self.reset_seq).tail(self.cause.map(ResetCause::as_bytes));
    }
}

/// `1: job hang on ring:gfx_0.0.0`
impl fmt::Display for GpuReset<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.reset_seq)?;
        match self.cause {
            Some(cause) if !cause.as_bytes().is_empty() => write!(f, ": {cause}"),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::event::tests::{error_offset, shown, written};

    #[test]
    fn the_cause_is_kept_as_it_was() {
        for line in ["3 1", "4 ff", "3 1 job hang on ring:gfx_0.0.0", "4 1 ", "3 2  two blanks", "3 1 RAS\r"]
        {
            assert_eq!(written(line.as_bytes()), [line.as_bytes(), b"\n"].concat());
        }
        assert_eq!(shown(b"3 ff job hang"), "gpu_pre_reset 255: job hang");
        assert_eq!(shown(b"4 1 "), "gpu_post_reset 1");
        assert_eq!(shown(b"3 1 \x1b\xff"), r"gpu_pre_reset 1: \x1b\xff");
    }

    #[test]
    fn other_shapes_are_refused() {
        assert_eq!(error_offset(b"3 "), 2);
        assert_eq!(error_offset(b"3 1x"), 3);
        assert_eq!(error_offset(b"4 100000000"), 2);
        assert_eq!(error_offset(b"4 1\r"), 3);
    }
}
