//! The free bytes that stand in events, and how to show them without harm.

use core::fmt::{self, Write as _};

use crate::line::MAX_LINE;

/// The longest text that [`TaskName::new`] and its like accept, in bytes.
///
/// It leaves room for the numbers of any event, so that every event that can be constructed fits into a
/// line of [`MAX_LINE`] bytes.
pub const MAX_TEXT: usize = MAX_LINE.saturating_sub(128);

/// Shows any bytes as printable ASCII: every other byte, the backslash and the quotation mark as `\xNN`.
///
/// So it can stand between quotation marks, and nothing in it looks like their end. A process chooses its own
/// name: nothing that came from the kernel may reach a terminal in another way.
///
/// ```
/// use kfd_smi_proto::Escaped;
///
/// assert_eq!(Escaped(b"a b\\\x1b[2J\xff\0").to_string(), r"a b\x5c\x1b[2J\xff\x00");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Escaped<'a>(pub &'a [u8]);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for &byte in self.0 {
            match byte {
                b' '..=b'~' if !matches!(byte, b'\\' | b'"') => f.write_char(char::from(byte))?,
                _ => write!(f, "\\x{byte:02x}")?,
            }
        }
        Ok(())
    }
}

/// Why bytes cannot stand as a text in an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum TextError {
    /// A newline would end the line.
    Newline {
        /// Where it stands, from 0.
        offset: usize,
    },
    /// More bytes than [`MAX_TEXT`].
    TooLong {
        /// How many.
        length: usize,
    },
}

impl fmt::Display for TextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Newline { offset } => write!(f, "expected no newline, there is one at byte {offset}"),
            Self::TooLong { length } => write!(f, "expected at most {MAX_TEXT} bytes, there are {length}"),
        }
    }
}

impl core::error::Error for TextError {}

const fn check(bytes: &[u8]) -> Result<&[u8], TextError> {
    if bytes.len() > MAX_TEXT {
        return Err(TextError::TooLong { length: bytes.len() });
    }
    let mut rest = bytes;
    while let [byte, tail @ ..] = rest {
        if *byte == b'\n' {
            return Err(TextError::Newline { offset: bytes.len().saturating_sub(rest.len()) });
        }
        rest = tail;
    }
    Ok(bytes)
}

/// The types of text differ in what they mean, not in what they can do.
macro_rules! text {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name<'a>(&'a [u8]);

        impl<'a> $name<'a> {
            /// These bytes.
            ///
            /// # Errors
            ///
            /// [`TextError`] if there is a newline in them, or more of them than [`MAX_TEXT`].
            pub const fn new(bytes: &'a [u8]) -> Result<Self, TextError> {
                match check(bytes) {
                    Ok(bytes) => Ok(Self(bytes)),
                    Err(error) => Err(error),
                }
            }

            /// What the parser found between two newlines.
            pub(crate) const fn of_line(bytes: &'a [u8]) -> Self {
                Self(bytes)
            }

            /// The bytes as they came; anything but a newline can be among them.
            #[must_use]
            pub const fn as_bytes(self) -> &'a [u8] {
                self.0
            }
        }

        /// Printable ASCII: see [`Escaped`].
        impl fmt::Display for $name<'_> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                Escaped(self.0).fmt(f)
            }
        }

        impl fmt::Debug for $name<'_> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "(\"{}\")"), Escaped(self.0))
            }
        }

        /// As a string if it is UTF-8, else as bytes.
        #[cfg(feature = "serde")]
        impl serde::Serialize for $name<'_> {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match core::str::from_utf8(self.0) {
                    Ok(text) => serializer.serialize_str(text),
                    Err(_) => serializer.serialize_bytes(self.0),
                }
            }
        }

        #[cfg(feature = "defmt")]
        impl defmt::Format for $name<'_> {
            fn format(&self, f: defmt::Formatter<'_>) {
                defmt::write!(f, "{=[u8]:a}", self.0);
            }
        }
    };
}

text! {
    /// The name of a thread, `comm`: what its process chose to call it.
    ///
    /// The kernel keeps at most 15 bytes, any byte but NUL. A newline among them ends the line, and what
    /// follows looks like a line of its own: see [`Trust`](crate::Trust).
    ///
    /// ```
    /// use kfd_smi_proto::TaskName;
    ///
    /// let name = TaskName::new(b"my app:1\xff").unwrap();
    /// assert_eq!(name.as_bytes(), b"my app:1\xff");
    /// assert_eq!(name.to_string(), r"my app:1\xff");
    /// assert!(TaskName::new(b"a\n9 1 -2 3 4").is_err());
    /// ```
    TaskName
}

text! {
    /// Why a GPU is reset, in words: `amdgpu_reset_get_desc()`, at most 63 bytes.
    ///
    /// Seen so far: `job hang on ring:…`, `job hang`, `RAS error`, `MES hang`, `HWS hang`, `user trigger`,
    /// `user queue trigger`, `display hang`, `unknown`; empty in GPU_POST_RESET.
    ResetCause
}

text! {
    /// What a newer kernel adds behind the fields that this library knows, without the blank in between.
    Trailing
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::format;
    use std::string::ToString as _;

    #[test]
    fn texts_refuse_what_would_break_a_line() {
        assert_eq!(TaskName::new(b"ab\ncd\n"), Err(TextError::Newline { offset: 2 }));
        assert!(ResetCause::new(&[b'x'; MAX_TEXT]).is_ok());
        assert_eq!(
            Trailing::new(&[b'x'; MAX_TEXT + 1]).unwrap_err().to_string(),
            "expected at most 3968 bytes, there are 3969"
        );
        assert!(TaskName::new(b"").is_ok());
    }

    #[test]
    fn no_byte_is_shown_raw_unless_it_is_printable() {
        for byte in 0..=u8::MAX {
            let shown = Escaped(&[byte]).to_string();
            assert!(shown.bytes().all(|shown| (b' '..=b'~').contains(&shown)));
            let plain = (b' '..=b'~').contains(&byte) && byte != b'\\' && byte != b'"';
            assert_eq!(shown.len() == 1, plain);
        }
        assert_eq!(format!("{:?}", TaskName(b"\x1b")), r#"TaskName("\x1b")"#);
    }
}
