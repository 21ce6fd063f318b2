//! Numbers to digits, eight at a time.
//!
//! The parts of a number are brought into lanes of one word, and all lanes are divided at once: by
//! multiplication with the reciprocal, rounded up far enough to be exact for every value that a lane can have.

#![allow(
    clippy::arithmetic_side_effects,
    reason = "every lane has room for its product, and every difference is a remainder"
)]

use crate::word::each;

/// Digits as they are written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Digits {
    /// The first one first; behind the last, anything.
    pub(super) text: [u8; 8],
    /// How many there are, 1 to 8.
    pub(super) len: usize,
}

impl Digits {
    /// The last eight digits of a decimal number, zeros in front included, and the number that the others are.
    #[inline(always)]
    pub(super) const fn decimal(value: u64) -> (u64, Self) {
        const TEN_TO_THE_8: u64 = 100_000_000;
        let (front, value) = (value / TEN_TO_THE_8, value % TEN_TO_THE_8);
        // abcdefgh: two lanes of abcd, efgh; four of ab, cd, ef, gh; eight of a to h. The first is always the lowest.
        let fours = (value / 10_000) | ((value % 10_000) << 32);
        let hundreds = ((fours * 10_486) >> 20) & 0x0000_007f_0000_007f;
        let twos = hundreds | ((fours - hundreds * 100) << 16);
        let tens = ((twos * 103) >> 10) & 0x000f_000f_000f_000f;
        let digits = tens | ((twos - tens * 10) << 8);
        (front, Self { text: (digits | each(b'0')).to_le_bytes(), len: 8 })
    }

    /// A hexadecimal number, zeros in front included.
    #[inline(always)]
    pub(super) const fn hex(value: u32) -> Self {
        let eights = value as u64;
        let fours = (eights | (eights << 16)) & 0x0000_ffff_0000_ffff;
        let twos = (fours | (fours << 8)) & 0x00ff_00ff_00ff_00ff;
        let digits = (twos | (twos << 4)) & each(0x0f);
        // Adding 6 sets bit 4 of what is written as a letter.
        let letters = ((digits + each(6)) >> 4) & each(1);
        let text = digits + each(b'0') + letters * (b'a' - b'9' - 1) as u64;
        Self { text: text.to_be_bytes(), len: 8 }
    }

    /// Without zeros in front.
    #[inline(always)]
    pub(super) const fn stripped(self) -> Self {
        let text = u64::from_le_bytes(self.text);
        // A zero as number has one digit.
        let zeros = ((text ^ each(b'0')) | (1 << 56)).trailing_zeros() / 8;
        Self { text: (text >> (8 * zeros)).to_le_bytes(), len: 8 - zeros as usize }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::format;

    fn text(digits: Digits) -> std::string::String {
        core::str::from_utf8(&digits.text[..digits.len]).unwrap().into()
    }

    #[test]
    fn every_lane_divides_right() {
        // An interpreter takes minutes for all of them.
        let step = if cfg!(miri) { 97 } else { 1 };
        for value in (0..10_000).chain((0..10_000).map(|value| value * 10_000 + 9_999)).step_by(step) {
            let (front, digits) = Digits::decimal(value + 7 * 100_000_000);
            assert_eq!((front, text(digits)), (7, format!("{value:08}")));
            assert_eq!(text(digits.stripped()), format!("{value}"));
        }
    }

    #[test]
    fn every_digit_is_written_at_every_place() {
        for digit in 0..16 {
            for place in 0..8 {
                for value in [digit << (4 * place), 0x89ab_cdef ^ digit << (4 * place)] {
                    assert_eq!(text(Digits::hex(value)), format!("{value:08x}"));
                    assert_eq!(text(Digits::hex(value).stripped()), format!("{value:x}"));
                }
            }
        }
    }
}
