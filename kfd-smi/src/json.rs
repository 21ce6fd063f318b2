//! The JSON form: one flat object a line, nothing in it but printable ASCII.

use std::io::{self, Write};

use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::ser::{CharEscape, Formatter};

use crate::fields::{Fields, Key, Value, visit};
use crate::record::Record;

/// Writes a record and a newline.
pub(crate) fn write(record: &Record<'_>, out: &mut impl Write) -> io::Result<()> {
    write_line(&Object(record), out)
}

/// Writes anything that can be serialized, and a newline.
pub(crate) fn write_line(value: &impl Serialize, out: &mut impl Write) -> io::Result<()> {
    value.serialize(&mut serde_json::Serializer::with_formatter(&mut *out, Ascii))?;
    out.write_all(b"\n")
}

/// A record as a map of its fields.
struct Object<'a>(&'a Record<'a>);

impl Serialize for Object<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut entries = Entries(serializer.serialize_map(None)?);
        visit(self.0, &mut entries)?;
        entries.0.end()
    }
}

struct Entries<M>(M);

impl<M: SerializeMap> Fields for Entries<M> {
    type Error = M::Error;

    fn put(&mut self, key: Key, value: Value<'_>) -> Result<(), Self::Error> {
        self.0.serialize_entry(key.name(), &value)
    }
}

impl Serialize for Value<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Unsigned(number) => serializer.serialize_u64(*number),
            Self::Signed(number) => serializer.serialize_i32(*number),
            Self::Bool(yes) => serializer.serialize_bool(*yes),
            Self::Text(text) => serializer.serialize_str(text),
            Self::Shown(shown) => serializer.collect_str(shown),
            Self::Throttlers(bits) => serializer.collect_seq(bits.iter().map(|one| one.to_string())),
        }
    }
}

/// Writes every character outside U+0020 to U+007E as `\uXXXX`, so that a terminal is safe.
struct Ascii;

impl Formatter for Ascii {
    fn write_string_fragment<W: ?Sized + Write>(&mut self, out: &mut W, fragment: &str) -> io::Result<()> {
        let mut rest = fragment;
        while let Some(at) = rest.bytes().position(|byte| !(b' '..=b'~').contains(&byte)) {
            let (printable, other) = rest.split_at(at);
            out.write_all(printable.as_bytes())?;
            let mut chars = other.chars();
            if let Some(c) = chars.next() {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    write!(out, "\\u{unit:04x}")?;
                }
            }
            rest = chars.as_str();
        }
        out.write_all(rest.as_bytes())
    }

    fn write_char_escape<W: ?Sized + Write>(&mut self, out: &mut W, escape: CharEscape) -> io::Result<()> {
        let control = match escape {
            CharEscape::Quote => return out.write_all(b"\\\""),
            CharEscape::ReverseSolidus => return out.write_all(b"\\\\"),
            CharEscape::Solidus => return out.write_all(b"/"),
            CharEscape::Backspace => 0x08,
            CharEscape::Tab => b'\t',
            CharEscape::LineFeed => b'\n',
            CharEscape::FormFeed => 0x0c,
            CharEscape::CarriageReturn => b'\r',
            CharEscape::AsciiControl(byte) => byte,
        };
        write!(out, "\\u{control:04x}")
    }
}

/// Writes a text without quotation marks as it stands in a JSON string.
pub(crate) fn write_escaped(text: &str, out: &mut impl Write) -> io::Result<()> {
    let mut chars = text.split('\\');
    if let Some(first) = chars.next() {
        Ascii.write_string_fragment(out, first)?;
    }
    chars.try_for_each(|part| {
        out.write_all(b"\\\\")?;
        Ascii.write_string_fragment(out, part)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn string(text: &str) -> String {
        let mut out = Vec::new();
        text.serialize(&mut serde_json::Serializer::with_formatter(&mut out, Ascii)).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn every_character_survives_and_none_reaches_a_terminal() {
        for c in (0..=0x11_0000).filter_map(char::from_u32) {
            let text = format!("a{c}b");
            let json = string(&text);
            assert!(json.bytes().all(|byte| (b' '..=b'~').contains(&byte)), "{json}");
            assert_eq!(serde_json::from_str::<String>(&json).unwrap(), text);
        }
    }

    #[test]
    fn controls_have_the_long_form() {
        assert_eq!(
            string("\t\u{8}\n\x1b\x7f\"\\/é\u{1f980}"),
            r#""\u0009\u0008\u000a\u001b\u007f\"\\/\u00e9\ud83e\udd80""#
        );
    }
}
