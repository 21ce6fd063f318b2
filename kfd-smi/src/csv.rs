//! The CSV form: a fixed header, then one row a record (RFC 4180).
//!
//! Text is escaped as in the JSON form, so that a terminal is safe: characters outside U+0020 to U+007E are
//! `\uXXXX` and a backslash is `\\`. A field that does not apply is empty.

use std::io::{self, Write};

use crate::fields::{Fields, Key, Value, visit};
use crate::json::write_escaped;
use crate::record::Record;

/// Writes rows.
#[derive(Debug)]
pub(crate) struct Writer<W: Write> {
    rows: csv::Writer<W>,
    /// The row being made: one column a key.
    row: Vec<Vec<u8>>,
}

impl<W: Write> Writer<W> {
    /// Writes the header.
    pub(crate) fn new(out: W) -> io::Result<Self> {
        let mut rows = csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).from_writer(out);
        rows.write_record(Key::ALL.iter().map(|key| key.name()))?;
        Ok(Self { rows, row: vec![Vec::new(); Key::ALL.len()] })
    }

    pub(crate) fn write(&mut self, record: &Record<'_>) -> io::Result<()> {
        self.row.iter_mut().for_each(Vec::clear);
        visit(record, &mut Row(&mut self.row))?;
        self.rows.write_record(&self.row)?;
        Ok(())
    }

    /// Where the rows go.
    pub(crate) fn out(&self) -> &W {
        self.rows.get_ref()
    }

    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.rows.flush()
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
        let mut writer = Writer::new(&mut out).unwrap();
        let line = kfd_smi_proto::parse_line(line);
        writer.write(&Numbering::new(None).record(&line, Origin::default())).unwrap();
        writer.flush().unwrap();
        drop(writer);
        String::from_utf8(out).unwrap().split("\r\n").nth(1).unwrap().to_owned()
    }

    #[test]
    fn text_is_quoted_and_escaped() {
        let fields = row(b"1 2559e:a\\b,\"\x1b\xc3\xa9\n");
        assert!(fields.starts_with(r#"1,1,vmfault,1,,,,,,152990,"a\\b,""\u001b\u00e9",,"#), "{fields}");
        assert_eq!(row(b"4 1 \n").matches(',').count() + 1, Key::ALL.len());
    }
}
