//! A span of time that the user chose: [`Window`].

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use kfd_smi_proto::{BootNanos, Event};

use crate::record::Record;

/// A moment as the user wrote it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moment {
    /// Nanoseconds since 1970.
    Wall(i64),
    /// Nanoseconds since boot.
    Boot(BootNanos),
}

impl Moment {
    /// Reads `2026-12-01T10:36:40Z`, the same without zone (UTC), or seconds since boot.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let wrong = || {
            "expected a time such as 2026-12-01T10:36:40Z, or seconds since boot such as 14601.7".to_owned()
        };
        if let Some(boot) = boot(text) {
            return Ok(Self::Boot(boot));
        }
        let timestamp = text.parse::<Timestamp>().ok().or_else(|| {
            let local: DateTime = text.parse().ok()?;
            Some(local.to_zoned(TimeZone::UTC).ok()?.timestamp())
        });
        let nanos = timestamp.ok_or_else(wrong)?.as_nanosecond();
        i64::try_from(nanos).map(Self::Wall).map_err(|_| wrong())
    }
}

/// Seconds with up to nine decimals, exactly.
fn boot(text: &str) -> Option<BootNanos> {
    let (seconds, decimals) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(seconds) || !digits(decimals) || decimals.len() > 9 {
        return None;
    }
    let nanos = format!("{decimals:0<9}").parse::<u64>().ok()?;
    BootNanos::new(seconds.parse::<u64>().ok()?.checked_mul(1_000_000_000)?.checked_add(nanos)?)
}

/// From a moment up to another, which is no longer in it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Window {
    pub(crate) from: Option<Moment>,
    pub(crate) to: Option<Moment>,
}

/// What is known of the time of an input so far.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LastTime(Option<BootNanos>);

impl LastTime {
    /// The time of a record: that of its arrival, else its own, else that of the record before it.
    fn of(&mut self, record: &Record<'_>) -> Option<BootNanos> {
        let own = || record.event.as_ref().ok().and_then(Event::time);
        self.0 = record.origin.arrival.or_else(own).or(self.0);
        self.0
    }
}

impl Window {
    /// Whether a record is in it. One of which no time is known is in no window.
    pub(crate) fn contains(&self, record: &Record<'_>, last: &mut LastTime) -> bool {
        let time = last.of(record);
        let is_before = |moment: Moment| match (moment, time, record.origin.clock) {
            (Moment::Boot(moment), Some(time), _) => Some(time < moment),
            (Moment::Wall(moment), Some(time), Some(clock)) => Some(clock.realtime_of(time) < moment),
            _ => None,
        };
        self.from.is_none_or(|from| is_before(from) == Some(false))
            && self.to.is_none_or(|to| is_before(to) == Some(true))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Numbering, Origin};
    use kfd_smi_io::Clock;
    use kfd_smi_proto::parse_line;

    fn at(nanos: u64) -> BootNanos {
        BootNanos::new(nanos).unwrap()
    }

    #[test]
    fn moments_are_read_exactly() {
        assert_eq!(Moment::parse("14601.7"), Ok(Moment::Boot(at(14_601_700_000_000))));
        assert_eq!(Moment::parse("5"), Ok(Moment::Boot(at(5_000_000_000))));
        assert_eq!(Moment::parse("0.000000001"), Ok(Moment::Boot(at(1))));
        let wall = Ok(Moment::Wall(1_796_121_400_000_000_000));
        assert_eq!(Moment::parse("2026-12-01T10:36:40Z"), wall);
        assert_eq!(Moment::parse("2026-12-01T11:36:40+01:00"), wall);
        assert_eq!(Moment::parse("2026-12-01 10:36:40"), wall);
        for wrong in ["", "-1", "1.", ".5", "1.0000000001", "yesterday", "99999999999999", "1e3"] {
            assert!(Moment::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_window_is_half_open() {
        let clock = Some(Clock { boot: at(0), realtime: 1000, monotonic: 0 });
        let contains = |window: Window, arrival| {
            let line = parse_line(b"3 1\n");
            let origin = Origin { gpu: None, arrival, clock };
            window.contains(&Numbering::new(None).record(&line, origin), &mut LastTime::default())
        };
        let window = Window { from: Some(Moment::Boot(at(5))), to: Some(Moment::Wall(1010)) };
        for (time, is_in) in [(4, false), (5, true), (9, true), (10, false)] {
            assert_eq!(contains(window, Some(at(time))), is_in, "{time}");
        }
        assert!(!contains(window, None));
        assert!(contains(Window::default(), None));
    }

    #[test]
    fn a_line_without_time_has_that_of_the_line_before() {
        let window = Window { from: Some(Moment::Boot(at(2))), to: None };
        let mut last = LastTime::default();
        let mut contains = |line: &[u8]| {
            window.contains(&Numbering::new(None).record(&parse_line(line), Origin::default()), &mut last)
        };
        assert!(!contains(b"3 1"));
        assert!(!contains(b"9 1 -2 3 4"));
        assert!(contains(b"9 2 -2 3 4"));
        assert!(contains(b"3 1"));
    }
}
