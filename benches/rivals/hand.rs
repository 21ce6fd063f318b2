//! A byte loop as a careful person writes it by hand: one pass, no `unsafe`, no library.

use kfd_smi_testkit::checksum::{Checksum, Field};

pub(crate) fn read(log: &[u8]) -> Checksum {
    let mut sum = Checksum::default();
    let mut input = Input { bytes: log, at: 0 };
    while input.at < log.len() && line(&mut input, &mut sum).is_some() {}
    sum
}

/// What each byte is worth as a hexadecimal digit; 16 if it is none.
const DIGITS: [u8; 256] = {
    let mut digits = [16; 256];
    let mut value = 0;
    while value < 16 {
        digits[b"0123456789abcdef"[value] as usize] = value as u8;
        value += 1;
    }
    digits
};

struct Input<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Input<'a> {
    #[inline(always)]
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    #[inline(always)]
    fn byte(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        self.at += 1;
        Some(byte)
    }

    #[inline(always)]
    fn literal(&mut self, byte: u8) -> Option<()> {
        (self.byte()? == byte).then_some(())
    }

    #[inline(always)]
    fn hex(&mut self) -> Option<u64> {
        let begin = self.at;
        let mut value = 0;
        while let Some(byte) = self.peek()
            && let digit @ 0..16 = DIGITS[usize::from(byte)]
        {
            value = value << 4 | u64::from(digit);
            self.at += 1;
        }
        (1..=16).contains(&(self.at - begin)).then_some(value)
    }

    #[inline(always)]
    fn hex32(&mut self) -> Option<u64> {
        self.hex().filter(|value| *value <= u32::MAX.into())
    }

    #[inline(always)]
    fn decimal(&mut self) -> Option<u64> {
        let begin = self.at;
        let mut value = 0_u64;
        while let Some(byte @ b'0'..=b'9') = self.peek() {
            value = value.wrapping_mul(10).wrapping_add(u64::from(byte - b'0'));
            self.at += 1;
        }
        (1..=19).contains(&(self.at - begin)).then_some(value)
    }

    #[inline(always)]
    fn decimal_i32(&mut self) -> Option<i32> {
        let negative = self.peek() == Some(b'-');
        self.at += usize::from(negative);
        let value = i64::try_from(self.decimal()?).ok()?;
        i32::try_from(if negative { -value } else { value }).ok()
    }

    #[inline(always)]
    fn text(&mut self) -> &'a [u8] {
        let begin = self.at;
        while self.peek().is_some_and(|byte| byte != b'\n') {
            self.at += 1;
        }
        &self.bytes[begin..self.at]
    }

    #[inline(always)]
    fn blank(&mut self) -> Option<()> {
        self.literal(b' ')
    }

    #[inline(always)]
    fn time_and_pid(&mut self, sum: &mut Checksum) -> Option<()> {
        sum.add(Field::Time, self.decimal()?);
        self.blank()?;
        self.literal(b'-')?;
        sum.add_signed(Field::Pid, self.decimal_i32()?);
        self.blank()
    }

    #[inline(always)]
    fn range(&mut self, sum: &mut Checksum) -> Option<()> {
        self.literal(b'@')?;
        sum.add(Field::Address, self.hex()?);
        self.literal(b'(')?;
        sum.add(Field::Size, self.hex()?);
        self.literal(b')')?;
        self.blank()
    }

    #[inline(always)]
    fn route(&mut self, sum: &mut Checksum) -> Option<()> {
        sum.add(Field::From, self.hex32()?);
        self.literal(b'-')?;
        self.literal(b'>')?;
        sum.add(Field::To, self.hex32()?);
        self.blank()
    }

    #[inline(always)]
    fn optional_letter(&mut self, sum: &mut Checksum) -> Option<()> {
        if self.peek() == Some(b' ') {
            self.at += 1;
            sum.add_optional(Field::Letter, Some(self.byte()?.into()));
        }
        Some(())
    }
}

fn line(input: &mut Input<'_>, sum: &mut Checksum) -> Option<()> {
    let id = input.hex32()?;
    sum.add(Field::Id, id);
    input.blank()?;
    match id {
        1 => {
            sum.add(Field::Pid, input.hex32()?);
            input.literal(b':')?;
            sum.add_text(input.text());
        }
        2 => {
            sum.add(Field::Address, input.hex()?);
            input.literal(b':')?;
            sum.add(Field::Size, input.hex()?);
        }
        3 | 4 => {
            sum.add(Field::From, input.hex32()?);
            if input.peek() == Some(b' ') {
                input.at += 1;
                sum.add_text(input.text());
            }
        }
        5 => {
            input.time_and_pid(sum)?;
            input.range(sum)?;
            input.route(sum)?;
            sum.add(Field::Prefetch, input.hex32()?);
            input.literal(b':')?;
            sum.add(Field::Preferred, input.hex32()?);
            input.blank()?;
            sum.add_signed(Field::Trigger, input.decimal_i32()?);
        }
        6 => {
            input.time_and_pid(sum)?;
            input.range(sum)?;
            input.route(sum)?;
            sum.add_signed(Field::Trigger, input.decimal_i32()?);
            if input.peek() == Some(b' ') {
                input.at += 1;
                sum.add_optional(Field::Error, Some(input.decimal_i32()?));
            }
        }
        7 | 8 => {
            input.time_and_pid(sum)?;
            input.literal(b'@')?;
            sum.add(Field::Address, input.hex()?);
            input.literal(b'(')?;
            sum.add(Field::From, input.hex32()?);
            input.literal(b')')?;
            input.blank()?;
            sum.add_optional(Field::Letter, Some(input.byte()?.into()));
        }
        9 => {
            input.time_and_pid(sum)?;
            sum.add(Field::From, input.hex32()?);
            input.blank()?;
            sum.add_signed(Field::Trigger, input.decimal_i32()?);
        }
        10 => {
            input.time_and_pid(sum)?;
            sum.add(Field::From, input.hex32()?);
            input.optional_letter(sum)?;
        }
        11 => {
            input.time_and_pid(sum)?;
            input.range(sum)?;
            sum.add(Field::From, input.hex32()?);
            input.blank()?;
            sum.add_signed(Field::Trigger, input.decimal_i32()?);
        }
        12 | 13 => {
            sum.add(Field::Pid, input.hex32()?);
            input.blank()?;
            sum.add_text(input.text());
        }
        _ => return None,
    }
    input.literal(b'\n')?;
    sum.end_line();
    Some(())
}
