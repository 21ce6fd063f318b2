//! Events to the kernel's bytes: [`encode`].

use core::fmt;

use crate::event::Event;
use crate::field::{BootNanos, Location, Pid};
use crate::line::MAX_LINE;
use crate::page::{PageNumber, PageRange};
use crate::word::{LAST_WORD, WINDOW};

use self::digits::Digits;

mod digits;

/// Writes the line that a kernel prints for an event, newline included, and gives it back.
///
/// An event holds its wire form: with or without an error code, whichever the restore letter. Parsing the
/// line gives an equal event, and encoding an event that was parsed from a kernel's line gives that line.
/// A buffer of [`MAX_LINE`]` + 1` bytes holds every line. What is behind the line in it may be overwritten.
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
    let mut small;
    let (length, text) = match buffer.first_chunk_mut() {
        Some(head) => write_head(event, head),
        None => {
            small = [0; WINDOW];
            let (length, text) = write_head(event, &mut small);
            let room = buffer.len().min(length);
            if let (Some(room), Some(head)) = (buffer.get_mut(..room), small.get(..room)) {
                room.copy_from_slice(head);
            }
            (length, text)
        }
    };
    let needed = length.saturating_add(text.len()).saturating_add(1);
    if needed > MAX_LINE + 1 {
        return Err(EncodeError::LineTooLong { length: needed.saturating_sub(1) });
    }
    let error = EncodeError::BufferTooSmall { needed };
    let line = buffer.get_mut(..needed).ok_or(error)?;
    let (newline, front) = line.split_last_mut().ok_or(error)?;
    *newline = b'\n';
    if !text.is_empty() {
        let room = front.get_mut(length..).and_then(|room| room.get_mut(..text.len())).ok_or(error)?;
        room.copy_from_slice(text);
    }
    Ok(line)
}

/// Writes what comes before the text of an event, and gives its length and the text.
#[inline(never)]
fn write_head<'t>(event: &Event<'t>, head: &mut [u8; WINDOW]) -> (usize, &'t [u8]) {
    let mut out = Encoder { head, length: 0, text: &[] };
    event.encode(&mut out);
    (out.length, out.text)
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

/// A line that is being put together: numbers and what stands between them, then perhaps a text.
///
/// The longest head is that of a MIGRATE_START whose numbers have 19, 11, 16, 16, 8, 8, 8, 8 and 11 digits: 120 bytes
/// with the blank behind it. So no place in it is beyond [`LAST_WORD`], and masking with that changes nothing; but
/// the compiler can see from it that every access is in bounds, and there is one question of room for all.
#[derive(Debug)]
pub(crate) struct Encoder<'h, 't> {
    head: &'h mut [u8; WINDOW],
    length: usize,
    text: &'t [u8],
}

impl<'t> Encoder<'_, 't> {
    /// `"%s"`, behind which nothing comes.
    #[inline(always)]
    pub(crate) fn text(&mut self, text: &'t [u8]) {
        self.text = text;
    }

    /// A blank and what stands behind it, for what not every kernel prints.
    #[inline(always)]
    pub(crate) fn tail(&mut self, text: Option<&'t [u8]>) {
        if let Some(text) = text {
            self.literal(b" ").text(text);
        }
    }

    /// These bytes.
    #[inline(always)]
    pub(crate) fn literal<const N: usize>(&mut self, bytes: &[u8; N]) -> &mut Self {
        self.put(*bytes, N)
    }

    /// `"%c"`
    #[inline(always)]
    pub(crate) fn byte(&mut self, byte: u8) -> &mut Self {
        self.put([byte], 1)
    }

    /// `"%x"`
    #[inline(always)]
    pub(crate) fn hex(&mut self, value: u32) -> &mut Self {
        match b"0123456789abcdef".get(value as usize) {
            // Of an id, a trigger, system memory.
            Some(digit) => self.byte(*digit),
            None => self.digits(Digits::hex(value).stripped()),
        }
    }

    /// `"%llx"`
    #[inline(always)]
    pub(crate) fn hex64(&mut self, value: u64) -> &mut Self {
        match (value >> 32) as u32 {
            0 => self.hex(value as u32),
            front => self.hex(front).digits(Digits::hex(value as u32)),
        }
    }

    /// `"%lld"` of what is not negative.
    #[inline(always)]
    pub(crate) fn decimal(&mut self, value: u64) -> &mut Self {
        let (front, last) = Digits::decimal(value);
        if front == 0 {
            return self.digits(last.stripped());
        }
        let (first, middle) = Digits::decimal(front);
        if first == 0 {
            return self.digits(middle.stripped()).digits(last);
        }
        let (_, first) = Digits::decimal(first);
        self.digits(first.stripped()).digits(middle).digits(last)
    }

    /// `"%0*lld"` of what is not negative.
    pub(crate) fn padded(&mut self, value: u64, width: usize) -> &mut Self {
        let digits = value.checked_ilog10().unwrap_or_default() as usize;
        for _ in digits.saturating_add(1)..width {
            self.literal(b"0");
        }
        self.decimal(value)
    }

    /// `"%d"`
    #[inline(always)]
    pub(crate) fn signed(&mut self, value: i32) -> &mut Self {
        if value < 0 {
            self.literal(b"-");
        }
        match value.unsigned_abs() {
            // Nearly every trigger and error code is one.
            digit @ 0..10 => self.byte(b'0' | digit as u8),
            value => self.decimal(value.into()),
        }
    }

    /// `"%lld"` of a time.
    #[inline(always)]
    pub(crate) fn nanos(&mut self, time: BootNanos) -> &mut Self {
        self.decimal(time.nanos())
    }

    /// `"-%d"`
    #[inline(always)]
    pub(crate) fn pid(&mut self, pid: Pid) -> &mut Self {
        self.literal(b"-").signed(pid.0)
    }

    /// `"@%lx"`
    #[inline(always)]
    pub(crate) fn page(&mut self, page: PageNumber) -> &mut Self {
        self.literal(b"@").hex64(page.0)
    }

    /// `"@%lx(%lx)"`
    #[inline(always)]
    pub(crate) fn range(&mut self, range: PageRange) -> &mut Self {
        self.page(range.start).literal(b"(").hex64(range.count.0).literal(b")")
    }

    /// `"%x->%x"`
    #[inline(always)]
    pub(crate) fn route(&mut self, from: Location, to: Location) -> &mut Self {
        self.hex(from.0).literal(b"->").hex(to.0)
    }

    #[inline(always)]
    fn digits(&mut self, Digits { text, len }: Digits) -> &mut Self {
        self.put(text, len)
    }

    /// Writes all of the bytes, of which so many count; what comes next overwrites the others.
    #[inline(always)]
    fn put<const N: usize>(&mut self, bytes: [u8; N], len: usize) -> &mut Self {
        let at = self.length & LAST_WORD;
        if let Some(room) = self.head.get_mut(at..).and_then(|room| room.first_chunk_mut()) {
            *room = bytes;
        }
        self.length = self.length.wrapping_add(len);
        self
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use crate::{EventId, Trailing, Unknown};
    use std::format;
    use std::vec::Vec;

    fn written(write: impl Fn(&mut Encoder<'_, '_>)) -> Vec<u8> {
        let mut out = Encoder { head: &mut [0; WINDOW], length: 0, text: &[] };
        write(&mut out);
        out.head[..out.length].to_vec()
    }

    #[test]
    fn numbers_are_written_as_by_printf() {
        for value in [0, 1, 9, 10, 15, 16, 255, 256, 0xdead_beef, u64::MAX - 1, u64::MAX] {
            assert_eq!(written(|out| _ = out.hex64(value)), format!("{value:x}").as_bytes());
            assert_eq!(written(|out| _ = out.hex(value as u32)), format!("{:x}", value as u32).as_bytes());
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
        let error = encode(&event, &mut []).unwrap_err();
        assert_eq!(format!("{error}"), "expected a buffer of 7 bytes or more");
        assert_eq!(encode(&event, &mut [0; 7]), Ok(b"ff abc\n".as_slice()));
        assert_eq!(encode(&event, &mut [b'x'; 8]), Ok(b"ff abc\n".as_slice()));
    }

    #[test]
    fn the_longest_head_fits() {
        let line = b"5 9223372036854775807 --2147483648 @ffffffffffffffff(ffffffffffffffff) \
                     ffffffff->ffffffff ffffffff:ffffffff -2147483648 more\n";
        assert_eq!(line.len(), 120 + b"more\n".len());
        let event = crate::parse_line(line).event.unwrap();
        for size in [line.len(), WINDOW, 256] {
            assert_eq!(encode(&event, &mut [0; 256][..size]).unwrap(), line);
        }
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
        assert_eq!(format!("{error}"), "expected a line of at most 4096 bytes, it would have 4103");
    }
}
