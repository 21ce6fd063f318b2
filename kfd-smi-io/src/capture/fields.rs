//! The fields of a line of the file.

use kfd_smi_proto::{BootNanos, GpuId, Pid};

use super::error::{CaptureErrorKind, Mistake};
use super::escape;
use super::text::Text;

/// What is left of a line, and where that stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fields<'a> {
    line: &'a [u8],
    /// `line.len() + 1` behind the last field.
    at: usize,
}

impl<'a> Fields<'a> {
    pub(super) const fn new(line: &'a [u8]) -> Self {
        Self { line, at: 0 }
    }

    /// The bytes up to the next blank or the end, and where they stand. None of them can mean a missing field.
    pub(super) fn take(&mut self) -> (&'a [u8], usize) {
        let at = self.at;
        let rest = self.rest();
        let length = rest.iter().position(|byte| *byte == b' ').unwrap_or(rest.len());
        self.at += length + 1;
        (&rest[..length], at)
    }

    /// What stands behind the last blank.
    pub(super) fn rest(&self) -> &'a [u8] {
        self.line.get(self.at..).unwrap_or_default()
    }

    /// Where the next field stands.
    pub(super) const fn at(&self) -> usize {
        self.at
    }

    /// Whether the line ends here, where one more blank was to come.
    pub(super) const fn is_at_end(&self) -> bool {
        self.at > self.line.len()
    }

    /// The next field, read by this function.
    pub(super) fn read<T>(
        &mut self,
        kind: CaptureErrorKind,
        read: impl FnOnce(&'a [u8]) -> Option<T>,
    ) -> Result<T, Mistake> {
        let (field, at) = self.take();
        if field.is_empty() {
            return Err((at.min(self.line.len()), CaptureErrorKind::Field));
        }
        read(field).ok_or((at, kind))
    }

    pub(super) fn text(&mut self) -> Result<Text, Mistake> {
        let (field, at) = self.take();
        if field.is_empty() {
            return Err((at.min(self.line.len()), CaptureErrorKind::Field));
        }
        match escape::field(field) {
            Ok(bytes) => Ok(bytes.into()),
            Err((offset, kind)) => Err((at + offset, kind)),
        }
    }

    pub(super) fn gpu(&mut self) -> Result<GpuId, Mistake> {
        self.read(CaptureErrorKind::Gpu, gpu)
    }

    pub(super) fn time(&mut self) -> Result<BootNanos, Mistake> {
        self.read(CaptureErrorKind::Time, time)
    }

    pub(super) fn decimal<T: TryFrom<u64>>(&mut self) -> Result<T, Mistake> {
        self.read(CaptureErrorKind::Decimal, |field| T::try_from(decimal(field)?).ok())
    }

    pub(super) fn pid(&mut self) -> Result<Pid, Mistake> {
        self.decimal().map(u32::cast_signed).map(Pid)
    }
}

pub(super) fn gpu(field: &[u8]) -> Option<GpuId> {
    hexadecimal(field).and_then(|id| u32::try_from(id).ok()).map(GpuId)
}

pub(super) fn time(field: &[u8]) -> Option<BootNanos> {
    decimal(field).and_then(BootNanos::new)
}

pub(super) fn decimal(field: &[u8]) -> Option<u64> {
    number(field, 10)
}

pub(super) fn hexadecimal(field: &[u8]) -> Option<u64> {
    number(field, 16)
}

/// A number of lower-case digits alone: no sign, no `0x`.
fn number(field: &[u8], base: u32) -> Option<u64> {
    if field.is_empty() {
        return None;
    }
    field.iter().try_fold(0_u64, |number, byte| {
        let digit = char::from(*byte).to_digit(base).filter(|_| !byte.is_ascii_uppercase())?;
        number.checked_mul(base.into())?.checked_add(digit.into())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_lower_case_digits_of_their_range() {
        assert_eq!(hexadecimal(b"ffffffffffffffff"), Some(u64::MAX));
        assert_eq!(hexadecimal(b"00001ea0"), Some(0x1ea0));
        for wrong in ["", "1EA0", "0x1", "+1", "-1", " 1", "10000000000000000", "g"] {
            assert_eq!(hexadecimal(wrong.as_bytes()), None, "{wrong}");
        }
        assert_eq!(decimal(b"18446744073709551615"), Some(u64::MAX));
        assert_eq!(decimal(b"18446744073709551616"), None);
        assert_eq!(decimal(b"1f"), None);
        assert_eq!(time(b"9223372036854775808"), None);
        assert_eq!(gpu(b"100000000"), None);
    }

    #[test]
    fn one_blank_stands_between_fields() {
        let mut fields = Fields::new(b"a  b");
        assert_eq!(fields.take(), (b"a".as_slice(), 0));
        assert_eq!(fields.take(), (b"".as_slice(), 2));
        assert_eq!(fields.take(), (b"b".as_slice(), 3));
        assert!(fields.is_at_end());
        assert_eq!(fields.take().0, b"");
        assert_eq!(Fields::new(b"").text(), Err((0, CaptureErrorKind::Field)));
        let mut fields = Fields::new(b"lost");
        fields.take();
        assert_eq!(fields.decimal::<u64>(), Err((4, CaptureErrorKind::Field)));
    }
}
