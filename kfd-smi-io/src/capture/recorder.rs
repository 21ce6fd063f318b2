//! Writes the file: [`Recorder`].

use std::io::{self, Write};
use std::mem;

use kfd_smi_proto::{GpuId, TrustTracker, parse_line};

use super::MAX_PIECE;
use super::escape::{push_field, push_line};
use super::fact::{self, GpuInfo, ProcessInfo};
use super::header::Header;
use super::redact::redact;
use super::replay::Entry;
use super::seam::{LONGEST_NAME, Seam};
use super::text::Text;
use crate::clock::Clock;
use crate::record::Record;

/// Writes a capture file.
///
/// ```
/// use kfd_smi_io::capture::{Header, Log, Recorder};
/// use kfd_smi_io::{Clock, GpuId, Record};
///
/// # fn main() -> std::io::Result<()> {
/// let mut recorder = Recorder::new(vec![], &Header::default());
/// recorder.clock(Clock::now())?;
///
/// // Records come from an `EventReader` as a rule; these come from a log, so they need a GPU and a time.
/// let mut log = Log::detect(b"3 1 job hang\n4 1 \n".as_slice())?;
/// while let Some(kfd_smi_io::capture::Entry::Record(mut record)) = log.next_entry()? {
///     record.gpu = Some(GpuId(0x1ea0));
///     record.arrival = Some(Clock::now().boot);
///     recorder.record(&record)?;
/// }
/// recorder.flush()?;
/// let file = String::from_utf8(recorder.finish()?).unwrap();
/// assert!(file.starts_with("# kfd-smi capture 1\n# clock "));
/// assert!(file.ends_with(" 1ea0 + 4 1\\x20\n"));
/// # Ok(())
/// # }
/// ```
///
/// # Writing
///
/// It gathers whole lines in memory and writes about 64 KiB at once, or when [`flush`](Self::flush) is called: call it
/// when nothing more waits to be recorded. Dropped, it writes nothing; [`finish`](Self::finish) does. The writer needs
/// no buffer of its own.
///
/// An error of the writer, such as a full disk, loses nothing that was not written: all of it stays, and the next
/// call tries again. What the writer took by then can end within a line: cut the file to [`written`](Self::written)
/// bytes before the next call, or before you give up. While the memory is full, an error means that
/// the line of the call was not taken.
///
/// # Records that are left out
///
/// Any record may be left out, because there was no room for it or because it was not wanted. Where that would change what
/// a reader says of those that follow, for example because the line with the name that a line can be forged by is
/// missing, a `# seam` line is written. It is found out by itself: a reader always says of a line what the
/// [`trust`](kfd_smi_proto::Line::trust) of the record said.
#[derive(Debug)]
pub struct Recorder<W> {
    writer: W,
    redact: bool,
    /// Whole lines that are still to be written, and how much of them the writer took.
    lines: Vec<u8>,
    taken: usize,
    /// How many bytes the writer has of lines that are no longer in memory.
    written: u64,
    /// A line with its names replaced.
    replaced: Vec<u8>,
    streams: Vec<Stream>,
}

/// What a reader of the file will know of a GPU.
#[derive(Debug)]
struct Stream {
    gpu: GpuId,
    trust: TrustTracker,
    /// Whether the last record did not end its line.
    open: bool,
    /// Whether more pieces of its last line are to come.
    goes_on: bool,
}

/// From so many bytes on, what was gathered is written.
const ENOUGH: usize = 1 << 16;

impl<W: Write> Recorder<W> {
    /// Begins a capture with its header. Nothing is written yet.
    #[must_use]
    pub fn new(writer: W, header: &Header) -> Self {
        Self::begin(writer, header, false)
    }

    /// Begins a capture in which names are replaced: see [redaction](super#redaction).
    #[must_use]
    pub fn redacted(writer: W, header: &Header) -> Self {
        Self::begin(writer, header, true)
    }

    fn begin(writer: W, header: &Header, redact: bool) -> Self {
        let mut lines = Vec::with_capacity(2 * ENOUGH);
        header.write(&mut lines, redact);
        Self { writer, redact, lines, taken: 0, written: 0, replaced: vec![], streams: vec![] }
    }

    /// Begins another capture behind this one, in the same file: say of what comes from another machine or boot.
    ///
    /// # Errors
    ///
    /// The writer's.
    pub fn segment(&mut self, header: &Header) -> io::Result<()> {
        self.make_room()?;
        self.streams.clear();
        header.write(&mut self.lines, self.redact);
        Ok(())
    }

    /// Says what a GPU is: at the start for each, and when one comes.
    ///
    /// # Errors
    ///
    /// The writer's.
    pub fn gpu(&mut self, gpu: &GpuInfo) -> io::Result<()> {
        self.make_room()?;
        gpu.write(&mut self.lines, self.redact);
        Ok(())
    }

    /// Says what the clocks show: at the start, every hour, and when one of them was set or the system was suspended.
    ///
    /// # Errors
    ///
    /// The writer's.
    pub fn clock(&mut self, clock: Clock) -> io::Result<()> {
        self.make_room()?;
        fact::write_clock(clock, &mut self.lines);
        Ok(())
    }

    /// Says what `/proc` says of a process, once an event named it.
    ///
    /// # Errors
    ///
    /// The writer's.
    pub fn process(&mut self, process: &ProcessInfo) -> io::Result<()> {
        self.make_room()?;
        process.write(&mut self.lines, self.redact);
        Ok(())
    }

    /// Says that so many records were left out because there was no room for them.
    ///
    /// # Errors
    ///
    /// The writer's.
    pub fn lost(&mut self, records: u64) -> io::Result<()> {
        self.make_room()?;
        writeln!(self.lines, "# lost {records}")
    }

    /// Says that the kernel's buffer of a GPU was full: [`Next::Full`](crate::Next::Full).
    ///
    /// # Errors
    ///
    /// The writer's.
    pub fn full(&mut self, gpu: GpuId) -> io::Result<()> {
        self.make_room()?;
        writeln!(self.lines, "# full {:x}", gpu.0)
    }

    /// Says that a GPU ended, and why: [`Next::Ended`](crate::Next::Ended).
    ///
    /// # Errors
    ///
    /// The writer's.
    pub fn end(&mut self, gpu: GpuId, reason: &Text) -> io::Result<()> {
        self.make_room()?;
        self.streams.retain(|stream| stream.gpu != gpu);
        write!(self.lines, "# end {:x} ", gpu.0)?;
        push_field(&mut self.lines, reason.as_bytes());
        self.lines.push(b'\n');
        Ok(())
    }

    /// Writes a record: a line of the driver, or a piece of one.
    ///
    /// A last line without newline is written when the stream has ended; no record of the same GPU follows but behind
    /// [`end`](Self::end).
    ///
    /// # Errors
    ///
    /// The record has no GPU or no arrival time; or the writer's.
    pub fn record(&mut self, record: &Record<'_>) -> io::Result<()> {
        let (Some(gpu), Some(arrival)) = (record.gpu, record.arrival) else {
            let message = "expected a record with a GPU and an arrival time";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        };
        self.make_room()?;
        self.mark_seam(gpu, record);
        let line = &record.line;
        let mut bytes = line.bytes;
        if self.redact {
            redact(line, &mut self.replaced);
            bytes = &self.replaced;
        }
        let mut mark = if line.drained_before { ':' } else { '+' };
        loop {
            let (piece, rest) = bytes.split_at(bytes.len().min(MAX_PIECE));
            write!(self.lines, "{} {:x} {mark} ", arrival.nanos(), gpu.0)?;
            push_line(&mut self.lines, piece);
            if !rest.is_empty() || !line.terminated {
                self.lines.push(b'\\');
            }
            self.lines.push(b'\n');
            if rest.is_empty() {
                return Ok(());
            }
            bytes = rest;
            mark = '+';
        }
    }

    /// Writes what a [`Replay`](super::Replay) says, so that what was read is copied. What was malformed is left out.
    ///
    /// ```
    /// use kfd_smi_io::capture::{Entry, Recorder, Replay};
    ///
    /// # fn main() -> std::io::Result<()> {
    /// # let file = b"# kfd-smi capture 1\n# host node7\n9325639937 1f4b : 1 cf:my task\n".as_slice();
    /// let mut replay = Replay::new(file);
    /// let mut copy = None;
    /// while let Some(entry) = replay.next_entry()? {
    ///     match (&mut copy, entry) {
    ///         (None, Entry::Segment(header)) => copy = Some(Recorder::redacted(vec![], header)),
    ///         (None, _) => {}
    ///         (Some(copy), entry) => copy.entry(&entry)?,
    ///     }
    /// }
    /// let copy = copy.unwrap().finish()?;
    /// assert_eq!(copy, b"# kfd-smi capture 1\n# redacted yes\n9325639937 1f4b : 1 cf:xxxxxxx\n");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// As the function for that kind of entry.
    pub fn entry(&mut self, entry: &Entry<'_>) -> io::Result<()> {
        match entry {
            Entry::Segment(header) => self.segment(header),
            Entry::Record(record) => self.record(record),
            Entry::Gpu(gpu) => self.gpu(gpu),
            Entry::Clock(clock) => self.clock(*clock),
            Entry::Process(process) => self.process(process),
            Entry::End(gpu, reason) => self.end(*gpu, reason),
            Entry::Lost(records) => self.lost(*records),
            Entry::Full(gpu) => self.full(*gpu),
            Entry::Malformed(_) => Ok(()),
        }
    }

    /// Writes a seam if a reader of what was written so far would not say of this record what it says itself.
    fn mark_seam(&mut self, gpu: GpuId, record: &Record<'_>) {
        let index = match self.streams.iter().position(|stream| stream.gpu == gpu) {
            Some(index) => index,
            None => {
                self.streams.push(Stream {
                    gpu,
                    trust: TrustTracker::for_gpu(gpu),
                    open: false,
                    goes_on: false,
                });
                self.streams.len() - 1
            }
        };
        let stream = &mut self.streams[index];
        let line = &record.line;
        let wanted = line.trust.is_forgeable();
        let judge = |trust: &mut TrustTracker| {
            if line.drained_before {
                trust.source_drained();
            }
            trust.judge(line.bytes, &line.event).is_forgeable() == wanted
        };
        let mut trust = stream.trust.clone();
        let agrees = judge(&mut trust);
        let seam = if !line.part.begins() {
            // A line that ended without newline is not the one that this is a piece of.
            (!stream.goes_on).then_some(Seam::Open)
        } else if stream.open || !agrees {
            Some(Seam::Budget(if wanted { LONGEST_NAME } else { 0 }))
        } else {
            None
        };
        if let Some(seam) = seam {
            trust = TrustTracker::for_gpu(gpu);
            if let Seam::Budget(LONGEST_NAME) = seam {
                // A line with an empty name leaves all of it.
                let name = parse_line(b"1 0:");
                trust.judge(name.bytes, &name.event);
            }
            judge(&mut trust);
            // Writing to memory does not fail.
            _ = match seam {
                Seam::Open => writeln!(self.lines, "# seam {:x} open", gpu.0),
                Seam::Budget(budget) => writeln!(self.lines, "# seam {:x} {budget}", gpu.0),
            };
        }
        stream.trust = trust;
        stream.open = !line.terminated;
        stream.goes_on = !line.part.ends();
    }

    /// Goes on in another file, and gives back the writer of this one, with everything written.
    ///
    /// The new file begins with this header; say again what the GPUs are and what the clocks show. It needs nothing of the
    /// old one to be read: what of it matters is written where it does, as for records that are left out.
    ///
    /// # Errors
    ///
    /// What the old file still needs could not be written: it goes on there.
    pub fn rotate(&mut self, writer: W, header: &Header) -> io::Result<W> {
        self.flush()?;
        let old = mem::replace(&mut self.writer, writer);
        self.written = 0;
        self.segment(header)?;
        Ok(old)
    }

    /// Writes all that was gathered.
    ///
    /// # Errors
    ///
    /// The writer's: see [above](Self#writing).
    pub fn flush(&mut self) -> io::Result<()> {
        self.write_out()?;
        self.writer.flush()
    }

    /// Writes all that was gathered, and gives back the writer.
    ///
    /// # Errors
    ///
    /// The writer's. What could not be written is lost; call [`flush`](Self::flush) before if you want to try again.
    pub fn finish(mut self) -> io::Result<W> {
        self.flush()?;
        Ok(self.writer)
    }

    /// Writes, if there is enough of it.
    fn make_room(&mut self) -> io::Result<()> {
        if self.lines.len() >= ENOUGH { self.write_out() } else { Ok(()) }
    }

    fn write_out(&mut self) -> io::Result<()> {
        while let Some(rest) = self.lines.get(self.taken..).filter(|rest| !rest.is_empty()) {
            match self.writer.write(rest) {
                Ok(0) => {
                    self.forget_taken();
                    return Err(io::ErrorKind::WriteZero.into());
                }
                Ok(n) => self.taken += n,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.forget_taken();
                    return Err(error);
                }
            }
        }
        self.forget_taken();
        Ok(())
    }

    /// Drops the lines that the writer took whole. Of one that it took in part it will get all again.
    fn forget_taken(&mut self) {
        let taken = self.lines.get(..self.taken).unwrap_or_default();
        let whole = taken.iter().rposition(|byte| *byte == b'\n').map_or(0, |newline| newline + 1);
        self.lines.drain(..whole);
        self.written += whole as u64;
        self.taken = 0;
    }
}

impl<W> Recorder<W> {
    /// How many bytes of whole lines the writer has taken. After an error it may have taken a part of the next line,
    /// which is to be cut off.
    pub const fn written(&self) -> u64 {
        self.written
    }

    /// How many bytes the file will have when all that was gathered is written: the size to rotate by.
    pub const fn size(&self) -> u64 {
        self.written + self.lines.len() as u64
    }

    /// The writer.
    pub const fn get_ref(&self) -> &W {
        &self.writer
    }

    /// The writer, to cut it off after an error.
    pub const fn get_mut(&mut self) -> &mut W {
        &mut self.writer
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::RawLog;
    use kfd_smi_proto::BootNanos;

    /// Records the lines of a log as those of GPU 1, all at once.
    fn record(recorder: &mut Recorder<Vec<u8>>, log: &[u8]) {
        let mut log = RawLog::new(log);
        while let Some(mut record) = log.next_record().unwrap() {
            (record.gpu, record.arrival) = (Some(GpuId(1)), BootNanos::new(7));
            recorder.record(&record).unwrap();
        }
    }

    #[test]
    fn a_record_needs_a_gpu_and_a_time() {
        let mut recorder = Recorder::new(vec![], &Header::default());
        let mut log = RawLog::new(b"3 1\n".as_slice());
        let error = recorder.record(&log.next_record().unwrap().unwrap()).unwrap_err();
        assert_eq!(error.to_string(), "expected a record with a GPU and an arrival time");
        assert_eq!(recorder.finish().unwrap(), b"# kfd-smi capture 1\n");
    }

    #[test]
    fn a_seam_stands_where_it_is_needed_and_nowhere_else() {
        let mut recorder = Recorder::new(vec![], &Header::default());
        record(&mut recorder, b"1 5:a\n3 1\n1 5:b\n");
        let mut log = RawLog::new(b"1 5:a\n3 1\n3 2 job hang\n3 3\n".as_slice());
        let mut files = vec![];
        while let Some(mut record) = log.next_record().unwrap() {
            (record.gpu, record.arrival) = (Some(GpuId(1)), BootNanos::new(8));
            recorder.record(&record).unwrap();
            files.push(recorder.rotate(vec![], &Header::default()).unwrap());
        }
        let shown: Vec<_> = files.iter().map(|file| str::from_utf8(file).unwrap()).collect();
        assert_eq!(
            shown,
            [
                "# kfd-smi capture 1\n7 1 + 1 5:a\n7 1 + 3 1\n7 1 + 1 5:b\n# seam 1 0\n8 1 + 1 5:a\n",
                "# kfd-smi capture 1\n# seam 1 15\n8 1 + 3 1\n",
                "# kfd-smi capture 1\n8 1 + 3 2 job hang\n",
                "# kfd-smi capture 1\n8 1 + 3 3\n",
            ]
        );
    }

    #[test]
    fn a_piece_does_not_go_on_with_a_line_that_was_cut() {
        let file = b"# kfd-smi capture 1\n1 1 + 3 1\\\n# seam 1 open\n2 1 + x\n".as_slice();
        let mut replay = crate::capture::Replay::new(file);
        let mut recorder = Recorder::new(vec![], &Header::default());
        while let Some(entry) = replay.next_entry().unwrap() {
            if let Entry::Record(record) = entry {
                recorder.record(&record).unwrap();
            }
        }
        assert_eq!(recorder.finish().unwrap(), file);
    }

    #[test]
    fn sizes_count_whole_lines() {
        let mut recorder = Recorder::new(vec![], &Header::default());
        record(&mut recorder, b"3 1\n");
        assert_eq!((recorder.written(), recorder.size()), (0, 30));
        recorder.flush().unwrap();
        assert_eq!((recorder.written(), recorder.size()), (30, 30));
    }
}
