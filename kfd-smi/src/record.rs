//! One line of an input, as every format prints it: [`Record`].

use kfd_smi_proto::{Event, Line, MAX_LINE, ParseError, Part, Trust};

/// How many bytes of a long line are shown.
const SHOWN: usize = 256;

/// A line of the driver with its place in the input.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Record<'a> {
    /// The number of the line in its input, from 1.
    pub(crate) seq: u64,
    /// The input, where there are several.
    pub(crate) input: Option<&'a str>,
    /// The line without its newline; of a long one, the beginning.
    pub(crate) bytes: &'a [u8],
    /// How many bytes a long line has.
    pub(crate) length: Option<u64>,
    /// What the line says.
    pub(crate) event: Result<Event<'a>, ParseError>,
    /// Whether it can be believed.
    pub(crate) trust: Trust,
    /// Whether the input ends within the line.
    pub(crate) unterminated: bool,
}

impl Record<'_> {
    /// What the line is about: the name of its event, or `malformed`.
    pub(crate) fn name(&self) -> &'static str {
        match &self.event {
            Ok(event) => event.name(),
            Err(_) => "malformed",
        }
    }
}

/// Numbers the lines of one input, and makes one record of the pieces of a long line.
#[derive(Debug, Default)]
pub(crate) struct Numbering<'a> {
    input: Option<&'a str>,
    /// The number of the last line that began.
    seq: u64,
    /// The beginning of a line that comes in pieces, and its length so far.
    head: Vec<u8>,
    length: u64,
    error: Option<ParseError>,
}

impl<'a> Numbering<'a> {
    pub(crate) fn new(input: Option<&'a str>) -> Self {
        Self { input, ..Self::default() }
    }

    /// The record of the line that this line, or piece of one, belongs to.
    ///
    /// Before the last piece of a line, `length` and `bytes` are what came so far.
    pub(crate) fn record<'l>(&'l mut self, line: &Line<'l>) -> Record<'l>
    where
        'a: 'l,
    {
        if line.part.begins() {
            self.seq += 1;
        }
        let mut record = Record {
            seq: self.seq,
            input: self.input,
            bytes: line.bytes,
            length: None,
            event: line.event,
            trust: line.trust,
            unterminated: line.part.ends() && !line.terminated,
        };
        if line.part != Part::Whole {
            if line.part == Part::First {
                self.head.clear();
                self.length = 0;
                self.error = line.event.err();
            }
            let missing = SHOWN.saturating_sub(self.head.len()).min(line.bytes.len());
            self.head.extend_from_slice(&line.bytes[..missing]);
            self.length += line.bytes.len() as u64;
            record.bytes = &self.head;
            record.length = Some(self.length);
            record.event = self.error.map_or(line.event, Err);
        } else if line.bytes.len() > MAX_LINE {
            record.bytes = &line.bytes[..SHOWN];
            record.length = Some(line.bytes.len() as u64);
        }
        record
    }
}
