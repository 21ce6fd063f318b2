//! The parsers for the pieces that the kernel's formats are made of.
//!
//! Each is a nom parser over the rest of one line, named after what it reads; the formats themselves are
//! tuples of them, in `event/*.rs`. A mismatch carries how many bytes were left, from which
//! [`ParseError::offset`](crate::ParseError) follows.

use nom::character::complete::digit1;
use nom::combinator::{eof, opt};
use nom::error::{ErrorKind, ParseError};
use nom::sequence::{delimited, preceded, separated_pair};
use nom::{IResult, Parser as _};

use crate::error::{Expected, ParseErrorKind};
use crate::field::{BootNanos, GpuId, Location, Pid};
use crate::id::EventId;
use crate::page::{PageCount, PageNumber, PageRange};
use crate::text::Trailing;

pub(crate) type Parsed<'a, T> = IResult<&'a [u8], T, Mismatch>;

/// Where and why a parser stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mismatch {
    pub(crate) kind: ParseErrorKind,
    /// How many bytes of the line were not read.
    pub(crate) left: usize,
}

impl Mismatch {
    fn new(input: &[u8], expected: Expected) -> Self {
        let kind = match input {
            [] => ParseErrorKind::EndOfLine(expected),
            [b'\r', ..] => ParseErrorKind::CarriageReturn,
            _ => ParseErrorKind::Expected(expected),
        };
        Self { kind, left: input.len() }
    }

    fn out_of_range(input: &[u8]) -> Self {
        Self { kind: ParseErrorKind::OutOfRange, left: input.len() }
    }
}

impl From<nom::Err<Self>> for Mismatch {
    fn from(error: nom::Err<Self>) -> Self {
        match error {
            nom::Err::Error(mismatch) | nom::Err::Failure(mismatch) => mismatch,
            // Only nom's streaming parsers ask for more, and this grammar has none.
            nom::Err::Incomplete(_) => Self::new(&[], Expected::End),
        }
    }
}

/// What nom's own parsers report.
impl ParseError<&[u8]> for Mismatch {
    fn from_error_kind(input: &[u8], _: ErrorKind) -> Self {
        // They serve to look at shapes alone: what they expected is not told to anybody.
        Self::new(input, Expected::End)
    }

    fn append(_: &[u8], _: ErrorKind, first: Self) -> Self {
        first
    }
}

fn fail<T>(mismatch: Mismatch) -> Parsed<'static, T> {
    Err(nom::Err::Error(mismatch))
}

// Literals.

fn literal(input: &[u8], expected: Expected) -> Parsed<'_, ()> {
    match input.strip_prefix(expected.literal().as_bytes()) {
        Some(rest) => Ok((rest, ())),
        None => fail(Mismatch::new(input, expected)),
    }
}

pub(crate) fn space(input: &[u8]) -> Parsed<'_, ()> {
    literal(input, Expected::Space)
}

pub(crate) fn colon(input: &[u8]) -> Parsed<'_, ()> {
    literal(input, Expected::Colon)
}

fn minus(input: &[u8]) -> Parsed<'_, ()> {
    literal(input, Expected::Minus)
}

fn at(input: &[u8]) -> Parsed<'_, ()> {
    literal(input, Expected::At)
}

fn open(input: &[u8]) -> Parsed<'_, ()> {
    literal(input, Expected::Open)
}

fn close(input: &[u8]) -> Parsed<'_, ()> {
    literal(input, Expected::Close)
}

fn arrow(input: &[u8]) -> Parsed<'_, ()> {
    literal(input, Expected::Arrow)
}

// Numbers. Leading zeros are accepted: the value decides.

/// `"%llx"` and `"%lx"`: lower case only, no prefix.
pub(crate) fn hex64(input: &[u8]) -> Parsed<'_, u64> {
    let mut value = 0_u64;
    let mut lost = 0_u64;
    let mut rest = input;
    while let [digit @ (b'0'..=b'9' | b'a'..=b'f'), tail @ ..] = rest {
        lost |= value >> 60;
        value = value << 4 | u64::from(digit & 0xf).wrapping_add(u64::from(digit >> 6).wrapping_mul(9));
        rest = tail;
    }
    if rest.len() == input.len() {
        fail(Mismatch::new(input, Expected::Hexadecimal))
    } else if lost != 0 {
        fail(Mismatch::out_of_range(input))
    } else {
        Ok((rest, value))
    }
}

/// `"%x"`
pub(crate) fn hex32(input: &[u8]) -> Parsed<'_, u32> {
    let (rest, value) = hex64(input)?;
    match u32::try_from(value) {
        Ok(value) => Ok((rest, value)),
        Err(_) => fail(Mismatch::out_of_range(input)),
    }
}

/// An unsigned decimal number.
fn decimal64(input: &[u8]) -> Parsed<'_, u64> {
    let mut value = Some(0_u64);
    let mut rest = input;
    while let [digit @ b'0'..=b'9', tail @ ..] = rest {
        let digit = u64::from(digit & 0xf);
        value = value.and_then(|value| value.checked_mul(10)?.checked_add(digit));
        rest = tail;
    }
    match value {
        _ if rest.len() == input.len() => fail(Mismatch::new(input, Expected::Decimal)),
        Some(value) => Ok((rest, value)),
        None => fail(Mismatch::out_of_range(input)),
    }
}

/// `"%d"` of a counter that is never negative.
pub(crate) fn decimal_u32(input: &[u8]) -> Parsed<'_, u32> {
    let (rest, value) = decimal64(input)?;
    match u32::try_from(value) {
        Ok(value) => Ok((rest, value)),
        Err(_) => fail(Mismatch::out_of_range(input)),
    }
}

/// `"%d"`: at most one minus.
pub(crate) fn decimal_i32(input: &[u8]) -> Parsed<'_, i32> {
    let (digits, sign) = opt(minus).parse(input)?;
    let (rest, magnitude) = match decimal64(digits) {
        Err(nom::Err::Error(Mismatch { kind: ParseErrorKind::OutOfRange, .. })) => {
            return fail(Mismatch::out_of_range(input));
        }
        number => number?,
    };
    let value = match (sign, i64::try_from(magnitude)) {
        (Some(()), Ok(magnitude)) => i32::try_from(magnitude.wrapping_neg()),
        (None, Ok(magnitude)) => i32::try_from(magnitude),
        (_, Err(error)) => Err(error),
    };
    match value {
        Ok(value) => Ok((rest, value)),
        Err(_) => fail(Mismatch::out_of_range(input)),
    }
}

// Fields.

/// `"%x"`: what every line begins with; a blank follows.
pub(crate) fn event_id(input: &[u8]) -> Parsed<'_, EventId> {
    hex32.map(EventId).parse(input)
}

/// The id that a line begins with, whatever may be wrong with the rest.
pub(crate) fn leading_id(line: &[u8]) -> Option<EventId> {
    Some(event_id(line).ok()?.1)
}

/// `"%lld"`: a time since boot.
fn nanos(input: &[u8]) -> Parsed<'_, BootNanos> {
    let (rest, value) = decimal64(input)?;
    match BootNanos::new(value) {
        Some(time) => Ok((rest, time)),
        None => fail(Mismatch::out_of_range(input)),
    }
}

/// `"-%d"`: the minus is literal, so a negative number has two.
fn pid(input: &[u8]) -> Parsed<'_, Pid> {
    preceded(minus, decimal_i32).map(Pid).parse(input)
}

/// `"%lld -%d "`: when, and which process. Most events begin with it.
pub(crate) fn stamp(input: &[u8]) -> Parsed<'_, (BootNanos, Pid)> {
    (nanos, space, pid, space).map(|(time, _, pid, _)| (time, pid)).parse(input)
}

/// `"%x"` of a `pid_t`.
pub(crate) fn hex_pid(input: &[u8]) -> Parsed<'_, Pid> {
    hex32.map(|pid| Pid(pid.cast_signed())).parse(input)
}

/// `"%x"` of a GPU.
pub(crate) fn node(input: &[u8]) -> Parsed<'_, GpuId> {
    hex32.map(GpuId).parse(input)
}

/// `"(%x)"` of a GPU.
pub(crate) fn node_in_parentheses(input: &[u8]) -> Parsed<'_, GpuId> {
    delimited(open, node, close).parse(input)
}

/// `"@%lx"`: an address in pages.
pub(crate) fn page(input: &[u8]) -> Parsed<'_, PageNumber> {
    preceded(at, hex64).map(PageNumber).parse(input)
}

/// `"@%lx(%lx)"`: an address and a size, both in pages.
pub(crate) fn range(input: &[u8]) -> Parsed<'_, PageRange> {
    (page, delimited(open, hex64.map(PageCount), close))
        .map(|(start, count)| PageRange { start, count })
        .parse(input)
}

/// `"%x"` of a place.
pub(crate) fn location(input: &[u8]) -> Parsed<'_, Location> {
    hex32.map(Location).parse(input)
}

/// `"%x->%x"`
pub(crate) fn route(input: &[u8]) -> Parsed<'_, (Location, Location)> {
    separated_pair(location, arrow, location).parse(input)
}

/// `"%c"`: one byte, whichever, with nothing or a blank behind it.
pub(crate) fn letter(input: &[u8]) -> Parsed<'_, u8> {
    match input.split_first() {
        Some((letter, rest @ ([] | [b' ', ..]))) => Ok((rest, *letter)),
        Some((_, rest)) => fail(Mismatch::new(rest, Expected::End)),
        None => fail(Mismatch::new(input, Expected::Letter)),
    }
}

/// The end of a line, or a blank and whatever a newer kernel adds.
pub(crate) fn trailing(input: &[u8]) -> Parsed<'_, Option<Trailing<'_>>> {
    match input {
        [] => Ok((input, None)),
        [b' ', rest @ ..] => Ok((&[], Some(Trailing::of_line(rest)))),
        _ => fail(Mismatch::new(input, Expected::End)),
    }
}

/// `"%s\n"`: all that is left.
pub(crate) fn text(input: &[u8]) -> Parsed<'_, &[u8]> {
    Ok((&[], input))
}

// Shapes: whether something stands there, whatever its value.

/// What is left behind a field that not every kernel prints: the field if it is there.
///
/// A carriage return behind it counts as an end here, so that reading it reports the carriage return.
fn field_ends(rest: &[u8]) -> bool {
    matches!(rest, [] | [b' ' | b'\r', ..])
}

/// Whether a decimal number stands first.
pub(crate) fn begins_with_decimal(tail: &[u8]) -> bool {
    let number: Parsed<'_, _> = (opt(minus), digit1).parse(tail);
    number.is_ok_and(|(rest, _)| field_ends(rest))
}

/// Whether a single byte stands first.
pub(crate) fn begins_with_letter(tail: &[u8]) -> bool {
    matches!(tail, [_, rest @ ..] if field_ends(rest))
}

/// Whether the whole line behind the id is `"%lld -%d %d"`; if so, how long the first number is.
pub(crate) fn dropped_events_shape(input: &[u8]) -> Option<usize> {
    let shape: Parsed<'_, _> = (digit1, space, minus, opt(minus), digit1, space, digit1, eof).parse(input);
    let (_, (nanos, ..)) = shape.ok()?;
    Some(nanos.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind<T: core::fmt::Debug>(parsed: Parsed<'_, T>) -> ParseErrorKind {
        match parsed.unwrap_err() {
            nom::Err::Error(mismatch) => mismatch.kind,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn hexadecimal_is_lower_case_without_prefix() {
        assert_eq!(hex64(b"0123456789abcdef-"), Ok((b"-".as_slice(), 0x0123_4567_89ab_cdef)));
        assert_eq!(hex64(b"ffffffffffffffff"), Ok((b"".as_slice(), u64::MAX)));
        assert_eq!(hex64(b"0000000000000000000001"), Ok((b"".as_slice(), 1)));
        assert_eq!(hex64(b"1A"), Ok((b"A".as_slice(), 1)));
        assert_eq!(kind(hex64(b"10000000000000000")), ParseErrorKind::OutOfRange);
        assert_eq!(kind(hex32(b"100000000")), ParseErrorKind::OutOfRange);
        assert_eq!(kind(hex32(b"g")), ParseErrorKind::Expected(Expected::Hexadecimal));
        assert_eq!(kind(hex32(b"")), ParseErrorKind::EndOfLine(Expected::Hexadecimal));
        for between in [b'/', b':', b'@', b'`', b'g', b'A', b'F'] {
            assert!(hex64(&[between]).is_err());
        }
    }

    #[test]
    fn decimal_has_the_limits_of_its_type() {
        assert_eq!(decimal_i32(b"-2147483648"), Ok((b"".as_slice(), i32::MIN)));
        assert_eq!(decimal_i32(b"2147483647 "), Ok((b" ".as_slice(), i32::MAX)));
        assert_eq!(decimal_i32(b"-0007"), Ok((b"".as_slice(), -7)));
        for text in ["-2147483649", "2147483648", "-99999999999999999999", "18446744073709551615"] {
            assert_eq!(kind(decimal_i32(text.as_bytes())), ParseErrorKind::OutOfRange);
        }
        assert_eq!(kind(decimal_i32(b"--1")), ParseErrorKind::Expected(Expected::Decimal));
        assert_eq!(kind(decimal_i32(b"+1")), ParseErrorKind::Expected(Expected::Decimal));
        assert_eq!(kind(decimal_u32(b"-1")), ParseErrorKind::Expected(Expected::Decimal));
        assert_eq!(kind(decimal_u32(b"4294967296")), ParseErrorKind::OutOfRange);
        assert_eq!(nanos(b"9223372036854775807").unwrap().1, BootNanos::MAX);
        assert_eq!(kind(nanos(b"9223372036854775808")), ParseErrorKind::OutOfRange);
        assert_eq!(pid(b"--5"), Ok((b"".as_slice(), Pid(-5))));
        assert_eq!(pid(b"-0"), Ok((b"".as_slice(), Pid(0))));
        assert!(pid(b"5").is_err());
    }

    #[test]
    fn a_carriage_return_is_reported_as_such() {
        assert_eq!(kind(trailing(b"\r")), ParseErrorKind::CarriageReturn);
        assert_eq!(kind(letter(b"W\r")), ParseErrorKind::CarriageReturn);
        assert_eq!(kind(space(b"\r")), ParseErrorKind::CarriageReturn);
    }
}
