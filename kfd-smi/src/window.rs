//! A span of time that the user chose: [`Window`].

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use kfd_smi_proto::{BootNanos, Event};

use crate::amount::Count;
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
    /// The time of a record: that of its arrival, else its own, else that of the record before it. What could be forged
    /// has no time of its own: it would be that of genuine lines behind it, too.
    fn of(&mut self, record: &Record<'_>) -> Option<BootNanos> {
        let event = || record.event.as_ref().ok().filter(|_| !record.trust.is_forgeable());
        let own = || event().and_then(Event::time);
        self.0 = record.origin.arrival.or_else(own).or(self.0);
        self.0
    }
}

impl Window {
    /// Whether a record is in it; `None` if its time is not known.
    pub(crate) fn contains(&self, record: &Record<'_>, last: &mut LastTime) -> Option<bool> {
        let time = last.of(record);
        let is_before = |moment: Moment| match (moment, time, record.origin.clock) {
            (Moment::Boot(moment), Some(time), _) => Some(time < moment),
            (Moment::Wall(moment), Some(time), Some(clock)) => Some(clock.realtime_of(time) < moment),
            _ => None,
        };
        let is_behind = self.from.map_or(Some(true), |from| is_before(from).map(|is_before| !is_before));
        match (is_behind, self.to.map_or(Some(true), is_before)) {
            (Some(false), _) | (_, Some(false)) => Some(false),
            (is_behind, is_in_front) => Some(is_behind? && is_in_front?),
        }
    }

    /// Why so many lines were left out of which it is not known whether they are in it.
    pub(crate) fn left_out(&self, lines: u64) -> String {
        let wall = |moment: &Option<Moment>| matches!(moment, Some(Moment::Wall(_)));
        let lines = Count(lines, "line");
        if wall(&self.from) || wall(&self.to) {
            format!(
                "{lines} left out, because no time of day is known: only a capture has one, say seconds since boot"
            )
        } else {
            format!("{lines} left out, because no time is known: neither they nor lines before them have one")
        }
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
            assert_eq!(contains(window, Some(at(time))), Some(is_in), "{time}");
        }
        assert_eq!(contains(window, None), None);
        assert_eq!(contains(Window::default(), None), Some(true));
    }

    #[test]
    fn a_line_without_time_has_that_of_the_line_before() {
        let window = Window { from: Some(Moment::Boot(at(2))), to: None };
        let mut last = LastTime::default();
        let mut contains = |line: &[u8]| {
            window.contains(&Numbering::new(None).record(&parse_line(line), Origin::default()), &mut last)
        };
        assert_eq!(contains(b"3 1"), None);
        assert_eq!(contains(b"9 1 -2 3 4"), Some(false));
        assert_eq!(contains(b"3 1"), Some(false));
        assert_eq!(contains(b"9 2 -2 3 4"), Some(true));
        assert_eq!(contains(b"3 1"), Some(true));
    }

    #[test]
    fn a_forged_time_is_no_time() {
        let window = Window { from: Some(Moment::Boot(at(50))), to: None };
        let (mut last, mut numbering) = (LastTime::default(), Numbering::new(None));
        // The name of the second line holds the third; the fourth is genuine.
        let log = b"9 100 -2 3 4\n1 a:\n9 1 -2 3 4\n3 1 job hang\n";
        for line in kfd_smi_proto::lines(log) {
            assert_eq!(window.contains(&numbering.record(&line, Origin::default()), &mut last), Some(true));
        }
    }
}
