//! Times for people and for machines: [`utc`], and the clock that the user chose.

use std::fmt;

use jiff::Timestamp;

use crate::cli::ClockChoice;
use crate::record::{Origin, Record};

/// Nanoseconds since 1970 as RFC 3339 has them, in UTC, with nine digits.
pub(crate) fn utc(nanos: i64) -> impl fmt::Display {
    let timestamp = Timestamp::from_nanosecond(nanos.into()).unwrap_or(Timestamp::MAX);
    format!("{timestamp:.9}")
}

/// The time of a record: the kernel's own if the line has one, else that of its arrival, with a `~` in front.
pub(crate) struct When<'a>(pub(crate) &'a Record<'a>, pub(crate) ClockChoice);

/// As wide as the widest of its kind: `~2026-12-01T10:36:40.123456789Z`, or ` 9999999.999999999`.
const WALL_WIDTH: usize = 31;
const OTHER_WIDTH: usize = 17;

impl fmt::Display for When<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(record, choice) = self;
        let Origin { arrival, clock, .. } = record.origin;
        let own = record.event.as_ref().ok().and_then(kfd_smi_proto::Event::time);
        let width = if *choice == ClockChoice::Wall { WALL_WIDTH } else { OTHER_WIDTH };
        let mark = if own.is_none() { "~" } else { "" };
        let shown = match (own.or(arrival), choice, clock) {
            (Some(time), ClockChoice::Boot, _) => format!("{mark}{time}"),
            (Some(time), ClockChoice::Wall, Some(clock)) => format!("{mark}{}", utc(clock.realtime_of(time))),
            (Some(time), ClockChoice::Mono, Some(clock)) => {
                format!("{mark}{}", seconds(clock.monotonic_of(time)))
            }
            // Without the clocks, the time since boot is all there is.
            (Some(time), ..) => format!("{mark}{time}"),
            (None, ..) => "-".to_owned(),
        };
        write!(f, "{shown:>width$}")
    }
}

/// Seconds with nine decimals, as the kernel's log has them.
fn seconds(nanos: i64) -> String {
    let sign = if nanos < 0 { "-" } else { "" };
    let nanos = nanos.unsigned_abs();
    format!("{sign}{}.{:09}", nanos / 1_000_000_000, nanos % 1_000_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_nine_digits() {
        assert_eq!(utc(0).to_string(), "1970-01-01T00:00:00.000000000Z");
        assert_eq!(utc(1_796_121_400_123_456_789).to_string(), "2026-12-01T10:36:40.123456789Z");
        assert_eq!(seconds(-1), "-0.000000001");
        assert_eq!(seconds(14_601_738_586_508), "14601.738586508");
    }
}
