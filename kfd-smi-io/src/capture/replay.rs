//! Reads the file: [`Replay`].

use std::io::{self, BufRead, Read as _};

use kfd_smi_proto::GpuId;

use super::error::{CaptureError, CaptureErrorKind, Mistake};
use super::fact::{self, GpuInfo, ProcessInfo};
use super::fields::Fields;
use super::header::Header;
use super::row::Row;
use super::seam::Seam;
use super::streams::Streams;
use super::text::Text;
use super::{FIRST_LINE, MAX_FILE_LINE};
use crate::clock::Clock;
use crate::record::Record;

/// What a capture says next.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Entry<'a> {
    /// A capture begins: at the start of the file, and where files were joined. What came before, clock and GPUs
    /// too, means nothing for what follows.
    Segment(&'a Header),
    /// A line of the driver, or a piece of one that is longer than a [`Decoder`](kfd_smi_proto::Decoder) holds.
    Record(Record<'a>),
    /// A GPU is recorded.
    Gpu(GpuInfo),
    /// What the clocks show. It holds for the records behind it.
    Clock(Clock),
    /// What `/proc` said of a process after an event named its pid.
    Process(ProcessInfo),
    /// The file descriptor of this GPU failed or was closed, for this reason.
    End(GpuId, Text),
    /// So many records did not fit in the memory of the recorder.
    Lost(u64),
    /// The kernel's buffer of this GPU was full: events may have been lost just then.
    Full(GpuId),
    /// A line of the file that is none of these. It was left out.
    Malformed(CaptureError),
}

/// Reads a capture file.
///
/// ```
/// use kfd_smi_io::capture::{Entry, Replay};
///
/// # fn main() -> std::io::Result<()> {
/// # let file = b"# kfd-smi capture 1\n# clock 9000 1764581223000000000 9000\n9500 1f4b : 3 1 job hang\n";
/// let mut replay = Replay::new(file.as_slice());
/// loop {
///     // An entry borrows from the replay, so what holds for it is asked for before.
///     let clock = replay.clock();
///     match replay.next_entry()? {
///         Some(Entry::Record(record)) => {
///             let time = record.arrival.zip(clock).map(|(arrival, clock)| clock.realtime_of(arrival));
///             assert_eq!(time, Some(1764581223000000500));
///             assert_eq!(record.line.bytes, b"3 1 job hang");
///         }
///         Some(Entry::Malformed(error)) => eprintln!("{error}"),
///         Some(_) => {}
///         None => break,
///     }
/// }
/// # Ok(())
/// # }
/// ```
///
/// # Bounds
///
/// Whatever the file, it takes no more memory than for one line of the file ([`MAX_FILE_LINE`]), a header, and a decoder
/// for each of [`MAX_GPUS`](super::MAX_GPUS) GPUs: about 5 MB. Records allocate nothing, once there was one of each GPU.
#[derive(Debug)]
pub struct Replay<R> {
    reader: R,
    /// The line of the file that is being read, without its end, and its number.
    line: Vec<u8>,
    number: u64,
    /// How it ends.
    ending: Ending,
    /// Whether it is still to be looked at.
    waits: bool,
    /// What the record in it stands for, the newline included if there is one.
    bytes: Vec<u8>,
    /// The stream that takes it, and how much of it was taken.
    feeding: Option<(usize, usize)>,
    streams: Streams,
    header: Header,
    /// Whether the header is complete and was handed out.
    begun: bool,
    clock: Option<Clock>,
    ended: bool,
}

/// How a line of the file ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    Newline,
    /// The file ends.
    Cut,
    /// It is too long, and the rest was skipped.
    Skipped,
}

/// What is to be handed out.
enum Step {
    Segment,
    /// A line of this stream.
    Line(usize),
    /// Its last line, which has no end.
    Rest(usize),
    Fact(Entry<'static>),
    /// A line of the file means nothing, or was taken.
    Nothing,
}

impl<R: BufRead> Replay<R> {
    /// Reads a capture. If the stream can also be a raw log, see [`Log`](super::Log).
    ///
    /// A file that does not begin with the first line of a capture is reported as malformed and then read all the same,
    /// so that records that were cut out of a capture can be read.
    pub fn new(reader: R) -> Self {
        Self {
            reader,
            line: vec![],
            number: 0,
            ending: Ending::Newline,
            waits: false,
            bytes: vec![],
            feeding: None,
            streams: Streams::default(),
            header: Header::default(),
            begun: false,
            clock: None,
            ended: false,
        }
    }

    /// What comes next; `None` at the end of the file.
    ///
    /// # Errors
    ///
    /// The reader's. What is wrong with the file is no error but [`Entry::Malformed`].
    pub fn next_entry(&mut self) -> io::Result<Option<Entry<'_>>> {
        Ok(match self.step()? {
            Some(Step::Segment) => Some(Entry::Segment(&self.header)),
            Some(Step::Line(stream)) => self.streams.get(stream).next_line().map(Entry::Record),
            Some(Step::Rest(stream)) => self.streams.get(stream).finish().map(Entry::Record),
            Some(Step::Fact(entry)) => Some(entry),
            Some(Step::Nothing) | None => None,
        })
    }

    /// Reads on until there is something to hand out.
    fn step(&mut self) -> io::Result<Option<Step>> {
        loop {
            if let Some(stream) = self.feed() {
                return Ok(Some(Step::Line(stream)));
            }
            if !self.waits {
                if self.ended || !self.read_line()? {
                    self.ended = true;
                    return Ok(match self.streams.first_open() {
                        Some(stream) => Some(Step::Rest(stream)),
                        None => (self.number > 0 && self.begin()).then_some(Step::Segment),
                    });
                }
                self.waits = true;
                if self.number == 1 && !self.is_first_line() {
                    return Ok(Some(self.malformed((0, CaptureErrorKind::FirstLine))));
                }
            }
            match self.look() {
                Ok(Step::Nothing) => {}
                Ok(step) => return Ok(Some(step)),
                Err(mistake) => {
                    self.waits = false;
                    return Ok(Some(self.malformed(mistake)));
                }
            }
        }
    }

    /// Gives the record to its stream, until that has a line.
    fn feed(&mut self) -> Option<usize> {
        let (stream, fed) = self.feeding.as_mut()?;
        let index = *stream;
        let stream = self.streams.get(index);
        *fed += stream.feed(&self.bytes[*fed..]);
        let has_line = stream.has_line();
        if *fed == self.bytes.len() && !has_line {
            self.feeding = None;
        }
        has_line.then_some(index)
    }

    /// Reads a line of the file; false at the end.
    fn read_line(&mut self) -> io::Result<bool> {
        // A carriage return and a newline may follow.
        const LIMIT: u64 = MAX_FILE_LINE as u64 + 2;
        self.line.clear();
        if self.reader.by_ref().take(LIMIT).read_until(b'\n', &mut self.line)? == 0 {
            return Ok(false);
        }
        self.number += 1;
        self.ending = match self.line.as_slice() {
            [.., b'\r', b'\n'] => Ending::Newline,
            [line @ .., b'\n'] if line.len() <= MAX_FILE_LINE => Ending::Newline,
            [.., b'\n'] => Ending::Skipped,
            line if line.len() <= MAX_FILE_LINE => Ending::Cut,
            _ => {
                self.skip_line()?;
                Ending::Skipped
            }
        };
        if let [line @ .., b'\r', b'\n'] | [line @ .., b'\n'] = self.line.as_slice() {
            self.line.truncate(line.len());
        }
        Ok(true)
    }

    /// Skips the rest of a line.
    fn skip_line(&mut self) -> io::Result<()> {
        loop {
            let chunk = match self.reader.fill_buf() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                chunk => chunk?,
            };
            let newline = chunk.iter().position(|byte| *byte == b'\n');
            let used = newline.map_or(chunk.len(), |newline| newline + 1);
            let at_end = used == 0 || newline.is_some();
            self.reader.consume(used);
            if at_end {
                return Ok(());
            }
        }
    }

    fn is_first_line(&self) -> bool {
        self.ending != Ending::Skipped && self.line == FIRST_LINE.as_bytes()
    }

    const fn malformed(&self, (offset, kind): Mistake) -> Step {
        Step::Fact(Entry::Malformed(CaptureError { line: self.number, offset, kind }))
    }

    /// Ends the header; true if that was not done before.
    const fn begin(&mut self) -> bool {
        !std::mem::replace(&mut self.begun, true)
    }

    /// Looks at a line of the file. Those that something must be handed out for first stay where they are.
    fn look(&mut self) -> Result<Step, Mistake> {
        if self.ending == Ending::Skipped {
            return Err((MAX_FILE_LINE, CaptureErrorKind::ShorterLine));
        }
        if self.is_first_line() {
            return Ok(self.segment());
        }
        match self.line.strip_prefix(b"#") {
            Some(_) => self.comment(),
            None => self.record(),
        }
    }

    /// The first line of a segment.
    fn segment(&mut self) -> Step {
        if self.number > 1 {
            if let Some(stream) = self.streams.first_open() {
                return Step::Rest(stream);
            }
            if self.begin() {
                return Step::Segment;
            }
        }
        self.streams.clear();
        self.header = Header::default();
        self.clock = None;
        self.begun = false;
        self.waits = false;
        Step::Nothing
    }

    fn comment(&mut self) -> Result<Step, Mistake> {
        const WORDS: [&[u8]; 7] = [b"gpu", b"clock", b"process", b"end", b"lost", b"full", b"seam"];
        let mut fields = Fields::new(&self.line);
        let (hash, _) = fields.take();
        let (word, at) = fields.take();
        let in_header = Header::has(word);
        if hash != b"#" || !(in_header || WORDS.contains(&word)) {
            self.waits = false;
            return Ok(Step::Nothing);
        }
        if self.ending == Ending::Cut {
            return Err((self.line.len(), CaptureErrorKind::Newline));
        }
        if in_header {
            if self.begun {
                return Err((at, CaptureErrorKind::InHeader));
            }
            self.header.read(word, &mut fields)?;
            self.waits = false;
            return Ok(Step::Nothing);
        }
        let fact = match word {
            b"gpu" => Entry::Gpu(GpuInfo::read(&mut fields)?),
            b"clock" => Entry::Clock(fact::read_clock(&mut fields)?),
            b"process" => Entry::Process(ProcessInfo::read(&mut fields)?),
            b"end" => Entry::End(fields.gpu()?, fields.text()?),
            b"lost" => Entry::Lost(fields.decimal()?),
            b"full" => Entry::Full(fields.gpu()?),
            _ => {
                let (gpu, seam) = Seam::read(&mut fields)?;
                return self.seam(gpu, seam);
            }
        };
        if self.begin() {
            return Ok(Step::Segment);
        }
        match &fact {
            Entry::Clock(clock) => self.clock = Some(*clock),
            Entry::End(gpu, _) => {
                if let Some(stream) = self.open(*gpu) {
                    return Ok(Step::Rest(stream));
                }
                self.streams.remove(*gpu);
            }
            _ => {}
        }
        self.waits = false;
        Ok(Step::Fact(fact))
    }

    /// The stream of this GPU, if it ends within a line.
    fn open(&mut self, gpu: GpuId) -> Option<usize> {
        let stream = self.streams.find(gpu)?;
        self.streams.get(stream).is_open().then_some(stream)
    }

    fn seam(&mut self, gpu: GpuId, seam: Seam) -> Result<Step, Mistake> {
        if self.begin() {
            return Ok(Step::Segment);
        }
        if let Some(stream) = self.open(gpu) {
            return Ok(Step::Rest(stream));
        }
        let stream = self.streams.find_or_begin(gpu).ok_or((0, CaptureErrorKind::FewerGpus))?;
        self.streams.get(stream).resume(seam);
        self.waits = false;
        Ok(Step::Nothing)
    }

    fn record(&mut self) -> Result<Step, Mistake> {
        self.bytes.clear();
        let row = Row::read(&self.line, &mut self.bytes)?;
        if self.begin() {
            return Ok(Step::Segment);
        }
        let gpus = (row.gpu_at, CaptureErrorKind::FewerGpus);
        let stream = self.streams.find_or_begin(row.gpu).ok_or(gpus)?;
        self.streams.get(stream).record(row.arrival, row.drained, self.number);
        // Where the file was cut off, the line can have been longer.
        if row.terminated && self.ending == Ending::Newline {
            self.bytes.push(b'\n');
        }
        self.feeding = Some((stream, 0));
        self.waits = false;
        Ok(Step::Nothing)
    }
}

impl<R> Replay<R> {
    /// What is known of the machine of this segment: all of it once [`Entry::Segment`] came.
    pub const fn header(&self) -> &Header {
        &self.header
    }

    /// The last [`Entry::Clock`] of this segment: what makes wall-clock time of an arrival.
    pub const fn clock(&self) -> Option<Clock> {
        self.clock
    }

    /// The number of the line of the file that was read last, from 1.
    pub const fn file_line(&self) -> u64 {
        self.number
    }

    /// Gives back the reader. What was read ahead is lost.
    pub fn into_inner(self) -> R {
        self.reader
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the entries are, in short.
    fn entries(file: &str) -> Vec<String> {
        let mut replay = Replay::new(file.as_bytes());
        let mut entries = vec![];
        while let Some(entry) = replay.next_entry().unwrap() {
            entries.push(match entry {
                Entry::Segment(header) => format!("segment {:?}", header.release),
                Entry::Record(record) => {
                    let Record { line, arrival, .. } = record;
                    let end = if line.terminated { "" } else { "..." };
                    let bytes = line.bytes.escape_ascii();
                    format!("{} {bytes}{end} at {}", arrival.unwrap().nanos(), line.offset)
                }
                Entry::Malformed(error) => error.to_string(),
                other => format!("{other:?}"),
            });
        }
        entries
    }

    #[test]
    fn a_header_comes_whole_and_before_all_else() {
        assert_eq!(
            entries("# kfd-smi capture 1\n# release a\n# hello\n# mask x\n# lost 1\n# release b\n"),
            [
                "expected a hexadecimal number below 2^64 at byte 7 of line 4",
                "segment Some(Text(\"a\"))",
                "Lost(1)",
                "expected this word in the header alone, not at byte 2 of line 6",
            ]
        );
        assert_eq!(entries("# kfd-smi capture 1\n# kfd-smi capture 1"), ["segment None", "segment None"]);
        assert!(entries("").is_empty());
    }

    #[test]
    fn records_without_a_first_line_are_read_and_reported() {
        let expected = [
            "expected \"# kfd-smi capture 1\" at byte 0 of line 1",
            "segment None",
            "5 3 1 at 0",
            "6 4 1 at 4",
        ];
        assert_eq!(entries("5 1 + 3 1\n6 1 + 4 1\n"), expected);
    }

    #[test]
    fn a_line_goes_on_until_it_ends() {
        assert_eq!(
            entries(
                "# kfd-smi capture 1\n1 1 : 3 \\\n2 2 + 4 \\\n3 1 + 1\n4 1 + 4 1\\\n5 1 + 2\\\n# end 1 x\n6 1 + 3 2\n"
            ),
            [
                "segment None",
                "3 3 1 at 0",
                "5 4 12... at 4",
                "End(GpuId(1), Text(\"x\"))",
                "6 3 2 at 0",
                "2 4 ... at 0"
            ]
        );
    }

    #[test]
    fn an_open_line_that_no_record_goes_on_with_is_no_record() {
        let file = "# kfd-smi capture 1\n# seam 1 open\n# seam 2 open\n# seam 2 0\n3 2 + 3 1\n# seam 3 open\n\
                    # end 3 x\n# seam 1 open\n4 1 + y\n# seam 1 open\n# kfd-smi capture 1\n# seam 1 open\n";
        let expected =
            ["segment None", "3 3 1 at 0", "End(GpuId(3), Text(\"x\"))", "4 y at 0", "segment None"];
        assert_eq!(entries(file), expected);
    }
}
