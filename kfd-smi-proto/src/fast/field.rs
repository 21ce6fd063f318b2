//! How a field is read: the window, and the arithmetic of digits.
//!
//! A number is read as one or two words of eight bytes, three where it is a long time. Arithmetic on the
//! whole word tells which of its bytes is the first that is no digit, and makes a number of those before it, with
//! three multiplications. No loop ends at a place that the processor has to guess. Only single digits, which triggers,
//! error codes and system memory are, are looked at alone, and so is the ninth digit of a page number: those of
//! programs have nine.
//!
//! All words lie in a window of fixed size. The longest line that can be read here is a MIGRATE_START of numbers
//! of 19, 8, 16, 16, 8, 8, 8, 8 and 8 digits: 114 bytes. So no place in it is beyond [`LAST_WORD`], and masking
//! with that changes nothing; but the compiler can see from it that every access is in bounds.
//!
//! The parsers are unit structs with an inlined `process`, because nom calls functions given as parsers through
//! memory.

#![allow(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "places are those of a line of at most 114 bytes, and numbers those of 8 digits, unless said otherwise"
)]

use core::ops::Range;

use nom::{Err, Mode as _, OutputMode, PResult, Parser};

use crate::field::BootNanos;
use crate::word::{LAST_WORD, WINDOW, each};

/// A place in a window.
#[derive(Clone, Copy)]
pub(super) struct Cursor<'w> {
    pub(super) window: &'w [u8; WINDOW],
    pub(super) at: usize,
}

impl Cursor<'_> {
    /// The next `N` bytes, up to 8.
    #[inline(always)]
    fn bytes<const N: usize>(self) -> [u8; N] {
        let at = self.at & LAST_WORD;
        let mut bytes = [0; N];
        bytes.copy_from_slice(&self.window[at..at + N]);
        bytes
    }

    /// The next byte.
    #[inline(always)]
    fn byte(self) -> u8 {
        self.window[self.at & LAST_WORD]
    }

    /// The next eight bytes, the first of them the lowest.
    #[inline(always)]
    fn word(self) -> u64 {
        u64::from_le_bytes(self.bytes())
    }

    /// Whether the next byte is no digit, but a blank, `(`, `)`, `-`, a newline or a NUL.
    #[inline(always)]
    fn ends_number(self) -> bool {
        self.byte() < b'0'
    }

    #[inline(always)]
    fn skip(self, bytes: usize) -> Self {
        Self { at: self.at + bytes, ..self }
    }
}

/// Declares a parser of one field: its name, and what reads the field and gives the place behind it.
macro_rules! fields {
    ($($(#[$doc:meta])* $name:ident -> $output:ty = $read:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy)]
        pub(super) struct $name;

        impl<'w> Parser<Cursor<'w>> for $name {
            type Output = $output;
            type Error = ();

            #[inline(always)]
            fn process<OM: OutputMode>(
                &mut self,
                input: Cursor<'w>,
            ) -> PResult<OM, Cursor<'w>, Self::Output, Self::Error> {
                match $read(input) {
                    Some((rest, output)) => Ok((rest, OM::Output::bind(|| output))),
                    None => Err(Err::Error(OM::Error::bind(|| ()))),
                }
            }
        }
    )*};
}

fields! {
    /// `"%lld"` of a time: 8 to 19 digits.
    Nanos -> BootNanos = nanos;
    /// `"%d"` of what is not negative: up to 8 digits.
    Unsigned -> i32 = unsigned;
    /// The same, if it is likely to have one digit.
    Decimal -> i32 = decimal;
    /// `"%x"`: up to 8 digits.
    Hex32 -> u32 = hex32;
    /// The same, if it is likely to have one digit, as system memory has.
    Place -> u32 = place;
    /// `"%lx"`: up to 16 digits.
    Hex64 -> u64 = hex64;
    /// `"%c"`
    Letter -> u8 = letter;
    /// `" %d"`, or nothing.
    ErrorCode -> Option<i32> = error_code;
    /// `" %c"`, or nothing.
    Flag -> Option<u8> = flag;
    /// `"%s"`, up to a newline in the window: where it stands.
    Text -> Range<usize> = text;
    /// `" %s"`, or nothing.
    Cause -> Option<Range<usize>> = cause;
}

/// These bytes.
#[derive(Clone, Copy)]
pub(super) struct Is<const N: usize>(pub(super) &'static [u8; N]);

impl<'w, const N: usize> Parser<Cursor<'w>> for Is<N> {
    type Output = ();
    type Error = ();

    #[inline(always)]
    fn process<OM: OutputMode>(
        &mut self,
        input: Cursor<'w>,
    ) -> PResult<OM, Cursor<'w>, Self::Output, Self::Error> {
        if input.bytes() == *self.0 {
            Ok((input.skip(N), OM::Output::bind(|| ())))
        } else {
            Err(Err::Error(OM::Error::bind(|| ())))
        }
    }
}

/// What was read, and the place behind it.
type Field<'w, T> = Option<(Cursor<'w>, T)>;

#[inline(always)]
fn nanos(input: Cursor<'_>) -> Field<'_, BootNanos> {
    let first = Digits::decimal(input.word());
    if first.len < 8 {
        // The machine booted a tenth of a second ago, or this is no time.
        return None;
    }
    let second = Digits::decimal(input.skip(8).word());
    let mut value = second.behind(first.value(10));
    let mut len = 8 + second.len;
    if second.len == 8 {
        // It booted more than 115 days ago.
        let third = Digits::decimal(input.skip(16).word());
        if third.len > 3 {
            return None;
        }
        value = third.behind(value);
        len += third.len;
    }
    // 19 digits fit into 64 bits, though not into 63.
    Some((input.skip(len), BootNanos::new(value)?))
}

#[inline(always)]
fn unsigned(input: Cursor<'_>) -> Field<'_, i32> {
    let digits = Digits::decimal(input.word());
    (digits.len > 0).then_some((input.skip(digits.len), digits.value(10) as i32))
}

#[inline(always)]
fn decimal(input: Cursor<'_>) -> Field<'_, i32> {
    if input.skip(1).ends_number() {
        let digit = input.byte().wrapping_sub(b'0');
        return (digit < 10).then_some((input.skip(1), i32::from(digit)));
    }
    unsigned(input)
}

#[inline(always)]
fn hex32(input: Cursor<'_>) -> Field<'_, u32> {
    let digits = Digits::hex(input.word());
    (digits.len > 0).then_some((input.skip(digits.len), digits.value(16) as u32))
}

#[inline(always)]
fn place(input: Cursor<'_>) -> Field<'_, u32> {
    if input.skip(1).ends_number() {
        let digit = hex_digit(input)?;
        return Some((input.skip(1), u32::from(digit)));
    }
    hex32(input)
}

#[inline(always)]
fn hex64(input: Cursor<'_>) -> Field<'_, u64> {
    let first = Digits::hex(input.word());
    let value = first.value(16);
    match first.len {
        0 => return None,
        8 => {}
        len => return Some((input.skip(len), value)),
    }
    let rest = input.skip(8);
    if rest.skip(1).ends_number()
        && let Some(digit) = hex_digit(rest)
    {
        return Some((rest.skip(1), value << 4 | u64::from(digit)));
    }
    let second = Digits::hex(rest.word());
    if second.len == 0 {
        return Some((rest, value));
    }
    Some((rest.skip(second.len), value << (4 * second.len) | second.value(16)))
}

#[inline(always)]
fn letter(input: Cursor<'_>) -> Field<'_, u8> {
    Some((input.skip(1), input.byte()))
}

#[inline(always)]
fn error_code(input: Cursor<'_>) -> Field<'_, Option<i32>> {
    let rest = input.skip(1);
    match (input.byte(), rest.byte()) {
        (b' ', b'-') => decimal(rest.skip(1)).map(|(rest, magnitude)| (rest, Some(-magnitude))),
        (b' ', _) => decimal(rest).map(|(rest, value)| (rest, Some(value))),
        _ => Some((input, None)),
    }
}

#[inline(always)]
fn flag(input: Cursor<'_>) -> Field<'_, Option<u8>> {
    let rest = input.skip(1);
    if input.byte() == b' ' { Some((rest.skip(1), Some(rest.byte()))) } else { Some((input, None)) }
}

#[inline(always)]
fn text(input: Cursor<'_>) -> Field<'_, Range<usize>> {
    let mut end = input;
    while end.at <= LAST_WORD {
        // A byte that is 0 borrows from above itself and has no bit 7; the lowest that is flagged is one.
        let others = end.word() ^ each(b'\n');
        let newlines = others.wrapping_sub(each(1)) & !others & each(0x80);
        if newlines != 0 {
            end = end.skip(newlines.trailing_zeros() as usize / 8);
            return Some((end, input.at..end.at));
        }
        end = end.skip(8);
    }
    None
}

#[inline(always)]
fn cause(input: Cursor<'_>) -> Field<'_, Option<Range<usize>>> {
    if input.byte() == b' ' {
        let (rest, text) = text(input.skip(1))?;
        return Some((rest, Some(text)));
    }
    Some((input, None))
}

#[inline(always)]
fn hex_digit(input: Cursor<'_>) -> Option<u8> {
    /// The value of each digit; of every other byte, 255.
    const VALUES: [u8; 256] = {
        let mut values = [255; 256];
        let mut value = 0;
        while value < 16 {
            values[b"0123456789abcdef"[value as usize] as usize] = value;
            value += 1;
        }
        values
    };
    let value = VALUES[usize::from(input.byte())];
    (value < 16).then_some(value)
}

/// The digits that a word begins with.
#[derive(Clone, Copy)]
struct Digits {
    /// The value of each in its byte; behind them, anything.
    values: u64,
    /// How many there are, 0 to 8.
    len: usize,
}

impl Digits {
    #[inline(always)]
    fn decimal(word: u64) -> Self {
        // Digits become 0 to 9. Every other byte has one of its upper four bits set, or gets one by adding 6. What the
        // sum of such a byte carries over reaches only bytes behind it.
        let values = word ^ each(b'0');
        let others = (values | values.wrapping_add(each(6))) & each(0xf0);
        Self { values, len: others.trailing_zeros() as usize / 8 }
    }

    #[inline(always)]
    fn hex(word: u64) -> Self {
        // Letters are told by bit 6, and moved to where digits would go on: a to f become 10 to 15. Every byte that is
        // no digit then has one of its upper four bits set; or adding 6 sets bit 4 though it has no bit 6, or does not
        // though it has. Nothing is borrowed: 0x27 is less than any byte with bit 6.
        let letters = word >> 6 & each(1);
        let values = word.wrapping_sub(letters * 0x27) ^ each(b'0');
        let others = (values | values.wrapping_add(each(6)) ^ letters << 4) & each(0xf0);
        Self { values, len: others.trailing_zeros() as usize / 8 }
    }

    /// The number in this base that the digits are, if there is one.
    #[inline(always)]
    fn value(self, base: u64) -> u64 {
        // The digits move to the upper end, with zeros in front of them. Then neighbours become one number, three times.
        let digits = self.values.wrapping_shl(64_u32.wrapping_sub(8 * self.len as u32));
        let pairs = digits.wrapping_mul(base << 8 | 1) >> 8 & 0x00ff_00ff_00ff_00ff;
        let fours = pairs.wrapping_mul(base.pow(2) << 16 | 1) >> 16 & 0x0000_ffff_0000_ffff;
        fours.wrapping_mul(base.pow(4) << 32 | 1) >> 32
    }

    /// The decimal number that has the digits behind those of another, of which 19 are not passed.
    #[inline(always)]
    fn behind(self, front: u64) -> u64 {
        const POWERS: [u64; 9] = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000];
        if self.len == 0 { front } else { front * POWERS[self.len] + self.value(10) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is read of these bytes and how far, with anything behind them.
    fn read<T>(field: impl Fn(Cursor<'_>) -> Field<'_, T>, bytes: &[u8], behind: u8) -> Option<(T, usize)> {
        let mut window = [behind; WINDOW];
        window[..bytes.len()].copy_from_slice(bytes);
        let (rest, value) = field(Cursor { window: &window, at: 0 })?;
        Some((value, rest.at))
    }

    #[test]
    fn every_byte_is_a_digit_or_ends_a_number() {
        for position in 0..8 {
            for byte in 0..=u8::MAX {
                let mut bytes = [b'9'; 8];
                bytes[position] = byte;
                let word = u64::from_le_bytes(bytes);
                let expected = |is_digit| if is_digit { 8 } else { position };
                assert_eq!(Digits::decimal(word).len, expected(byte.is_ascii_digit()), "{bytes:?}");
                let is_hex = matches!(byte, b'0'..=b'9' | b'a'..=b'f');
                assert_eq!(Digits::hex(word).len, expected(is_hex), "{bytes:?}");
                // Whatever stands behind it.
                let bytes = bytes.map(|byte| byte | 0x80);
                assert_eq!(Digits::hex(u64::from_le_bytes(bytes)).len, 0);
                assert_eq!(Digits::decimal(u64::from_le_bytes(bytes)).len, 0);
            }
        }
    }

    #[test]
    fn numbers_of_every_width_have_their_value() {
        let text = b"fedcba9876543210";
        let mut value = 0;
        for len in 1..=16 {
            value = value << 4 | (16 - len as u64);
            for behind in [b'(', b'>', b'g', b':', 0, 0xff] {
                assert_eq!(read(hex64, &text[..len], behind), Some((value, len)));
                if len <= 8 {
                    assert_eq!(read(hex32, &text[..len], behind), Some((value as u32, len)));
                }
            }
        }
        let text = b"9182736455463728190";
        let mut value = 0;
        for len in 1..=19 {
            value = value * 10 + u64::from(text[len - 1] - b'0');
            for behind in [b' ', b':', b'a', 0, 0xff] {
                let time = BootNanos::new(value).filter(|_| len >= 8).map(|time| (time, len));
                assert_eq!(read(nanos, &text[..len], behind), time);
                if len <= 8 {
                    assert_eq!(read(decimal, &text[..len], behind), Some((value as i32, len)));
                }
            }
        }
        assert_eq!(read(nanos, b"9223372036854775807", b' '), Some((BootNanos::MAX, 19)));
        assert_eq!(read(nanos, b"9223372036854775808", b' '), None);
        assert_eq!(read(nanos, b"00000000000000000001", b' '), None);
        assert_eq!(read(decimal, b"-", b'1'), None);
        assert_eq!(read(error_code, b" -12\n", b' '), Some((Some(-12), 4)));
        assert_eq!(read(error_code, b"\n", b' '), Some((None, 0)));
    }
}
