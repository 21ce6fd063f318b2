//! QUEUE_EVICTION, id 9: `"%lld -%d %x %d\n"`, and QUEUE_RESTORE, id 10: `"%lld -%d %x %c\n"`,
//! since Linux 6.0.

use core::fmt;

use nom::Parser as _;

use crate::encode::Encoder;
use crate::event::Inconsistent;
use crate::field::{BootNanos, GpuId, Pid};
use crate::grammar::{Parsed, begins_with_letter, decimal_i32, letter, node, space, stamp, trailing};
use crate::text::Trailing;
use crate::trigger::EvictionTrigger;

/// The user queues of a process are stopped on a GPU.
///
/// The kernel's format, behind the id, is `"%lld -%d %x %d\n"`: `9 14601738586508 -152990 1ea0 2`.
///
/// | field | printed as | meaning |
/// |---|---|---|
/// | `time` | `%lld` | nanoseconds since boot |
/// | `pid` | `-%d` | the process |
/// | `node` | `%x` | the GPU |
/// | `trigger` | `%d` | why |
///
/// Evictions nest: the queues run again when each has been followed by a restore. When a process ends, or a GPU
/// is reset, there may be none.
///
/// ```
/// use kfd_smi_proto::{Event, EvictionTrigger, parse_line};
///
/// let line = b"9 14601738586508 -152990 1ea0 2\n";
/// let Ok(Event::QueueEviction(eviction)) = parse_line(line).event else { panic!() };
/// assert_eq!(eviction.trigger, EvictionTrigger::TTM);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[doc(alias = "KFD_SMI_EVENT_QUEUE_EVICTION")]
pub struct QueueEviction<'a> {
    /// When.
    pub time: BootNanos,
    /// The process whose queues are stopped.
    pub pid: Pid,
    /// The GPU they run on.
    pub node: GpuId,
    /// Why.
    pub trigger: EvictionTrigger,
    /// What a newer kernel adds.
    pub trailing: Option<Trailing<'a>>,
}

impl<'a> QueueEviction<'a> {
    pub(crate) fn parse(input: &'a [u8]) -> Parsed<'a, Self> {
        let (input, ((time, pid), node, _, trigger, trailing)) =
            (stamp, node, space, decimal_i32, trailing).parse(input)?;
        Ok((input, Self { time, pid, node, trigger: EvictionTrigger(trigger), trailing }))
    }

    pub(crate) fn encode(&self, out: &mut Encoder<'_, 'a>) {
        out.nanos(self.time).literal(b" ").pid(self.pid).literal(b" ").hex(self.node.0);
        out.literal(b" ").signed(self.trigger.0).tail(self.trailing.map(Trailing::as_bytes));
    }
}

/// `at 14601.738586508 pid 152990 on 0x1ea0, ttm`
impl fmt::Display for QueueEviction<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { time, pid, node, trigger, .. } = self;
        write!(f, "at {time} pid {pid} on {node}, {trigger}")
    }
}

/// What stands at the end of a QUEUE_RESTORE line: nothing, or one byte.
///
/// [`NONE`](Self::NONE), [`NUL`](Self::NUL) and [`ZERO`](Self::ZERO) mean the same and tell the kernel's age.
///
/// ```
/// use kfd_smi_proto::RestoreFlag;
///
/// assert!(RestoreFlag::RESCHEDULED.is_rescheduled());
/// assert!(!RestoreFlag::new(Some(b'0')).unwrap().is_rescheduled());
/// assert_eq!(RestoreFlag::new(Some(b'\n')), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct RestoreFlag(Option<u8>);

impl RestoreFlag {
    /// The queues are restored: Linux 6.0 to 6.11.
    pub const NONE: Self = Self(None);

    /// The queues are restored: Linux 6.12 to 6.12.65 and 6.13 to 6.18, by mistake.
    pub const NUL: Self = Self(Some(0));

    /// The queues are restored: Linux 6.12.66 and later, 6.19 and later.
    pub const ZERO: Self = Self(Some(b'0'));

    /// The restore failed for now and is tried again later: the queues stay evicted.
    pub const RESCHEDULED: Self = Self(Some(b'R'));

    /// What this stands for; `None` for a newline, which cannot be on the wire.
    #[must_use]
    pub const fn new(byte: Option<u8>) -> Option<Self> {
        match byte {
            Some(b'\n') => None,
            _ => Some(Self(byte)),
        }
    }

    /// The byte as it is on the wire, if there is one.
    #[must_use]
    pub const fn byte(self) -> Option<u8> {
        self.0
    }

    /// Whether the restore was put off; the queues are still evicted then.
    #[must_use]
    pub const fn is_rescheduled(self) -> bool {
        matches!(self, Self::RESCHEDULED)
    }
}

#[cfg(feature = "serde")]
impl<'de> serde::Deserialize<'de> for RestoreFlag {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let byte = Option::deserialize(deserializer)?;
        Self::new(byte).ok_or_else(|| serde::de::Error::custom("expected a byte that is no newline"))
    }
}

/// `restored`, `rescheduled`, or `letter 0x58` for an unknown byte.
impl fmt::Display for RestoreFlag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::NONE | Self::NUL | Self::ZERO => f.write_str("restored"),
            Self::RESCHEDULED => f.write_str("rescheduled"),
            Self(byte) => write!(f, "letter {:#04x}", byte.unwrap_or_default()),
        }
    }
}

/// The user queues of a process are about to be restored on a GPU, or that was put off.
///
/// The kernel's format, behind the id, is `"%lld -%d %x %c\n"`, up to 6.11 without the letter unless it is `R`:
/// `a 14601738586508 -152990 1ea0 R`.
///
/// | field | printed as | meaning |
/// |---|---|---|
/// | `time` | `%lld` | nanoseconds since boot |
/// | `pid` | `-%d` | the process |
/// | `node` | `%x` | the GPU |
/// | `restore` | `%c` | nothing, NUL or `0`: restored; `R`: put off |
///
/// The line is printed before the restore is tried; if it fails, an `R` follows, and later another line.
///
/// ```
/// use kfd_smi_proto::{Event, RestoreFlag, parse_line};
///
/// let line = b"a 14601738586508 -152990 1ea0 \0\n";
/// let Ok(Event::QueueRestore(restore)) = parse_line(line).event else { panic!() };
/// assert_eq!(restore.restore(), RestoreFlag::NUL);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[doc(alias = "KFD_SMI_EVENT_QUEUE_RESTORE")]
pub struct QueueRestore<'a> {
    /// When.
    pub time: BootNanos,
    /// The process whose queues are restored.
    pub pid: Pid,
    /// The GPU they run on.
    pub node: GpuId,
    restore: RestoreFlag,
    trailing: Option<Trailing<'a>>,
}

impl<'a> QueueRestore<'a> {
    /// A restore with this flag.
    ///
    /// # Errors
    ///
    /// [`Inconsistent`] if there is no flag but the trailing bytes begin with what would be read as one.
    pub fn new(
        time: BootNanos,
        pid: Pid,
        node: GpuId,
        restore: RestoreFlag,
        trailing: Option<Trailing<'a>>,
    ) -> Result<Self, Inconsistent> {
        let read_as_flag = trailing.is_some_and(|bytes| begins_with_letter(bytes.as_bytes()));
        if restore == RestoreFlag::NONE && read_as_flag {
            return Err(Inconsistent);
        }
        Ok(Self { time, pid, node, restore, trailing })
    }

    /// What stands at the end of the line.
    #[must_use]
    pub const fn restore(&self) -> RestoreFlag {
        self.restore
    }

    /// What a newer kernel adds.
    #[must_use]
    pub const fn trailing(&self) -> Option<Trailing<'a>> {
        self.trailing
    }

    pub(crate) fn parse(input: &'a [u8]) -> Parsed<'a, Self> {
        let (input, ((time, pid), node)) = (stamp, node).parse(input)?;
        let (input, (restore, trailing)) = restore_and_trailing(input)?;
        Ok((input, Self { time, pid, node, restore, trailing }))
    }

    pub(crate) fn encode(&self, out: &mut Encoder<'_, 'a>) {
        out.nanos(self.time).literal(b" ").pid(self.pid).literal(b" ").hex(self.node.0);
        if let Some(byte) = self.restore.0 {
            out.literal(b" ").byte(byte);
        }
        out.tail(self.trailing.map(Trailing::as_bytes));
    }
}

/// `" %c"`, which kernels before 6.12 leave out, and what may follow.
fn restore_and_trailing(input: &[u8]) -> Parsed<'_, (RestoreFlag, Option<Trailing<'_>>)> {
    match input {
        [b' ', tail @ ..] if begins_with_letter(tail) => {
            (letter.map(|byte| RestoreFlag(Some(byte))), trailing).parse(tail)
        }
        _ => trailing.map(|trailing| (RestoreFlag::NONE, trailing)).parse(input),
    }
}

/// `at 14601.738586508 pid 152990 on 0x1ea0, restored`
impl fmt::Display for QueueRestore<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { time, pid, node, restore, .. } = self;
        write!(f, "at {time} pid {pid} on {node}, {restore}")
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use crate::event::tests::{error_offset, event, shown, written};
    use crate::{Event, ParseErrorKind};
    use std::format;

    const RESTORE: &str = "a 38652512365099 -131057 fc7d";

    #[test]
    fn an_eviction_says_why() {
        assert_eq!(
            shown(b"9 14601738586508 -152990 1ea0 2"),
            "queue_eviction at 14601.738586508 pid 152990 on 0x1ea0, ttm"
        );
        assert_eq!(written(b"9 1 -2 3 -4 x"), b"9 1 -2 3 -4 x\n");
        assert_eq!(error_offset(b"9 1 -2 3"), 8);
        assert_eq!(error_offset(b"9 1 -2 3 4x"), 10);
    }

    #[test]
    fn every_form_of_a_restore_is_its_own() {
        for (tail, flag, trailing) in [
            ("", RestoreFlag::NONE, None),
            (" \0", RestoreFlag::NUL, None),
            (" 0", RestoreFlag::ZERO, None),
            (" R", RestoreFlag::RESCHEDULED, None),
            (" X", RestoreFlag(Some(b'X')), None),
            (" \r", RestoreFlag(Some(b'\r')), None),
            (" ", RestoreFlag::NONE, Some("")),
            (" R ", RestoreFlag::RESCHEDULED, Some("")),
            (" 0 5", RestoreFlag::ZERO, Some("5")),
            (" RX", RestoreFlag::NONE, Some("RX")),
            (" \x005 1 -2", RestoreFlag::NONE, Some("\x005 1 -2")),
            ("  ", RestoreFlag(Some(b' ')), None),
        ] {
            let line = format!("{RESTORE}{tail}");
            let Event::QueueRestore(restore) = event(line.as_bytes()) else { panic!("{tail:?}") };
            assert_eq!(restore.restore(), flag, "{tail:?}");
            assert_eq!(restore.trailing().map(Trailing::as_bytes), trailing.map(str::as_bytes), "{tail:?}");
            assert_eq!(written(line.as_bytes()), format!("{line}\n").as_bytes());
        }
        assert_eq!(
            shown(RESTORE.as_bytes()),
            "queue_restore at 38652.512365099 pid 131057 on 0xfc7d, restored"
        );
        for tail in ["\r", " 0\r", " \0\r"] {
            let error = crate::parse_line(format!("{RESTORE}{tail}").as_bytes()).event.unwrap_err();
            assert_eq!(error.kind, ParseErrorKind::CarriageReturn);
        }
        assert_eq!(error_offset(b"a 1 -2 3x"), 8);
    }

    #[test]
    fn a_restore_that_would_be_read_otherwise_cannot_be_made() {
        let new = |flag, trailing: &'static [u8]| {
            let trailing = Some(Trailing::new(trailing).unwrap());
            QueueRestore::new(BootNanos::MAX, Pid(1), GpuId(2), flag, trailing)
        };
        for letter in [b"R".as_slice(), b"R x", b"\0", b"0\r", b"  "] {
            assert!(new(RestoreFlag::NONE, letter).is_err());
            assert!(new(RestoreFlag::ZERO, letter).is_ok());
        }
        assert!(new(RestoreFlag::NONE, b"RX").is_ok());
        assert!(new(RestoreFlag::NONE, b"").is_ok());
    }
}
