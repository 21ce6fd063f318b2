//! What was wrong with a line: [`ParseError`].

use core::fmt;

use crate::id::EventId;

/// Why a line is not an event: what was expected, in a line of which event, and where.
///
/// The error is `Copy` and owns nothing of the line: it may leave the loop that reads.
///
/// ```
/// let line = kfd_smi_proto::parse_line(b"9 14601738586508 -152990 1ea0\n");
/// let error = line.event.unwrap_err();
/// assert_eq!(error.offset, 29);
/// assert_eq!(error.to_string(), r#"expected " " at byte 29 of a QUEUE_EVICTION line, where the line ends"#);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub struct ParseError {
    /// What was expected.
    pub kind: ParseErrorKind,
    /// The event id that the line begins with, where one can be read.
    pub id: Option<EventId>,
    /// The byte of the line (from 0) at which the line stopped being an event.
    pub offset: usize,
}

/// What the parser expected where a line stopped being an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum ParseErrorKind {
    /// There is nothing between two newlines.
    EmptyLine,
    /// The line is longer than [`MAX_LINE`](crate::MAX_LINE) bytes, or than the buffer of the
    /// [`Decoder`](crate::Decoder): no newline came within the first `offset` bytes.
    LineTooLong,
    /// Another byte stands where this was expected.
    Expected(Expected),
    /// The line ends where this was expected: it was cut short, or comes from an unknown kernel.
    EndOfLine(Expected),
    /// A number is well-formed, but no kernel type holds its value.
    OutOfRange,
    /// A carriage return follows a number or a letter: the file has DOS line ends.
    CarriageReturn,
}

/// A piece of the kernel's formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum Expected {
    /// A hexadecimal number, digits `0-9a-f`.
    Hexadecimal,
    /// A decimal number.
    Decimal,
    /// One byte that stands for something, such as `W` for a write fault.
    Letter,
    /// The end of the line, or a blank and what a newer kernel adds behind it.
    End,
    /// `" "`
    Space,
    /// `":"`
    Colon,
    /// `"-"`
    Minus,
    /// `"@"`
    At,
    /// `"("`
    Open,
    /// `")"`
    Close,
    /// `"->"`
    Arrow,
}

impl Expected {
    /// The bytes that a literal stands for; empty for what is not a literal.
    pub(crate) const fn literal(self) -> &'static str {
        match self {
            Self::Hexadecimal | Self::Decimal | Self::Letter | Self::End => "",
            Self::Space => " ",
            Self::Colon => ":",
            Self::Minus => "-",
            Self::At => "@",
            Self::Open => "(",
            Self::Close => ")",
            Self::Arrow => "->",
        }
    }
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hexadecimal => f.write_str("a hexadecimal number"),
            Self::Decimal => f.write_str("a decimal number"),
            Self::Letter => f.write_str("one letter"),
            Self::End => f.write_str("a blank or the end of the line"),
            literal => write!(f, "\"{}\"", literal.literal()),
        }
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let offset = self.offset;
        let of = OfLine(self.id);
        match self.kind {
            ParseErrorKind::EmptyLine => f.write_str("expected an event, the line is empty"),
            ParseErrorKind::LineTooLong => {
                write!(f, "expected {of} to end within {offset} bytes, it is longer")
            }
            ParseErrorKind::Expected(expected) => write!(f, "expected {expected} at byte {offset} of {of}"),
            ParseErrorKind::EndOfLine(expected) => {
                write!(f, "expected {expected} at byte {offset} of {of}, where the line ends")
            }
            ParseErrorKind::OutOfRange => {
                write!(f, "expected a smaller number at byte {offset} of {of}: no kernel type holds this one")
            }
            ParseErrorKind::CarriageReturn => {
                write!(f, "carriage return at byte {offset} of {of}: the file has DOS line ends")
            }
        }
    }
}

impl core::error::Error for ParseError {}

/// "a MIGRATE_START line", as far as the id is known.
struct OfLine(Option<EventId>);

impl fmt::Display for OfLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(id) = self.0 else { return f.write_str("a line") };
        match id.kernel_name() {
            Some(name) if name.starts_with('U') => write!(f, "an {name} line"),
            Some(name) => write!(f, "a {name} line"),
            None => write!(f, "a line of the unknown event {:x}", id.0),
        }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use std::string::ToString as _;

    fn error(line: &[u8]) -> std::string::String {
        crate::parse_line(line).event.unwrap_err().to_string()
    }

    #[test]
    fn sentences_say_what_and_where() {
        assert_eq!(error(b""), "expected an event, the line is empty");
        assert_eq!(error(b"hello"), "expected a hexadecimal number at byte 0 of a line");
        assert_eq!(error(b"5 1 -2 @3(4) 5>6 7:8 9"), r#"expected "->" at byte 14 of a MIGRATE_START line"#);
        assert_eq!(
            error(b"5 job hang on ring:gfx"),
            "expected a decimal number at byte 2 of a MIGRATE_START line"
        );
        assert_eq!(
            error(b"1 100000000:a"),
            "expected a smaller number at byte 2 of a VMFAULT line: no kernel type holds this one"
        );
        assert_eq!(
            error(b"3 1\r"),
            "carriage return at byte 3 of a GPU_PRE_RESET line: the file has DOS line ends"
        );
        assert_eq!(error(&[b'9'; 5000]), "expected a line to end within 4096 bytes, it is longer");
        assert_eq!(
            error(b"ff"),
            r#"expected " " at byte 2 of a line of the unknown event ff, where the line ends"#
        );
    }
}
