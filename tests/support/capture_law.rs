//! Law 8: a capture is the identity. And what follows from it for files that are damaged, cut, or hold less.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufRead, BufReader};

use kfd_smi_io::capture::{
    CaptureErrorKind, Entry, FIRST_LINE, Header, MAX_FILE_LINE, MAX_GPUS, RawLog, Recorder, Replay, Text,
};
use kfd_smi_io::{GpuId, Record};
use kfd_smi_proto::{BootNanos, Decoder, ParseError, Part};

use crate::laws;

/// What happens to a recorder.
#[derive(Clone, Debug)]
pub enum Step {
    /// The file descriptor of a GPU was read.
    Read {
        /// The GPU.
        gpu: u32,
        /// When the read returned.
        arrival: u64,
        /// Whether the file descriptor had been seen empty before.
        drained: bool,
        /// What came.
        bytes: Vec<u8>,
    },
    /// The file descriptor of a GPU was closed.
    End(u32),
}

/// A record, owned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// When it came.
    pub arrival: Option<BootNanos>,
    /// Where from.
    pub gpu: Option<GpuId>,
    /// The bytes of the line.
    pub bytes: Vec<u8>,
    /// The line of the event, or its error.
    pub event: Result<Vec<u8>, ParseError>,
    /// Whether a process can have made it up.
    pub forgeable: bool,
    /// Whether it names another GPU.
    pub foreign: bool,
    /// Whether a newline follows.
    pub terminated: bool,
    /// Which part of a line it is.
    pub part: Part,
    /// Whether its source was empty before.
    pub drained: bool,
    offset: u64,
}

impl From<&Record<'_>> for Seen {
    fn from(record: &Record<'_>) -> Self {
        let line = &record.line;
        Self {
            arrival: record.arrival,
            gpu: record.gpu,
            bytes: line.bytes.to_vec(),
            event: line.event.map(|event| laws::encoded(&event)),
            forgeable: line.trust.is_forgeable(),
            foreign: line.trust.is_foreign(),
            terminated: line.terminated,
            part: line.part,
            drained: line.drained_before,
            offset: line.offset,
        }
    }
}

/// What a file says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Said {
    /// Its records.
    pub records: Vec<Seen>,
    /// The numbers of the lines that were left out.
    pub malformed: Vec<u64>,
}

/// Reads a file that is no further than memory.
///
/// # Panics
///
/// If it cannot be read.
#[must_use]
pub fn replay(file: &[u8]) -> Said {
    read(Replay::new(file))
}

fn read(mut replay: Replay<impl BufRead>) -> Said {
    let mut said = Said::default();
    while let Some(entry) = replay.next_entry().expect("memory can be read") {
        match entry {
            Entry::Record(record) => said.records.push(Seen::from(&record)),
            Entry::Malformed(error) => said.malformed.push(error.line),
            _ => {}
        }
    }
    assert!(replay.next_entry().expect("memory can be read").is_none(), "something behind the end");
    said
}

/// Reads a file and writes what it says.
///
/// # Panics
///
/// If it cannot be read or written.
#[must_use]
pub fn copy(file: &[u8], redact: bool) -> Vec<u8> {
    let mut replay = Replay::new(file);
    let mut copy: Option<Recorder<Vec<u8>>> = None;
    while let Some(entry) = replay.next_entry().expect("memory can be read") {
        match (&mut copy, entry) {
            (None, Entry::Segment(header)) => {
                let begin = if redact { Recorder::redacted } else { Recorder::new };
                copy = Some(begin(vec![], header));
            }
            (None, _) => {}
            (Some(copy), entry) => copy.entry(&entry).expect("memory can be written"),
        }
    }
    copy.map_or_else(Vec::new, |copy| copy.finish().expect("memory can be written"))
}

/// What comes of the steps, as a reader of file descriptors says it.
enum Live<'a> {
    Record(Record<'a>),
    End(GpuId),
}

fn live(steps: &[Step], mut say: impl FnMut(Live<'_>)) {
    // A record of this library can only be had from it.
    let mut model = RawLog::new(b"3 1\n".as_slice());
    let record = model.next_record().expect("memory can be read").expect("there is a line");
    let mut sources: Vec<(u32, BootNanos, Box<Decoder>)> = vec![];
    macro_rules! say {
        ($gpu:expr, $arrival:expr, $line:expr) => {{
            let mut record = record;
            (record.gpu, record.arrival, record.line) = (Some(GpuId($gpu)), Some($arrival), $line);
            say(Live::Record(record));
        }};
    }
    for step in steps {
        match step {
            Step::Read { gpu, arrival, drained, bytes } => {
                let index = sources.iter().position(|source| source.0 == *gpu).unwrap_or_else(|| {
                    sources.push((*gpu, BootNanos::MAX, Box::new(Decoder::for_gpu(GpuId(*gpu)))));
                    sources.len() - 1
                });
                let (gpu, time, decoder) = &mut sources[index];
                *time = BootNanos::new(arrival >> 1).expect("63 bits");
                if *drained {
                    decoder.source_drained();
                }
                let mut rest = &bytes[..];
                while !rest.is_empty() {
                    rest = &rest[decoder.feed(rest)..];
                    while let Some(line) = decoder.next_line() {
                        say!(*gpu, *time, line);
                    }
                }
            }
            Step::End(gpu) => {
                let Some(index) = sources.iter().position(|source| source.0 == *gpu) else { continue };
                let (gpu, time, mut decoder) = sources.remove(index);
                while let Some(line) = decoder.finish() {
                    say!(gpu, time, line);
                }
                say(Live::End(GpuId(gpu)));
            }
        }
    }
    for (gpu, time, decoder) in &mut sources {
        while let Some(line) = decoder.finish() {
            say!(*gpu, *time, line);
        }
    }
}

/// The records that come of the steps, and the capture of them.
///
/// # Panics
///
/// If it cannot be written.
#[must_use]
pub fn record(steps: &[Step], redact: bool) -> (Vec<Seen>, Vec<u8>) {
    let begin = if redact { Recorder::redacted } else { Recorder::new };
    let mut recorder = begin(vec![], &Header::default());
    let mut seen = vec![];
    live(steps, |said| {
        let written = match said {
            Live::Record(record) => {
                seen.push(Seen::from(&record));
                recorder.record(&record)
            }
            Live::End(gpu) => recorder.end(gpu, &Text::from("closed")),
        };
        written.expect("memory can be written");
    });
    (seen, recorder.finish().expect("memory can be written"))
}

/// Law 8: what is recorded is replayed, and recorded again it is the same file.
///
/// # Panics
///
/// If the law does not hold.
pub fn capture_is_the_identity(steps: &[Step]) {
    let (seen, file) = record(steps, false);
    let shown = String::from_utf8(file.clone()).expect("a capture is ASCII");
    assert!(file.iter().all(|byte| matches!(byte, b' '..=b'~' | b'\n')), "not printable: {shown}");
    assert!(file.split(|byte| *byte == b'\n').all(|line| line.len() <= MAX_FILE_LINE));
    let said = replay(&file);
    assert_eq!(said.malformed, [], "{shown}");
    assert_eq!(said.records, seen, "{shown}");
    assert!(copy(&file, false) == file, "another file: {shown}");

    // However it is read, and on whichever system it was.
    assert_eq!(read(Replay::new(BufReader::with_capacity(1, &file[..]))), said);
    assert_eq!(replay(shown.replace('\n', "\r\n").as_bytes()), said);
    let joined = replay(&file.repeat(2)).records;
    assert!(joined[..seen.len()] == seen && joined[seen.len()..] == seen, "joined: {shown}");
}

/// Whatever is left out, and wherever another file begins, a reader says of each record what was said of it live.
///
/// `kept` says of each record in turn, over and over, whether it is written; `rotated` whether a file begins there.
///
/// # Panics
///
/// If the law does not hold.
pub fn gaps_do_not_show(steps: &[Step], kept: &[bool], rotated: &[bool]) {
    let (mut kept, mut rotated) = (kept.iter().cycle(), rotated.iter().cycle());
    let mut recorder = Recorder::new(vec![], &Header::default());
    let mut files = vec![];
    let mut seen = vec![];
    live(steps, |said| {
        if rotated.next() == Some(&true) {
            files.push(recorder.rotate(vec![], &Header::default()).expect("memory can be written"));
        }
        match said {
            Live::Record(record) => {
                if kept.next() != Some(&false) {
                    seen.push(Seen { offset: 0, ..Seen::from(&record) });
                    recorder.record(&record).expect("memory can be written");
                }
            }
            Live::End(gpu) => recorder.end(gpu, &Text::default()).expect("memory can be written"),
        }
    });
    files.push(recorder.finish().expect("memory can be written"));
    for files in [files.iter().map(Vec::as_slice).collect(), vec![&files.concat()[..]]] {
        let mut records: Vec<Seen> = vec![];
        for file in files {
            let said = replay(file);
            assert_eq!(said.malformed, []);
            records.extend(said.records);
        }
        // What ends a line whose end is missing is no record.
        records.retain(|seen| !(seen.part == Part::Last && seen.bytes.is_empty() && !seen.terminated));
        let mut expected = seen.clone();
        expected.retain(|seen| !(seen.part == Part::Last && seen.bytes.is_empty() && !seen.terminated));
        for seen in &mut records {
            seen.offset = 0;
        }
        assert_eq!(records, expected);
    }
}

/// Redacted, a capture says the same but for its texts.
///
/// # Panics
///
/// If the law does not hold.
pub fn redaction_keeps_the_rest(steps: &[Step]) {
    let (seen, file) = record(steps, true);
    let said = replay(&file);
    assert_eq!(said.malformed, []);
    assert_eq!(said.records.len(), seen.len());
    assert!(!file.windows(7).any(|window| window == b"# seam "), "the trust of a line changed");
    for (redacted, seen) in said.records.iter().zip(&seen) {
        let id = |seen: &Seen| {
            let event = seen.event.as_ref().ok()?;
            Some(event[..event.iter().position(|byte| *byte == b' ')?].to_vec())
        };
        assert_eq!(id(redacted), id(seen), "{seen:?}");
        assert_eq!(redacted.bytes.len(), seen.bytes.len());
        let rest = |seen: &Seen| Seen { bytes: vec![], event: Ok(vec![]), ..seen.clone() };
        assert_eq!(rest(redacted), rest(seen));
    }
    // What is redacted stays as it is.
    assert!(copy(&file, true) == file);
}

/// Any bytes as a file: no panic, and every line of it is a fact, a record or reported.
///
/// # Panics
///
/// If the law does not hold.
pub fn every_line_of_a_file_is_accounted_for(file: &[u8]) {
    let mut said = BTreeMap::new();
    let mut malformed = BTreeSet::new();
    let mut segment = 0;
    let mut replay = Replay::new(file);
    while let Some(entry) = replay.next_entry().expect("memory can be read") {
        match entry {
            Entry::Segment(_) => segment += 1,
            Entry::Record(record) => {
                assert!(record.arrival.is_some(), "no line of the file says this: {record:?}");
                let bytes: &mut Vec<u8> = said.entry((segment, record.gpu)).or_default();
                bytes.extend(record.line.bytes);
                bytes.extend(record.line.terminated.then_some(b'\n'));
            }
            Entry::Malformed(error) => {
                assert!(error.to_string().is_ascii());
                // The first line is read all the same.
                if error.kind != CaptureErrorKind::FirstLine {
                    malformed.insert(error.line);
                }
            }
            _ => {}
        }
    }
    said.retain(|_, bytes| !bytes.is_empty());
    let lines = file.split_inclusive(|byte| *byte == b'\n').count();
    assert_eq!(replay.file_line(), lines as u64);
    let reference = Reference::read(file);
    if reference.gpus.len() <= MAX_GPUS {
        assert_eq!(said, reference.bytes, "{}", file.escape_ascii());
        malformed.retain(|number| !reference.facts.contains(number));
        assert_eq!(malformed, reference.malformed, "{}", file.escape_ascii());
    }
}

/// A second opinion on the records of a file, by the letter of the specification.
#[derive(Debug, Default)]
struct Reference {
    bytes: BTreeMap<(u32, Option<GpuId>), Vec<u8>>,
    gpus: BTreeSet<u32>,
    malformed: BTreeSet<u64>,
    facts: BTreeSet<u64>,
}

impl Reference {
    fn read(file: &[u8]) -> Self {
        let mut reference = Self::default();
        let mut segment = 1;
        for (row, number) in file.split_inclusive(|byte| *byte == b'\n').zip(1..) {
            let (row, cut) = match row.strip_suffix(b"\n") {
                Some(row) => (row.strip_suffix(b"\r").unwrap_or(row), false),
                None => (row, true),
            };
            if row.starts_with(b"#") {
                reference.facts.insert(number);
                segment += u32::from(row == FIRST_LINE.as_bytes() && number > 1);
            } else if let Some((gpu, mut bytes)) =
                Some(row).filter(|row| row.len() <= MAX_FILE_LINE).and_then(Self::record)
            {
                if cut && bytes.last() == Some(&b'\n') {
                    bytes.pop();
                }
                reference.gpus.insert(gpu);
                if !bytes.is_empty() {
                    reference.bytes.entry((segment, Some(GpuId(gpu)))).or_default().extend(bytes);
                }
            } else {
                reference.malformed.insert(number);
            }
        }
        reference
    }

    /// The GPU and the bytes of a record, its newline among them.
    fn record(row: &[u8]) -> Option<(u32, Vec<u8>)> {
        let row =
            str::from_utf8(row).ok().filter(|row| row.bytes().all(|byte| (b' '..=b'~').contains(&byte)))?;
        let (arrival, row) = row.split_once(' ')?;
        let (gpu, row) = row.split_once(' ')?;
        let digits = |text: &str, digits: &str| !text.is_empty() && text.chars().all(|c| digits.contains(c));
        if !digits(arrival, "0123456789") || !digits(gpu, "0123456789abcdef") {
            return None;
        }
        arrival.parse::<i64>().ok()?;
        let gpu = u32::from_str_radix(gpu, 16).ok()?;
        let row = row.strip_prefix([':', '+'])?;
        let text = if row.is_empty() { row } else { row.strip_prefix(' ')? };
        let (text, newline) = text.strip_suffix('\\').map_or((text, true), |text| (text, false));
        let mut parts = text.split('\\');
        let mut bytes = parts.next()?.as_bytes().to_vec();
        for part in parts {
            let code =
                part.get(1..3).filter(|code| part.starts_with('x') && digits(code, "0123456789abcdef"))?;
            bytes.push(u8::from_str_radix(code, 16).ok()?);
            bytes.extend(part[3..].bytes());
        }
        if bytes.contains(&b'\n') {
            return None;
        }
        bytes.extend(newline.then_some(b'\n'));
        Some((gpu, bytes))
    }
}

/// A file that is cut off at any of these lengths says what stands before that, and no line of it as if it were whole.
///
/// # Panics
///
/// If the law does not hold.
pub fn a_cut_file_says_less(file: &[u8], lengths: impl IntoIterator<Item = usize>) {
    let whole =
        |said: &Said| -> Vec<Seen> { said.records.iter().filter(|seen| seen.terminated).cloned().collect() };
    let all = replay(file);
    let all_whole = whole(&all);
    for length in lengths {
        let file = &file[..length];
        let cut = replay(file);
        assert!(all_whole.starts_with(&whole(&cut)), "{}", file.escape_ascii());
        let rows = file.split_inclusive(|byte| *byte == b'\n').count() as u64;
        let fresh = cut.malformed.iter().filter(|number| !all.malformed.contains(number));
        assert!(fresh.copied().all(|number| number == rows), "{}", file.escape_ascii());
    }
}

/// Takes so many bytes, then says that the disk is full.
#[derive(Debug)]
pub struct Disk {
    /// What was taken.
    pub file: Vec<u8>,
    /// How many bytes there is room for.
    pub room: usize,
}

impl io::Write for Disk {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = bytes.len().min(self.room - self.file.len());
        if taken == 0 {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.file.extend(&bytes[..taken]);
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A recorder whose disk is full leaves whole lines, and goes on where it stopped when there is room.
///
/// # Panics
///
/// If the law does not hold.
pub fn a_full_disk_loses_nothing(steps: &[Step], room: usize, flushed: bool) {
    let (_, expected) = record(steps, false);
    let mut recorder = Recorder::new(Disk { file: vec![], room }, &Header::default());
    let free = |recorder: &mut Recorder<Disk>| {
        let written = usize::try_from(recorder.written()).expect("it fits into memory");
        let disk = recorder.get_mut();
        assert!(written == 0 || disk.file[written - 1] == b'\n', "half a line");
        disk.file.truncate(written);
        disk.room += room + MAX_FILE_LINE;
    };
    live(steps, |said| {
        let write = |recorder: &mut Recorder<Disk>| match &said {
            Live::Record(record) => recorder.record(record),
            Live::End(gpu) => recorder.end(*gpu, &Text::from("closed")),
        };
        while write(&mut recorder).is_err() {
            free(&mut recorder);
        }
        while flushed && recorder.flush().is_err() {
            free(&mut recorder);
        }
    });
    while recorder.flush().is_err() {
        free(&mut recorder);
    }
    assert_eq!(recorder.size(), expected.len() as u64);
    assert_eq!(recorder.written(), expected.len() as u64);
    assert!(recorder.get_ref().file == expected, "another file");
}
