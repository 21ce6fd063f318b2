//! What was wrong with a line of the file: [`CaptureError`].

use std::fmt;

use super::{FIRST_LINE, MAX_FILE_LINE, MAX_GPUS};

/// Why a line of a capture file was left out: what was expected, and where. Reading goes on behind it.
///
/// ```
/// use kfd_smi_io::capture::{Entry, Replay};
///
/// # fn main() -> std::io::Result<()> {
/// let file = b"# kfd-smi capture 1\n14601738586508 1ea0 3 1\n";
/// let mut replay = Replay::new(file.as_slice());
/// let Some(Entry::Malformed(error)) = replay.next_entry()? else { panic!() };
/// assert_eq!((error.line, error.offset), (2, 20));
/// assert_eq!(error.to_string(), r#"expected ":" or "+" at byte 20 of line 2"#);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct CaptureError {
    /// The line of the file, from 1.
    pub line: u64,
    /// The byte of that line, from 0, at which it stopped to be what it should be.
    pub offset: usize,
    /// What was expected there.
    pub kind: CaptureErrorKind,
}

/// What was expected where a line of a capture file stopped to be one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CaptureErrorKind {
    /// The file does not begin as captures begin.
    FirstLine,
    /// A time: nanoseconds, decimal, below 2^63.
    Time,
    /// A `gpu_id`: hexadecimal, below 2^32.
    Gpu,
    /// `:` or `+`.
    Mark,
    /// One blank.
    Space,
    /// An unescaped byte that is printable ASCII.
    Printable,
    /// Two lower-case hexadecimal digits behind `\x`.
    Escape,
    /// A record of one line: there is an escaped newline in it.
    OneLine,
    /// Another field behind the last one.
    Field,
    /// A decimal number in the range of its field.
    Decimal,
    /// A hexadecimal number of at most 64 bits, or `-`.
    Hexadecimal,
    /// `MAJOR.MINOR`.
    Version,
    /// A power of two.
    PageSize,
    /// `yes` or `no`.
    YesOrNo,
    /// `open`, or a number up to 15.
    Seam,
    /// A line of the header in the header, not behind other lines.
    InHeader,
    /// A newline at the end: the file was cut off within the line.
    Newline,
    /// At most [`MAX_FILE_LINE`] bytes.
    ShorterLine,
    /// No more than [`MAX_GPUS`] GPUs at once.
    FewerGpus,
}

impl fmt::Display for CaptureErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::FirstLine => write!(f, "\"{FIRST_LINE}\""),
            Self::Time => f.write_str("nanoseconds, a decimal number below 2^63,"),
            Self::Gpu => f.write_str("a GPU id, a hexadecimal number below 2^32,"),
            Self::Mark => f.write_str("\":\" or \"+\""),
            Self::Space => f.write_str("a blank"),
            Self::Printable => f.write_str("printable ASCII"),
            Self::Escape => f.write_str(r#""\xNN" with two of the digits 0-9a-f"#),
            Self::OneLine => f.write_str("no newline in a record, there is one"),
            Self::Field => f.write_str("another field"),
            Self::Decimal => f.write_str("a decimal number, no larger than its kind,"),
            Self::Hexadecimal => f.write_str("a hexadecimal number below 2^64"),
            Self::Version => f.write_str("a version such as \"1.17\""),
            Self::PageSize => f.write_str("a power of two"),
            Self::YesOrNo => f.write_str("\"yes\" or \"no\""),
            Self::Seam => f.write_str("\"open\" or a number up to 15"),
            Self::InHeader => f.write_str("this word in the header alone, not"),
            Self::Newline => f.write_str("a newline, the file ends"),
            Self::ShorterLine => write!(f, "a line of at most {MAX_FILE_LINE} bytes, it goes on"),
            Self::FewerGpus => write!(f, "at most {MAX_GPUS} GPUs, there is one more"),
        }
    }
}

/// `expected ":" or "+" at byte 20 of line 2`
impl fmt::Display for CaptureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expected {} at byte {} of line {}", self.kind, self.offset, self.line)
    }
}

impl std::error::Error for CaptureError {}

/// A mistake in a line whose number is not known here.
pub(super) type Mistake = (usize, CaptureErrorKind);
