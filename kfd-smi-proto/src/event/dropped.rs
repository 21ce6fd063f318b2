//! DROPPED_EVENT, id 12 or 14: `"%lld -%d %d\n"`, in no released kernel.

use core::fmt;

use nom::Parser as _;

use crate::encode::Encoder;
use crate::event::Inconsistent;
use crate::field::{BootNanos, Pid};
use crate::grammar::{Parsed, decimal_u32, dropped_events_shape, stamp};
use crate::id::EventId;

/// The driver had no room for some events of a process.
///
/// The format, behind the id, is `"%lld -%d %d\n"`: `e 14601738586508 -152990 5`.
///
/// | field | printed as | meaning |
/// |---|---|---|
/// | `time` | `%lld` | nanoseconds since boot |
/// | `pid` | `-%d` | the process |
/// | `count` | `%d` | how many events were lost |
///
/// No released kernel prints it: development trees of autumn 2024 did under id 12, now PROCESS_START, and
/// AMD's rocprofiler-sdk expects it under id 14, which no kernel has settled. A line of id 12 is this event only
/// if its first number has nine digits or more, which no pid has, and the rest fits too; one of id 14 only if
/// it has this shape, and its `count` is a guess.
///
/// ```
/// use kfd_smi_proto::{Event, parse_line};
///
/// let Ok(Event::DroppedEvents(dropped)) = parse_line(b"c 14601738586508 -152990 5\n").event else { panic!() };
/// assert_eq!(dropped.count, 5);
/// assert!(matches!(parse_line(b"c 2559e -152990 5\n").event, Ok(Event::ProcessStart(_))));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[doc(alias = "KFD_SMI_EVENT_DROPPED_EVENT")]
pub struct DroppedEvents {
    id: EventId,
    /// When.
    pub time: BootNanos,
    /// The process whose events were lost.
    pub pid: Pid,
    /// How many.
    pub count: u32,
}

/// A pid in hexadecimal has at most eight digits: a longer number is a time.
const SHORTEST_TIME: usize = 9;

impl DroppedEvents {
    /// The id that the event had until it was withdrawn.
    pub const OLD_ID: EventId = EventId(12);

    /// The id that rocprofiler-sdk expects.
    pub const NEW_ID: EventId = EventId(14);

    /// A report of lost events, under one of the two ids.
    ///
    /// # Errors
    ///
    /// [`Inconsistent`] if the id is another one.
    pub const fn new(id: EventId, time: BootNanos, pid: Pid, count: u32) -> Result<Self, Inconsistent> {
        match id {
            Self::OLD_ID | Self::NEW_ID => Ok(Self { id, time, pid, count }),
            _ => Err(Inconsistent),
        }
    }

    /// 12 or 14.
    #[must_use]
    pub const fn id(&self) -> EventId {
        self.id
    }

    /// Whether a line with this id and rest has the shape of the event.
    pub(crate) fn is_shape_of(id: EventId, input: &[u8]) -> bool {
        match id {
            Self::OLD_ID => dropped_events_shape(input).is_some_and(|digits| digits >= SHORTEST_TIME),
            Self::NEW_ID => dropped_events_shape(input).is_some(),
            _ => false,
        }
    }

    pub(crate) fn parse(id: EventId, input: &[u8]) -> Parsed<'_, Self> {
        let (input, ((time, pid), count)) = (stamp, decimal_u32).parse(input)?;
        Ok((input, Self { id, time, pid, count }))
    }

    pub(crate) fn encode(&self, out: &mut Encoder<'_, '_>) {
        // With fewer digits, the line of the old id would be read as PROCESS_START.
        let digits = if self.id == Self::OLD_ID { SHORTEST_TIME } else { 1 };
        out.padded(self.time.nanos(), digits)
            .literal(b" ")
            .pid(self.pid)
            .literal(b" ")
            .decimal(self.count.into());
    }
}

/// `at 14601.738586508 pid 152990, 5 events`
impl fmt::Display for DroppedEvents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at {} pid {}, {} events", self.time, self.pid, self.count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::tests::{error_offset, event, shown, written};
    use crate::{Event, ParseErrorKind};

    #[test]
    fn the_shape_decides() {
        assert_eq!(
            shown(b"c 14601738586508 -152990 5"),
            "dropped_events at 14601.738586508 pid 152990, 5 events"
        );
        assert_eq!(shown(b"e 1 -2 3"), "dropped_events at 0.000000001 pid 2, 3 events");
        assert_eq!(written(b"e 1 -2 3"), b"e 1 -2 3\n");
        for process in
            [b"c 12345678 -1 5".as_slice(), b"c 000000001 -1 5x", b"c 00000000a -1 5", b"c 000000001 1 5"]
        {
            assert!(matches!(event(process), Event::ProcessStart(_)));
        }
        for unknown in [b"e 1 -2 -3".as_slice(), b"e 1 -2 3 ", b"e 1 -2 3\r", b"e 1a -2 3", b"e "] {
            assert!(matches!(event(unknown), Event::Unknown(_)));
        }
    }

    #[test]
    fn a_number_outside_its_limits_is_an_error_where_the_shape_is_right() {
        assert_eq!(error_offset(b"e 9223372036854775808 -1 5"), 2);
        assert_eq!(error_offset(b"e 1 -2147483649 5"), 5);
        assert_eq!(error_offset(b"c 100000000 -1 4294967296"), 15);
        let error = crate::parse_line(b"e 1 -2 99999999999").event.unwrap_err();
        assert_eq!(error.kind, ParseErrorKind::OutOfRange);
    }

    #[test]
    fn what_would_be_read_otherwise_cannot_be_made() {
        assert!(DroppedEvents::new(EventId(12), BootNanos::MAX, Pid(1), 2).is_ok());
        assert!(DroppedEvents::new(EventId(14), BootNanos::MAX, Pid(1), 2).is_ok());
        assert!(DroppedEvents::new(EventId(13), BootNanos::MAX, Pid(1), 2).is_err());
        assert_eq!(written(b"c 000000012 -1 5"), b"c 000000012 -1 5\n");
        assert_eq!(written(b"c 0000123456789 -1 5"), b"c 123456789 -1 5\n");
        assert_eq!(written(b"e 000000012 -1 5"), b"e 12 -1 5\n");
    }
}
