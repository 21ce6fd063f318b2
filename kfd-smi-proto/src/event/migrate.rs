//! MIGRATE_START, id 5: `"%lld -%d @%lx(%lx) %x->%x %x:%x %d\n"`, and
//! MIGRATE_END, id 6: `"%lld -%d @%lx(%lx) %x->%x %d %d\n"`, since Linux 6.0.

use core::fmt;

use nom::Parser as _;
use nom::sequence::separated_pair;

use crate::encode::Encoder;
use crate::event::Inconsistent;
use crate::field::{BootNanos, GpuId, Location, Pid};
use crate::grammar::{
    Parsed, begins_with_decimal, colon, decimal_i32, location, range, route, space, stamp, trailing,
};
use crate::page::PageRange;
use crate::text::Trailing;
use crate::trigger::MigrateTrigger;

/// What the start and the end of a migration have in common: whose pages move, which, from where to where, why.
///
/// ```
/// use kfd_smi_proto::{Event, parse_line};
///
/// let start = parse_line(b"5 14601738586508 -152990 @7f0f15200(200) 0->1ea0 1ea0:ffffffff 1").event;
/// let end = parse_line(b"6 14601738596508 -152990 @7f0f15200(200) 0->1ea0 1 0").event;
/// let (Ok(Event::MigrateStart(start)), Ok(Event::MigrateEnd(end))) = (start, end) else { panic!() };
/// assert_eq!(start.migration(), end.migration());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
pub struct Migration {
    /// The process whose pages move.
    pub pid: Pid,
    /// The pages.
    pub range: PageRange,
    /// Where they are.
    pub from: Location,
    /// Where they go.
    pub to: Location,
    /// Why they move.
    pub trigger: MigrateTrigger,
}

/// Pages begin to move.
///
/// The kernel's format, behind the id, is `"%lld -%d @%lx(%lx) %x->%x %x:%x %d\n"`:
/// `5 14601738586508 -152990 @7f0f15200(2c02) 0->1ea0 1ea0:ffffffff 1`.
///
/// | field | printed as | meaning |
/// |---|---|---|
/// | `time` | `%lld` | nanoseconds since boot |
/// | `pid` | `-%d` | the process |
/// | `range` | `@%lx(%lx)` | first page and number of pages |
/// | `from`, `to` | `%x->%x` | where the pages are and where they go |
/// | `prefetch_loc`, `preferred_loc` | `%x:%x` | what the process asked for; undefined unless it did |
/// | `trigger` | `%d` | why |
///
/// One of `from` and `to` is system memory: pages go from one GPU to another in two migrations, each reported
/// to the clients of its own GPU. The other two places hold GPU ids as the *process* knows them.
///
/// ```
/// use kfd_smi_proto::{Event, GpuId, Location, MigrateTrigger, parse_line};
///
/// let line = b"5 14601738586508 -152990 @7f0f15200(2c02) 0->1ea0 1ea0:ffffffff 1\n";
/// let Ok(Event::MigrateStart(start)) = parse_line(line).event else { panic!() };
/// assert_eq!(start.range.count.0, 0x2c02);
/// assert_eq!((start.from, start.to.gpu()), (Location::SYSTEM, Some(GpuId(0x1ea0))));
/// assert_eq!(start.preferred_loc, Location::UNDEFINED);
/// assert_eq!(start.trigger, MigrateTrigger::PAGEFAULT_GPU);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[doc(alias = "KFD_SMI_EVENT_MIGRATE_START")]
pub struct MigrateStart<'a> {
    /// When.
    pub time: BootNanos,
    /// The process whose pages move.
    pub pid: Pid,
    /// The pages.
    pub range: PageRange,
    /// Where they are.
    pub from: Location,
    /// Where they go.
    pub to: Location,
    /// Where the process asked them to be fetched to.
    pub prefetch_loc: Location,
    /// Where the process prefers them to be.
    pub preferred_loc: Location,
    /// Why they move.
    pub trigger: MigrateTrigger,
    /// What a newer kernel adds.
    pub trailing: Option<Trailing<'a>>,
}

impl<'a> MigrateStart<'a> {
    pub(crate) fn parse(input: &'a [u8]) -> Parsed<'a, Self> {
        let wishes = separated_pair(location, colon, location);
        let (
            input,
            ((time, pid), range, _, (from, to), _, (prefetch_loc, preferred_loc), _, trigger, trailing),
        ) = (stamp, range, space, route, space, wishes, space, decimal_i32, trailing).parse(input)?;
        let trigger = MigrateTrigger(trigger);
        let start = Self { time, pid, range, from, to, prefetch_loc, preferred_loc, trigger, trailing };
        Ok((input, start))
    }

    pub(crate) fn encode(&self, out: &mut Encoder<'_, 'a>) {
        out.nanos(self.time).literal(b" ").pid(self.pid);
        out.literal(b" ").range(self.range).literal(b" ");
        out.route(self.from, self.to).literal(b" ");
        out.hex(self.prefetch_loc.0).literal(b":").hex(self.preferred_loc.0);
        out.literal(b" ").signed(self.trigger.0).tail(self.trailing.map(Trailing::as_bytes));
    }

    /// What its end has as well.
    #[must_use]
    pub const fn migration(&self) -> Migration {
        let Self { pid, range, from, to, trigger, .. } = *self;
        Migration { pid, range, from, to, trigger }
    }

    /// The GPU's end of the migration: `to`, else `from`.
    #[must_use]
    pub fn gpu(&self) -> Option<GpuId> {
        gpu_end(self.from, self.to)
    }
}

/// `at 14601.738586508 pid 152990 pages 0x7f0f15200..0x7f0f17e02 system -> 0x1ea0, pagefault_gpu, prefetch … preferred …`
impl fmt::Display for MigrateStart<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { time, pid, range, from, to, prefetch_loc, preferred_loc, trigger, .. } = self;
        write!(f, "at {time} pid {pid} pages {range} {from} -> {to}, {trigger}")?;
        write!(f, ", prefetch {prefetch_loc} preferred {preferred_loc}")
    }
}

/// A migration ended, well or not.
///
/// The kernel's format, behind the id, is `"%lld -%d @%lx(%lx) %x->%x %d %d\n"` from 6.13 on, before that
/// `"%lld -%d @%lx(%lx) %x->%x %d\n"`: `6 14601738586508 -152990 @7f0f15200(2c02) 0->1ea0 1 -12`.
///
/// | field | printed as | meaning |
/// |---|---|---|
/// | `time` | `%lld` | nanoseconds since boot |
/// | `pid` | `-%d` | the process |
/// | `range` | `@%lx(%lx)` | first page and number of pages |
/// | `from`, `to` | `%x->%x` | where the pages were and where they should be now |
/// | `trigger` | `%d` | why |
/// | `error_code` | `%d` | 0 or a negative errno, since 6.13 |
///
/// An error code of 0 does not say that every page moved: it is also 0 when only some did, or none could be
/// collected. Kernels up to 6.12 print no end at all for some migrations that fail.
///
/// ```
/// use kfd_smi_proto::{Event, parse_line};
///
/// let new = b"6 14601738586508 -152990 @7f0f15200(2c02) 0->1ea0 1 -12\n";
/// let Ok(Event::MigrateEnd(end)) = parse_line(new).event else { panic!() };
/// assert_eq!(end.error_code(), Some(-12));
///
/// let old = b"6 14601738586508 -152990 @7f0f15200(2c02) 0->1ea0 1\n";
/// let Ok(Event::MigrateEnd(end)) = parse_line(old).event else { panic!() };
/// assert_eq!(end.error_code(), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[doc(alias = "KFD_SMI_EVENT_MIGRATE_END")]
pub struct MigrateEnd<'a> {
    /// When.
    pub time: BootNanos,
    /// The process whose pages moved.
    pub pid: Pid,
    /// The pages.
    pub range: PageRange,
    /// Where they were.
    pub from: Location,
    /// Where they should be.
    pub to: Location,
    /// Why they moved.
    pub trigger: MigrateTrigger,
    error_code: Option<i32>,
    trailing: Option<Trailing<'a>>,
}

impl<'a> MigrateEnd<'a> {
    /// The end of a migration, at that time.
    ///
    /// # Errors
    ///
    /// [`Inconsistent`] if there is no error code but the trailing bytes begin with what would be read as one.
    pub fn new(
        time: BootNanos,
        migration: Migration,
        error_code: Option<i32>,
        trailing: Option<Trailing<'a>>,
    ) -> Result<Self, Inconsistent> {
        if error_code.is_none() && trailing.is_some_and(|bytes| begins_with_decimal(bytes.as_bytes())) {
            return Err(Inconsistent);
        }
        let Migration { pid, range, from, to, trigger } = migration;
        Ok(Self { time, pid, range, from, to, trigger, error_code, trailing })
    }

    /// What its start has as well.
    #[must_use]
    pub const fn migration(&self) -> Migration {
        let Self { pid, range, from, to, trigger, .. } = *self;
        Migration { pid, range, from, to, trigger }
    }

    /// 0 or a negative errno of the kernel, `-12` for ENOMEM; `None` if the line does not hold it.
    #[must_use]
    pub const fn error_code(&self) -> Option<i32> {
        self.error_code
    }

    /// What a newer kernel adds.
    #[must_use]
    pub const fn trailing(&self) -> Option<Trailing<'a>> {
        self.trailing
    }

    /// The GPU's end of the migration: `to`, else `from`.
    #[must_use]
    pub fn gpu(&self) -> Option<GpuId> {
        gpu_end(self.from, self.to)
    }

    pub(crate) fn parse(input: &'a [u8]) -> Parsed<'a, Self> {
        let (input, ((time, pid), range, _, (from, to), _, trigger)) =
            (stamp, range, space, route, space, decimal_i32).parse(input)?;
        let (input, (error_code, trailing)) = error_code_and_trailing(input)?;
        let trigger = MigrateTrigger(trigger);
        Ok((input, Self { time, pid, range, from, to, trigger, error_code, trailing }))
    }

    pub(crate) fn encode(&self, out: &mut Encoder<'_, 'a>) {
        out.nanos(self.time).literal(b" ").pid(self.pid);
        out.literal(b" ").range(self.range).literal(b" ");
        out.route(self.from, self.to).literal(b" ").signed(self.trigger.0);
        if let Some(error_code) = self.error_code {
            out.literal(b" ").signed(error_code);
        }
        out.tail(self.trailing.map(Trailing::as_bytes));
    }
}

/// `at 14601.738586508 pid 152990 pages 0x7f0f15200..0x7f0f17e02 system -> 0x1ea0, pagefault_gpu, error -12`
impl fmt::Display for MigrateEnd<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { time, pid, range, from, to, trigger, .. } = self;
        write!(f, "at {time} pid {pid} pages {range} {from} -> {to}, {trigger}")?;
        match self.error_code {
            Some(0) | None => Ok(()),
            Some(error) => write!(f, ", error {error}"),
        }
    }
}

/// `" %d"`, which kernels before 6.13 leave out, and what may follow.
fn error_code_and_trailing(input: &[u8]) -> Parsed<'_, (Option<i32>, Option<Trailing<'_>>)> {
    match input {
        [b' ', tail @ ..] if begins_with_decimal(tail) => {
            (decimal_i32, trailing).map(|(error_code, trailing)| (Some(error_code), trailing)).parse(tail)
        }
        _ => trailing.map(|trailing| (None, trailing)).parse(input),
    }
}

fn gpu_end(from: Location, to: Location) -> Option<GpuId> {
    to.gpu().or_else(|| from.gpu())
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use crate::event::tests::{error_offset, event, shown, written};
    use crate::{Event, ParseErrorKind};
    use std::format;

    const START: &str = "5 14601738586508 -152990 @7f0f15200(2c02) 0->1ea0 1ea0:ffffffff 1";
    const END: &str = "6 14601738586508 -152990 @7f0f15200(2c02) 0->1ea0 1";

    fn end(line: &str) -> MigrateEnd<'_> {
        let Event::MigrateEnd(end) = event(line.as_bytes()) else { panic!("{line}") };
        end
    }

    #[test]
    fn every_field_of_a_start_has_its_place() {
        assert_eq!(
            shown(START.as_bytes()),
            "migrate_start at 14601.738586508 pid 152990 pages 0x7f0f15200..0x7f0f17e02 system -> 0x1ea0, \
             pagefault_gpu, prefetch 0x1ea0 preferred undefined"
        );
        assert_eq!(written(START.as_bytes()), format!("{START}\n").as_bytes());
        let Event::MigrateStart(start) = event(b"5 0 -0 @0(0) 1->2 3:4 -5 more") else { panic!() };
        assert_eq!((start.from, start.to), (Location(1), Location(2)));
        assert_eq!((start.prefetch_loc, start.preferred_loc), (Location(3), Location(4)));
        assert_eq!(start.trigger, MigrateTrigger(-5));
        assert_eq!(start.trailing.unwrap().as_bytes(), b"more");
        assert_eq!(start.gpu(), Some(GpuId(2)));
    }

    #[test]
    fn the_error_code_is_what_the_line_says() {
        assert_eq!(end(END).error_code(), None);
        assert_eq!(end(&format!("{END} 0")).error_code(), Some(0));
        assert_eq!(end(&format!("{END} -12")).error_code(), Some(-12));
        assert_eq!(
            shown(format!("{END} -12").as_bytes()),
            "migrate_end at 14601.738586508 pid 152990 pages 0x7f0f15200..0x7f0f17e02 system -> 0x1ea0, \
             pagefault_gpu, error -12"
        );
        assert_eq!(end(END).gpu(), Some(GpuId(0x1ea0)));
    }

    #[test]
    fn what_is_no_error_code_is_trailing() {
        for (tail, error_code, trailing) in [
            ("", None, None),
            (" ", None, Some("")),
            (" x", None, Some("x")),
            (" -", None, Some("-")),
            (" +1", None, Some("+1")),
            (" 5x", None, Some("5x")),
            ("  5", None, Some(" 5")),
            (" --5", None, Some("--5")),
            (" 99999999999x", None, Some("99999999999x")),
            (" \r", None, Some("\r")),
            (" 5", Some(5), None),
            (" 5 ", Some(5), Some("")),
            (" -5 x y", Some(-5), Some("x y")),
        ] {
            let line = format!("{END}{tail}");
            let end = end(&line);
            assert_eq!(end.error_code(), error_code, "{tail:?}");
            assert_eq!(end.trailing().map(Trailing::as_bytes), trailing.map(str::as_bytes), "{tail:?}");
            assert_eq!(written(line.as_bytes()), format!("{line}\n").as_bytes());
        }
    }

    #[test]
    fn a_number_outside_its_limits_or_before_a_carriage_return_is_an_error() {
        let at = END.len();
        assert_eq!(error_offset(format!("{END} 2147483648").as_bytes()), at + 1);
        assert_eq!(error_offset(format!("{END} 2147483648 x").as_bytes()), at + 1);
        for tail in ["\r", " -12\r"] {
            let line = format!("{END}{tail}");
            let error = crate::parse_line(line.as_bytes()).event.unwrap_err();
            assert_eq!(error.kind, ParseErrorKind::CarriageReturn);
        }
        assert_eq!(error_offset(b"5 1 -2 @3(4) 5->6 7:8"), 21);
        assert_eq!(error_offset(b"5 1 -2 @3(4) 5->6 7:8 -99999999999999999999"), 22);
        assert!(!shown(format!("{END} 0").as_bytes()).contains("error"));
        assert_eq!(error_offset(b"5 1 2 @3(4) 5->6 7:8 9"), 4);
        assert_eq!(error_offset(b"5 -1 -2 @3(4) 5->6 7:8 9"), 2);
    }

    #[test]
    fn an_end_that_would_be_read_otherwise_cannot_be_made() {
        let Event::MigrateStart(start) = event(START.as_bytes()) else { panic!() };
        let new = |error_code, trailing: &'static [u8]| {
            MigrateEnd::new(start.time, start.migration(), error_code, Some(Trailing::new(trailing).unwrap()))
        };
        for number in [b"5".as_slice(), b"-5 x", b"99999999999", b"5\r"] {
            assert!(new(None, number).is_err());
            assert!(new(Some(0), number).is_ok());
        }
        assert!(new(None, b"5x").is_ok());
        let made = MigrateEnd::new(start.time, start.migration(), None, None);
        assert_eq!(made, Ok(end(END)), "every field has its place");
        assert_eq!(end(END).migration(), start.migration());
    }
}
