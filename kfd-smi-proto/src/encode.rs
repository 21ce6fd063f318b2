//! Events to the kernel's bytes: [`encode`].

use core::fmt;

use crate::event::Event;
use crate::field::{BootNanos, Location, Pid};
use crate::line::MAX_LINE;
use crate::page::{PageNumber, PageRange};

/// Writes the line that a kernel prints for an event, newline included, and gives it back.
///
/// An event holds its wire form: with or without an error code, whichever the restore letter. Parsing the
/// line gives an equal event, and encoding an event that was parsed from a kernel's line gives that line.
/// A buffer of [`MAX_LINE`]` + 1` bytes holds every line.
///
/// # Errors
///
/// [`EncodeError`] if the buffer is too small, or the line would be longer than [`MAX_LINE`]: only the bytes of
/// a text that was parsed from one such line and then put into another event can be that many.
///
/// ```
/// use kfd_smi_proto::{Event, GpuId, Pid, BootNanos, QueueRestore, RestoreFlag, encode};
///
/// let restore = QueueRestore::new(
///     BootNanos::new(38652512365099).unwrap(),
///     Pid(131057),
///     GpuId(0xfc7d),
///     RestoreFlag::NUL,
///     None,
/// );
/// let mut buffer = [0; 64];
/// let line = encode(&Event::QueueRestore(restore.unwrap()), &mut buffer).unwrap();
/// assert_eq!(line, b"a 38652512365099 -131057 fc7d \0\n");
/// ```
pub fn encode<'b>(event: &Event<'_>, buffer: &'b mut [u8]) -> Result<&'b [u8], EncodeError> {
    let mut out = Encoder { buffer, length: 0 };
    event.encode(&mut out);
    let Encoder { buffer, length } = out;
    // What the newline needs beyond the line itself.
    let needed = length.saturating_add(1);
    if length > MAX_LINE {
        return Err(EncodeError::LineTooLong { length });
    }
    match buffer.split_at_mut_checked(length) {
        Some((_, [newline, ..])) => *newline = b'\n',
        _ => return Err(EncodeError::BufferTooSmall { needed }),
    }
    buffer.get(..needed).ok_or(EncodeError::BufferTooSmall { needed })
}

/// Why an event could not be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum EncodeError {
    /// The buffer does not hold the line.
    BufferTooSmall {
        /// The size of the line in bytes, its newline included.
        needed: usize,
    },
    /// The line has more bytes than [`MAX_LINE`]; a parser would refuse it.
    LineTooLong {
        /// The size of the line in bytes, without its newline.
        length: usize,
    },
}

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BufferTooSmall { needed } => write!(f, "expected a buffer of {needed} bytes or more"),
            Self::LineTooLong { length } => {
                write!(f, "expected a line of at most {MAX_LINE} bytes, it would have {length}")
            }
        }
    }
}

impl core::error::Error for EncodeError {}

/// Writes into a buffer as long as there is room, and counts on.
#[derive(Debug)]
pub(crate) struct Encoder<'b> {
    buffer: &'b mut [u8],
    length: usize,
}

impl Encoder<'_> {
    /// `"%s"`
    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        let room = self.buffer.get_mut(self.length..).unwrap_or_default();
        if let Some(room) = room.get_mut(..bytes.len()) {
            room.copy_from_slice(bytes);
        }
        self.length = self.length.saturating_add(bytes.len());
        self
    }

    pub(crate) fn literal(&mut self, text: &str) -> &mut Self {
        self.bytes(text.as_bytes())
    }

    /// `"%c"`
    pub(crate) fn byte(&mut self, byte: u8) -> &mut Self {
        self.bytes(&[byte])
    }

    /// `"%llx"`
    pub(crate) fn hex(&mut self, value: impl Into<u64>) -> &mut Self {
        self.digits(value.into(), 16, 1)
    }

    /// `"%lld"` of what is not negative.
    pub(crate) fn decimal(&mut self, value: impl Into<u64>) -> &mut Self {
        self.digits(value.into(), 10, 1)
    }

    /// `"%0*lld"` of what is not negative.
    pub(crate) fn padded(&mut self, value: u64, width: usize) -> &mut Self {
        self.digits(value, 10, width)
    }

    /// `"%d"`
    pub(crate) fn signed(&mut self, value: i32) -> &mut Self {
        if value < 0 {
            self.literal("-");
        }
        self.decimal(value.unsigned_abs())
    }

    /// `"%lld"` of a time.
    pub(crate) fn nanos(&mut self, time: BootNanos) -> &mut Self {
        self.decimal(time.nanos())
    }

    /// `"-%d"`
    pub(crate) fn pid(&mut self, pid: Pid) -> &mut Self {
        self.literal("-").signed(pid.0)
    }

    /// `"@%lx"`
    pub(crate) fn page(&mut self, page: PageNumber) -> &mut Self {
        self.literal("@").hex(page.0)
    }

    /// `"@%lx(%lx)"`
    pub(crate) fn range(&mut self, range: PageRange) -> &mut Self {
        self.page(range.start).literal("(").hex(range.count.0).literal(")")
    }

    /// `"%x->%x"`
    pub(crate) fn route(&mut self, from: Location, to: Location) -> &mut Self {
        self.hex(from.0).literal("->").hex(to.0)
    }

    fn digits(&mut self, value: u64, base: u64, width: usize) -> &mut Self {
        // 2^64 has 20 decimal digits.
        let mut digits = [0; 20];
        let mut rest = value;
        let mut used = 0_usize;
        for slot in digits.iter_mut().rev() {
            let digit = rest.checked_rem(base).unwrap_or_default().to_le_bytes()[0];
            *slot = if digit < 10 { b'0' | digit } else { digit.wrapping_add(b'a' - 10) };
            rest = rest.checked_div(base).unwrap_or_default();
            used = used.saturating_add(1);
            if rest == 0 && used >= width {
                break;
            }
        }
        let skipped = digits.len().saturating_sub(used);
        self.bytes(digits.get(skipped..).unwrap_or_default())
    }

    /// A blank and what stands behind it, for what not every kernel prints.
    pub(crate) fn tail(&mut self, bytes: Option<&[u8]>) -> &mut Self {
        match bytes {
            Some(bytes) => self.literal(" ").bytes(bytes),
            None => self,
        }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use crate::{EventId, Trailing, Unknown};
    use std::format;
    use std::vec::Vec;

    fn written(write: impl Fn(&mut Encoder<'_>)) -> Vec<u8> {
        let mut buffer = [0; 64];
        let mut out = Encoder { buffer: &mut buffer, length: 0 };
        write(&mut out);
        let length = out.length;
        buffer[..length].to_vec()
    }

    #[test]
    fn numbers_are_written_as_by_printf() {
        for value in [0, 1, 9, 10, 15, 16, 255, 256, 0xdead_beef, u64::MAX - 1, u64::MAX] {
            assert_eq!(written(|out| _ = out.hex(value)), format!("{value:x}").as_bytes());
            assert_eq!(written(|out| _ = out.decimal(value)), format!("{value}").as_bytes());
        }
        for value in [0, -1, 7, i32::MIN, i32::MAX] {
            assert_eq!(written(|out| _ = out.signed(value)), format!("{value}").as_bytes());
        }
    }

    #[test]
    fn a_small_buffer_is_an_error_that_says_the_size() {
        let event = Event::Unknown(Unknown::new(EventId(0xff), Trailing::new(b"abc").unwrap()).unwrap());
        for size in 0..7 {
            let error = encode(&event, &mut [0; 64][..size]).unwrap_err();
            assert_eq!(error, EncodeError::BufferTooSmall { needed: 7 });
        }
        assert_eq!(encode(&event, &mut [0; 7]), Ok(b"ff abc\n".as_slice()));
        assert_eq!(encode(&event, &mut [b'x'; 8]), Ok(b"ff abc\n".as_slice()));
    }

    #[test]
    fn a_text_from_a_long_line_does_not_fit_everywhere() {
        let mut line = [b'x'; MAX_LINE];
        line[..4].copy_from_slice(b"1 5:");
        let Ok(Event::VmFault(mut fault)) = crate::parse_line(&line).event else { panic!("not a fault") };
        assert!(encode(&Event::VmFault(fault), &mut [0; MAX_LINE + 1]).is_ok());
        fault.pid = Pid(-1);
        let error = encode(&Event::VmFault(fault), &mut [0; 2 * MAX_LINE]).unwrap_err();
        assert_eq!(error, EncodeError::LineTooLong { length: MAX_LINE + 7 });
    }
}
