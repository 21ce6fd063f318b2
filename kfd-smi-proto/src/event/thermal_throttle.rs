//! THERMAL_THROTTLE, id 2: `"%llx:%llx\n"`, since Linux 5.10.

use core::fmt;

use nom::Parser as _;

use crate::encode::Encoder;
use crate::grammar::{Parsed, colon, hex64, trailing};
use crate::text::Trailing;
use crate::throttle::Throttlers;

/// The GPU reduced its clocks, for the reasons given.
///
/// The kernel's format, behind the id, is `"%llx:%llx\n"`, up to 5.14 `"%x:%llx\n"`: `2 1400000000:1a`.
///
/// | field | printed as | meaning |
/// |---|---|---|
/// | `bitmask` | `%llx` | the reasons, named from 5.15 on: see [`Throttlers`] |
/// | `counter` | `%llx` | thermal interrupts since the driver was loaded |
///
/// The line has no time. Only MI100, MI200 and MI300 send it, on a partitioned GPU the first partition alone;
/// it is rate-limited with the driver's log, and not sent while that is switched off, so the counter can jump.
///
/// ```
/// use kfd_smi_proto::{Event, parse_line};
///
/// let Ok(Event::ThermalThrottle(throttle)) = parse_line(b"2 1400000000:1a\n").event else { panic!() };
/// assert_eq!(throttle.bitmask.to_string(), "TEMP_MEM TEMP_HOTSPOT");
/// assert_eq!(throttle.counter, 26);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[doc(alias = "KFD_SMI_EVENT_THERMAL_THROTTLE")]
pub struct ThermalThrottle<'a> {
    /// The reasons.
    pub bitmask: Throttlers,
    /// Thermal interrupts since the driver was loaded.
    pub counter: u64,
    /// What a newer kernel adds.
    pub trailing: Option<Trailing<'a>>,
}

impl<'a> ThermalThrottle<'a> {
    pub(crate) fn parse(input: &'a [u8]) -> Parsed<'a, Self> {
        let (input, (bitmask, _, counter, trailing)) = (hex64, colon, hex64, trailing).parse(input)?;
        Ok((input, Self { bitmask: Throttlers(bitmask), counter, trailing }))
    }

    pub(crate) fn encode(&self, out: &mut Encoder<'_, 'a>) {
        out.hex64(self.bitmask.0)
            .literal(b":")
            .hex64(self.counter)
            .tail(self.trailing.map(Trailing::as_bytes));
    }
}

/// `TEMP_MEM TEMP_HOTSPOT, interrupt 26`
impl fmt::Display for ThermalThrottle<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, interrupt {}", self.bitmask, self.counter)
    }
}

#[cfg(test)]
mod tests {
    use crate::event::tests::{error_offset, shown, written};

    #[test]
    fn both_numbers_have_64_bits() {
        assert_eq!(shown(b"2 40:0"), "thermal_throttle SPPT, interrupt 0");
        assert_eq!(
            shown(b"2 8000000000000000:ffffffffffffffff"),
            "thermal_throttle bit63, interrupt 18446744073709551615"
        );
        assert_eq!(shown(b"2 0:1 5 x"), "thermal_throttle none, interrupt 1 +\"5 x\"");
        assert_eq!(written(b"2 1400000000:1a"), b"2 1400000000:1a\n");
        assert_eq!(written(b"2 0:1 "), b"2 0:1 \n");
    }

    #[test]
    fn other_shapes_are_refused() {
        assert_eq!(error_offset(b"2 40"), 4);
        assert_eq!(error_offset(b"2 40:"), 5);
        assert_eq!(error_offset(b"2 40:0x"), 6);
        assert_eq!(error_offset(b"2 40:10000000000000000"), 5);
    }
}
