//! The CSV form: a fixed header, then one row a record (RFC 4180).
//!
//! Text is escaped as in the JSON form, so that a terminal is safe: characters outside U+0020 to U+007E are
//! `\uXXXX` and a backslash is `\\`. A field that does not apply is empty.

use std::io::{self, Write};

use csv_core::WriteResult;

use crate::fields::{Fields, Key, Value, visit};
use crate::json::write_escaped;
use crate::record::Record;

/// Writes rows, and the header as the first.
#[derive(Debug)]
pub(crate) struct Rows {
    writer: csv_core::Writer,
    /// The row being made: one column a key.
    row: Vec<Vec<u8>>,
}

impl Rows {
    pub(crate) fn new() -> Self {
        let writer = csv_core::WriterBuilder::new().terminator(csv_core::Terminator::CRLF).build();
        Self { writer, row: vec![Vec::new(); Key::ALL.len()] }
    }

    pub(crate) fn header(&mut self, out: &mut impl Write) -> io::Result<()> {
        for (column, key) in self.row.iter_mut().zip(Key::ALL) {
            column.clear();
            column.extend_from_slice(key.name().as_bytes());
        }
        self.write_row(out)
    }

    pub(crate) fn write(&mut self, record: &Record<'_>, out: &mut impl Write) -> io::Result<()> {
        self.row.iter_mut().for_each(Vec::clear);
        visit(record, &mut Row(&mut self.row))?;
        self.write_row(out)
    }

    fn write_row(&mut self, out: &mut impl Write) -> io::Result<()> {
        let Self { writer, row } = self;
        let mut room = [0; 256];
        for (number, column) in row.iter().enumerate() {
            if number > 0 {
                let (_, written) = writer.delimiter(&mut room);
                out.write_all(&room[..written])?;
            }
            let mut rest = &column[..];
            loop {
                let (result, read, written) = writer.field(rest, &mut room);
                out.write_all(&room[..written])?;
                rest = &rest[read..];
                if result == WriteResult::InputEmpty {
                    break;
                }
            }
        }
        let (_, written) = writer.terminator(&mut room);
        out.write_all(&room[..written])
    }
}

struct Row<'a>(&'a mut [Vec<u8>]);

impl Fields for Row<'_> {
    type Error = io::Error;

    fn put(&mut self, key: Key, value: Value<'_>) -> io::Result<()> {
        let column = &mut self.0[key as usize];
        match value {
            Value::Unsigned(number) => write!(column, "{number}"),
            Value::Signed(number) => write!(column, "{number}"),
            Value::Bool(yes) => write!(column, "{yes}"),
            Value::Text(text) => write_escaped(text, column),
            Value::Shown(shown) => write!(column, "{shown}"),
            Value::Throttlers(bits) if bits.0 == 0 => Ok(()),
            Value::Throttlers(bits) => write!(column, "{bits}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Numbering, Origin};

    fn row(line: &[u8]) -> String {
        let mut out = Vec::new();
        let line = kfd_smi_proto::parse_line(line);
        let mut rows = Rows::new();
        rows.header(&mut out).unwrap();
        rows.write(&Numbering::new(None).record(&line, Origin::default()), &mut out).unwrap();
        String::from_utf8(out).unwrap().split("\r\n").nth(1).unwrap().to_owned()
    }

    #[test]
    fn text_is_quoted_and_escaped() {
        let fields = row(b"1 2559e:a\\b,\"\x1b\xc3\xa9\n");
        assert!(fields.starts_with(r#"1,1,vmfault,1,,,,,,152990,"a\\b,""\u001b\u00e9",,"#), "{fields}");
        assert_eq!(row(b"4 1 \n").matches(',').count() + 1, Key::ALL.len());
    }
}
