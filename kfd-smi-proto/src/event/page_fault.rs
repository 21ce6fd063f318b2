//! PAGE_FAULT_START, id 7, and PAGE_FAULT_END, id 8: `"%lld -%d @%lx(%x) %c\n"`, since Linux 6.0.

use core::fmt;

use nom::Parser as _;

use crate::encode::Encoder;
use crate::field::{BootNanos, GpuId, Pid};
use crate::grammar::{Parsed, letter, node_in_parentheses, page, space, stamp, trailing};
use crate::page::PageNumber;
use crate::text::Trailing;

/// A byte that stands for something: an open set, of which a newline is no part.
macro_rules! letters {
    ($(#[$doc:meta])* $type:ident { $($(#[$what:meta])* $constant:ident = $value:literal $name:literal;)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize))]
        #[cfg_attr(feature = "defmt", derive(defmt::Format))]
        pub struct $type(u8);

        impl $type {
            $($(#[$what])* pub const $constant: Self = Self($value);)*

            /// What this byte stands for; `None` for a newline, which cannot be on the wire.
            #[must_use]
            pub const fn new(byte: u8) -> Option<Self> {
                if byte == b'\n' { None } else { Some(Self(byte)) }
            }

            /// The byte as it is on the wire.
            #[must_use]
            pub const fn byte(self) -> u8 {
                self.0
            }

            /// The name in lower case; `None` for a byte of a newer kernel.
            #[must_use]
            pub const fn name(self) -> Option<&'static str> {
                match self {
                    $(Self::$constant => Some($name),)*
                    _ => None,
                }
            }
        }

        #[cfg(feature = "serde")]
        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let byte = u8::deserialize(deserializer)?;
                Self::new(byte).ok_or_else(|| serde::de::Error::custom("expected a byte that is no newline"))
            }
        }

        /// The name, or `letter 0x58` for an unknown byte.
        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self.name() {
                    Some(name) => f.write_str(name),
                    None => write!(f, "letter {:#04x}", self.0),
                }
            }
        }
    };
}

letters! {
    /// What the GPU wanted when it faulted.
    ///
    /// ```
    /// use kfd_smi_proto::Access;
    ///
    /// assert_eq!(Access::new(b'W'), Some(Access::WRITE));
    /// assert_eq!(Access::new(b'X').unwrap().to_string(), "letter 0x58");
    /// ```
    Access {
        /// To read.
        READ = b'R' "read";
        /// To write.
        WRITE = b'W' "write";
    }
}

letters! {
    /// How a fault was handled.
    FaultOutcome {
        /// A migration was tried. It can have failed, and the pages been mapped where they were.
        MIGRATED = b'M' "migrated";
        /// Only the GPU's page table was brought up to date.
        UPDATED = b'U' "updated";
    }
}

/// The driver begins to handle a page fault of the GPU that can be retried (XNACK).
///
/// The kernel's format, behind the id, is `"%lld -%d @%lx(%x) %c\n"`:
/// `7 14601738586508 -152990 @7f0f15200(1ea0) W`.
///
/// | field | printed as | meaning |
/// |---|---|---|
/// | `time` | `%lld` | nanoseconds since boot, of the moment the handler began: it can be older than lines before |
/// | `pid` | `-%d` | the process |
/// | `page` | `@%lx` | the page |
/// | `node` | `(%x)` | the GPU |
/// | `access` | `%c` | `R` or `W` |
///
/// ```
/// use kfd_smi_proto::{Access, Event, GpuId, parse_line};
///
/// let line = b"7 14601738586508 -152990 @7f0f15200(1ea0) W\n";
/// let Ok(Event::PageFaultStart(fault)) = parse_line(line).event else { panic!() };
/// assert_eq!((fault.node, fault.access), (GpuId(0x1ea0), Access::WRITE));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[doc(alias = "KFD_SMI_EVENT_PAGE_FAULT_START")]
pub struct PageFaultStart<'a> {
    /// When the driver began to handle the fault.
    pub time: BootNanos,
    /// The process.
    pub pid: Pid,
    /// The page that was touched.
    pub page: PageNumber,
    /// The GPU that touched it.
    pub node: GpuId,
    /// What it wanted.
    pub access: Access,
    /// What a newer kernel adds.
    pub trailing: Option<Trailing<'a>>,
}

/// A page fault was handled.
///
/// The kernel's format, behind the id, is `"%lld -%d @%lx(%x) %c\n"`:
/// `8 14601738586508 -152990 @7f0f15200(1ea0) M`.
///
/// | field | printed as | meaning |
/// |---|---|---|
/// | `time` | `%lld` | nanoseconds since boot |
/// | `pid` | `-%d` | the process |
/// | `page` | `@%lx` | the page |
/// | `node` | `(%x)` | the GPU |
/// | `outcome` | `%c` | `M` or `U` |
///
/// A fault whose migration failed has no end: the hardware tries again, and another start with the same page
/// follows.
///
/// ```
/// use kfd_smi_proto::{Event, FaultOutcome, parse_line};
///
/// let line = b"8 14601738586508 -152990 @7f0f15200(1ea0) M\n";
/// let Ok(Event::PageFaultEnd(fault)) = parse_line(line).event else { panic!() };
/// assert_eq!(fault.outcome, FaultOutcome::MIGRATED);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[doc(alias = "KFD_SMI_EVENT_PAGE_FAULT_END")]
pub struct PageFaultEnd<'a> {
    /// When.
    pub time: BootNanos,
    /// The process.
    pub pid: Pid,
    /// The page that was touched.
    pub page: PageNumber,
    /// The GPU that touched it.
    pub node: GpuId,
    /// How the fault was handled.
    pub outcome: FaultOutcome,
    /// What a newer kernel adds.
    pub trailing: Option<Trailing<'a>>,
}

impl<'a> PageFaultStart<'a> {
    pub(crate) fn parse(input: &'a [u8]) -> Parsed<'a, Self> {
        let (input, (time, pid, page, node, letter, trailing)) = fault(input)?;
        Ok((input, Self { time, pid, page, node, access: Access(letter), trailing }))
    }

    pub(crate) fn encode(&self, out: &mut Encoder<'_, 'a>) {
        encode(out, (self.time, self.pid, self.page, self.node, self.access.0, self.trailing));
    }
}

impl<'a> PageFaultEnd<'a> {
    pub(crate) fn parse(input: &'a [u8]) -> Parsed<'a, Self> {
        let (input, (time, pid, page, node, letter, trailing)) = fault(input)?;
        Ok((input, Self { time, pid, page, node, outcome: FaultOutcome(letter), trailing }))
    }

    pub(crate) fn encode(&self, out: &mut Encoder<'_, 'a>) {
        encode(out, (self.time, self.pid, self.page, self.node, self.outcome.0, self.trailing));
    }
}

/// The fields of both, in the order of the format.
type Fields<'a> = (BootNanos, Pid, PageNumber, GpuId, u8, Option<Trailing<'a>>);

fn fault(input: &[u8]) -> Parsed<'_, Fields<'_>> {
    (stamp, page, node_in_parentheses, space, letter, trailing)
        .map(|((time, pid), page, node, _, letter, trailing)| (time, pid, page, node, letter, trailing))
        .parse(input)
}

fn encode<'a>(out: &mut Encoder<'_, 'a>, (time, pid, page, node, letter, trailing): Fields<'a>) {
    out.nanos(time).literal(b" ").pid(pid).literal(b" ").page(page);
    out.literal(b"(").hex(node.0).literal(b") ").byte(letter).tail(trailing.map(Trailing::as_bytes));
}

/// `at 14601.738586508 pid 152990 page 0x7f0f15200 on 0x1ea0, write`
impl fmt::Display for PageFaultStart<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { time, pid, page, node, access, .. } = self;
        write!(f, "at {time} pid {pid} page {page} on {node}, {access}")
    }
}

/// `at 14601.738586508 pid 152990 page 0x7f0f15200 on 0x1ea0, migrated`
impl fmt::Display for PageFaultEnd<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { time, pid, page, node, outcome, .. } = self;
        write!(f, "at {time} pid {pid} page {page} on {node}, {outcome}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::tests::{error_offset, event, shown, written};
    use crate::{Event, ParseErrorKind};

    #[test]
    fn letters_are_an_open_set() {
        assert_eq!(
            shown(b"7 14601738586508 -152990 @7f0f15200(1ea0) W"),
            "page_fault_start at 14601.738586508 pid 152990 page 0x7f0f15200 on 0x1ea0, write"
        );
        assert_eq!(shown(b"8 1 -2 @3(4) U"), "page_fault_end at 0.000000001 pid 2 page 0x3 on 0x4, updated");
        assert_eq!(
            shown(b"8 1 -2 @3(4) \0"),
            "page_fault_end at 0.000000001 pid 2 page 0x3 on 0x4, letter 0x00"
        );
        for line in [b"7 1 -2 @3(4) R".as_slice(), b"7 1 -2 @3(4)  ", b"8 1 -2 @3(4) \r", b"8 1 -2 @3(4) M x"]
        {
            assert_eq!(written(line), [line, b"\n"].concat());
        }
        assert_eq!(Access::new(b'\n'), None);
        assert_eq!(FaultOutcome::new(b'\n'), None);
    }

    #[test]
    fn a_letter_stands_alone() {
        assert_eq!(error_offset(b"7 1 -2 @3(4)"), 12);
        assert_eq!(error_offset(b"7 1 -2 @3(4) "), 13);
        assert_eq!(error_offset(b"7 1 -2 @3(4) WX"), 14);
        assert_eq!(error_offset(b"7 1 -2 @3(4)W"), 12);
        let error = crate::parse_line(b"7 1 -2 @3(4) W\r\n").event.unwrap_err();
        assert_eq!(error.kind, ParseErrorKind::CarriageReturn);
        let Event::PageFaultStart(fault) = event(b"7 1 -2 @3(4) W ") else { panic!() };
        assert_eq!(fault.trailing.unwrap().as_bytes(), b"");
    }
}
