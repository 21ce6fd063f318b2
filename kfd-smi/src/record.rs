//! One line of an input, as every format prints it: [`Record`].

use std::collections::BTreeMap;

use kfd_smi_io::Clock;
use kfd_smi_proto::{BootNanos, Event, GpuId, Line, MAX_LINE, ParseError, Part, Trust};

/// How many bytes of a long line are shown.
const SHOWN: usize = 256;

/// A line of the driver with its place in the input.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Record<'a> {
    /// The number of the line in its input, from 1.
    pub(crate) seq: u64,
    /// The input, where there are several.
    pub(crate) input: Option<&'static str>,
    /// What is known of it besides its bytes.
    pub(crate) origin: Origin,
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

/// Where and when a line came; of a raw log nothing is known.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Origin {
    /// The GPU whose file descriptor carried it.
    pub(crate) gpu: Option<GpuId>,
    /// When it was read.
    pub(crate) arrival: Option<BootNanos>,
    /// What makes other times of a time since boot.
    pub(crate) clock: Option<Clock>,
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
pub(crate) struct Numbering {
    input: Option<&'static str>,
    /// The number of the last line that began.
    seq: u64,
    /// The line of each GPU that comes in pieces.
    pieces: BTreeMap<Option<GpuId>, Pieces>,
}

/// What came so far of a line in pieces.
#[derive(Debug)]
struct Pieces {
    seq: u64,
    head: Vec<u8>,
    length: u64,
    event: Result<(), ParseError>,
    ended: bool,
}

impl Numbering {
    pub(crate) fn new(input: Option<&'static str>) -> Self {
        Self { input, ..Self::default() }
    }

    /// The record of the line that this line, or piece of one, belongs to.
    ///
    /// Before the last piece of a line, `length` and `bytes` are what came so far.
    pub(crate) fn record<'l>(&'l mut self, line: &Line<'l>, origin: Origin) -> Record<'l> {
        // In a capture, the beginning of a line can be missing: its rest counts as a line.
        let has_begun = || self.pieces.get(&origin.gpu).is_some_and(|pieces| !pieces.ended);
        let begins = line.part.begins() || !has_begun();
        if begins {
            self.seq += 1;
        }
        let record = Record {
            seq: self.seq,
            input: self.input,
            origin,
            bytes: line.bytes,
            length: None,
            event: line.event,
            trust: line.trust,
            unterminated: line.part.ends() && !line.terminated,
        };
        if line.part == Part::Whole {
            let is_long = line.bytes.len() > MAX_LINE;
            return Record {
                bytes: if is_long { &line.bytes[..SHOWN] } else { line.bytes },
                length: is_long.then_some(line.bytes.len() as u64),
                ..record
            };
        }
        let (seq, event) = (self.seq, line.event.map(drop));
        let begun = || Pieces { seq, head: vec![], length: 0, event, ended: false };
        let pieces = self.pieces.entry(origin.gpu).or_insert_with(begun);
        if begins {
            *pieces = begun();
        }
        pieces.ended = line.part.ends();
        let missing = SHOWN.saturating_sub(pieces.head.len()).min(line.bytes.len());
        pieces.head.extend_from_slice(&line.bytes[..missing]);
        pieces.length += line.bytes.len() as u64;
        Record {
            seq: pieces.seq,
            bytes: &pieces.head,
            length: Some(pieces.length),
            event: pieces.event.map_or_else(Err, |()| line.event),
            ..record
        }
    }
}
