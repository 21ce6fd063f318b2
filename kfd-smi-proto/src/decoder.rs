//! Chunks in, lines out: [`Decoder`].

use core::fmt;

use heapless::Vec;
use memchr::{memchr, memrchr};

use crate::error::{ParseError, ParseErrorKind};
use crate::event::Event;
use crate::field::GpuId;
use crate::grammar::leading_id;
use crate::line::{Line, MAX_LINE, Part, first_line};
use crate::trust::TrustTracker;
use crate::word::each;

/// Puts lines together from chunks of any size, in a buffer of `N` bytes of its own.
///
/// ```
/// # use std::io::Read;
/// # fn main() -> std::io::Result<()> {
/// # let mut source: &[u8] = b"9 14601738586508 -152990 1ea0 2\na 14601738599999 -152990 1ea0\n4 1 ";
/// # let mut events = 0;
/// use kfd_smi_proto::Decoder;
///
/// let mut decoder: Decoder = Decoder::new();
/// loop {
///     let n = source.read(decoder.buffer())?;
///     if n == 0 {
///         break;
///     }
///     decoder.advance(n);
///     while let Some(line) = decoder.next_line() {
///         // … line.event …
/// #       events += usize::from(line.event.is_ok());
///     }
/// }
/// while let Some(line) = decoder.finish() {
///     // … the last line, if it has no newline …
/// #   events += usize::from(line.event.is_ok());
/// }
/// # assert_eq!(events, 3);
/// # Ok(())
/// # }
/// ```
///
/// # Contract
///
/// * However the input is cut into chunks, down to one byte, the same lines come out.
/// * After [`next_line`](Self::next_line) has returned `None`, [`buffer`](Self::buffer) is never empty.
/// * A line that does not fit into `N` bytes with its newline comes out in pieces of `N` bytes (the last is
///   shorter), marked as such in [`Line::part`]. All pieces are
///   [`LineTooLong`](ParseErrorKind::LineTooLong); they count as one malformed line.
/// * Lines and pieces, with their newlines, put together are the input.
/// * It takes any bytes and never panics; after garbage, the next line is read like any other.
///
/// `N` is at least 128, which holds the longest line that any kernel can print; 4097 and more hold every line that
/// can be an event. The default holds a full buffer of the kernel (8192 bytes) besides.
#[derive(Clone)]
pub struct Decoder<const N: usize = 16384> {
    /// Empty until the buffer is first lent, from then on all `N` bytes.
    bytes: Vec<u8, N>,
    /// What was not handed out yet: `bytes[start..end]`.
    start: usize,
    end: usize,
    /// Behind the last newline in `bytes[start..end]`; `start` or less if there is none.
    lines_end: usize,
    /// Where `bytes[start]` stands in the input.
    offset: u64,
    /// Whether the bytes at `start` go on with a line of which pieces were handed out.
    within_line: bool,
    /// Where in the input the source was last seen empty.
    drained_at: Option<u64>,
    trust: TrustTracker,
}

impl<const N: usize> Decoder<N> {
    /// A decoder for lines of an unknown file descriptor, such as a log.
    #[must_use]
    pub const fn new() -> Self {
        Self::with_trust(TrustTracker::new())
    }

    /// A decoder for the lines of this GPU's file descriptor: those of another GPU are marked as
    /// [foreign](crate::Trust::is_foreign).
    #[must_use]
    pub const fn for_gpu(gpu: GpuId) -> Self {
        Self::with_trust(TrustTracker::for_gpu(gpu))
    }

    const fn with_trust(trust: TrustTracker) -> Self {
        const { assert!(N >= 128, "a decoder needs 128 bytes or more: no kernel prints a longer line") }
        Self {
            bytes: Vec::new(),
            start: 0,
            end: 0,
            lines_end: 0,
            offset: 0,
            within_line: false,
            drained_at: None,
            trust,
        }
    }

    /// The free part of the buffer, to read into; then call [`advance`](Self::advance).
    ///
    /// It is as large as it can be, and empty only while lines wait to be taken.
    pub fn buffer(&mut self) -> &mut [u8] {
        if self.bytes.len() < N {
            // It cannot fail: `N` is the capacity.
            _ = self.bytes.resize_default(N);
        }
        if self.start > 0 {
            if let Some(used) = self.bytes.get_mut(..self.end)
                && self.start <= used.len()
            {
                used.copy_within(self.start.., 0);
            }
            self.end = self.end.saturating_sub(self.start);
            self.lines_end = self.lines_end.saturating_sub(self.start);
            self.start = 0;
        }
        self.bytes.get_mut(self.end..).unwrap_or_default()
    }

    /// The first `n` bytes of the free part were filled. More than it holds are taken as all of it.
    pub fn advance(&mut self, n: usize) {
        let filled = self.end..self.end.saturating_add(n).min(self.bytes.len());
        self.end = filled.end;
        let bytes = self.bytes.get(filled.clone()).unwrap_or_default();
        // Kernels up to 5.17 give 8 bytes at once: a search that is made for long texts costs more than the rest.
        let newline = match bytes.first_chunk::<8>() {
            Some(eight) if bytes.len() == 8 => newline_in(eight),
            _ => memrchr(b'\n', bytes),
        };
        if let Some(newline) = newline {
            self.lines_end = filled.start.saturating_add(newline).saturating_add(1);
        }
    }

    /// Copies as many of the bytes into the buffer as it has room for, and tells how many.
    ///
    /// ```
    /// # let chunk = b"3 1\n4 1\n";
    /// let mut decoder: kfd_smi_proto::Decoder = kfd_smi_proto::Decoder::new();
    /// let mut rest = chunk.as_slice();
    /// while !rest.is_empty() {
    ///     rest = &rest[decoder.feed(rest)..];
    ///     while let Some(line) = decoder.next_line() {
    ///         assert!(line.event.is_ok());
    ///     }
    /// }
    /// ```
    pub fn feed(&mut self, bytes: &[u8]) -> usize {
        let free = self.buffer();
        let fed = free.len().min(bytes.len());
        if let (Some(free), Some(bytes)) = (free.get_mut(..fed), bytes.get(..fed)) {
            free.copy_from_slice(bytes);
        }
        self.advance(fed);
        fed
    }

    /// The source was seen empty behind the bytes given so far: a read of the driver's file descriptor failed
    /// with `EAGAIN`.
    ///
    /// The driver inserts each event whole, so what comes next begins a new one: the line that begins there is
    /// [`drained_before`](Line::drained_before) and no rest of a name (see [`Trust`](crate::Trust)). If the bytes given so far
    /// end within a line, no line begins there and nothing changes.
    pub fn source_drained(&mut self) {
        let held = self.bytes.get(self.start..self.end).unwrap_or_default();
        let is_within_line = held.last().map_or(self.within_line, |last| *last != b'\n');
        if !is_within_line {
            self.drained_at = Some(self.offset.saturating_add(held.len() as u64));
        }
    }

    /// Whether [`next_line`](Self::next_line) would give a line.
    ///
    /// In an event loop, look here before you wait for the source: what waits in this buffer makes no file
    /// descriptor readable.
    ///
    /// ```
    /// let mut decoder: kfd_smi_proto::Decoder = kfd_smi_proto::Decoder::new();
    /// decoder.feed(b"3 1");
    /// assert!(!decoder.has_line());
    /// decoder.feed(b"\n");
    /// assert!(decoder.has_line());
    /// ```
    #[must_use]
    pub const fn has_line(&self) -> bool {
        self.start < self.lines_end || self.is_full()
    }

    /// Whether [`finish`](Self::finish) would give a line.
    #[must_use]
    pub const fn has_rest(&self) -> bool {
        self.start < self.end || self.within_line
    }

    /// The next line with a newline, or the next piece of one that does not fit; `None` asks for more bytes.
    #[inline]
    pub fn next_line(&mut self) -> Option<Line<'_>> {
        if self.has_line() { self.take_line() } else { None }
    }

    fn take_line(&mut self) -> Option<Line<'_>> {
        if self.start >= self.lines_end {
            let part = if self.within_line { Part::Middle } else { Part::First };
            return Some(self.cut(N, false, part));
        }
        if self.within_line {
            let newline = memchr(b'\n', self.bytes.get(self.start..self.end)?)?;
            return Some(self.cut(self.start.saturating_add(newline), true, Part::Last));
        }
        let offset = self.offset;
        let drained_before = self.begins_drained(offset);
        // What stands behind the held bytes is no part of the line: there is a newline before. It is given along
        // because a line is read faster if many bytes follow.
        let mut next = first_line(self.bytes.get(self.start..)?, offset, &mut self.trust);
        if let Some(line) = &mut next {
            line.drained_before = drained_before;
            let used = line.bytes.len().saturating_add(1);
            self.start = self.start.saturating_add(used);
            self.offset = offset.saturating_add(used as u64);
        }
        next
    }

    /// After the end of the input: what [`next_line`](Self::next_line) gives, then the last line if it has no
    /// newline, then `None`.
    pub fn finish(&mut self) -> Option<Line<'_>> {
        if !self.has_line() && self.has_rest() {
            let part = if self.within_line { Part::Last } else { Part::Whole };
            return Some(self.cut(self.end, false, part));
        }
        self.next_line()
    }

    /// Whether one line fills the buffer. The length of a piece must not depend on the chunks, so only then is a
    /// line cut.
    const fn is_full(&self) -> bool {
        self.end == N && self.start == 0 && self.lines_end == 0
    }

    /// The bytes up to there: a piece of a line, or a last line without newline.
    fn cut(&mut self, end: usize, terminated: bool, part: Part) -> Line<'_> {
        let offset = self.offset;
        let begin = self.start;
        self.start = end.saturating_add(usize::from(terminated));
        self.offset = offset.saturating_add(self.start.saturating_sub(begin) as u64);
        self.within_line = !part.ends();

        let drained_before = part.begins() && self.begins_drained(offset);
        let bytes = self.bytes.get(begin..end).unwrap_or_default();
        let event = match part {
            Part::Whole => Event::parse(bytes),
            _ => Err(Self::too_long(bytes, part)),
        };
        // A line in pieces is longer than any name: its first piece ends the budget, and the others find none.
        let trust = self.trust.judge(bytes, &event);
        Line { bytes, offset, event, trust, terminated, part, drained_before }
    }

    /// Whether the source was seen empty before the line that begins there; if so, it is no rest of a name.
    fn begins_drained(&mut self, offset: u64) -> bool {
        let drained_before = self.drained_at == Some(offset);
        if drained_before {
            self.trust.source_drained();
        }
        drained_before
    }

    fn too_long(bytes: &[u8], part: Part) -> ParseError {
        let id = if part == Part::First { leading_id(bytes) } else { None };
        ParseError { kind: ParseErrorKind::LineTooLong, id, offset: N.saturating_sub(1).min(MAX_LINE) }
    }
}

/// Where the last newline stands.
fn newline_in(bytes: &[u8; 8]) -> Option<usize> {
    const SEVEN: u64 = each(0x7f);
    // Bit 7 is set in every byte that is none: it was, or adding to the others sets it.
    let others = u64::from_le_bytes(*bytes) ^ each(b'\n');
    let newlines = !((others & SEVEN).wrapping_add(SEVEN) | others | SEVEN);
    Some(newlines.checked_ilog2()? as usize / 8)
}

/// What it holds and where it stands, its buffer left out.
impl<const N: usize> fmt::Debug for Decoder<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let held = self.bytes.get(self.start..self.end).unwrap_or_default();
        let mut debug = f.debug_struct("Decoder");
        debug.field("size", &N).field("held", &held.len()).field("offset", &self.offset);
        debug.field("within_line", &self.within_line).field("trust", &self.trust).finish_non_exhaustive()
    }
}

impl<const N: usize> Default for Decoder<N> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::vec;
    use std::vec::Vec;

    /// Everything that a line has besides its event, owned.
    type Seen = (Vec<u8>, u64, bool, Part);

    fn seen(line: &Line<'_>) -> Seen {
        (line.bytes.to_vec(), line.offset, line.terminated, line.part)
    }

    fn decode<const N: usize>(input: &[u8], chunk: usize) -> Vec<Seen> {
        let mut decoder = Decoder::<N>::new();
        let mut lines = vec![];
        for mut chunk in input.chunks(chunk) {
            while !chunk.is_empty() {
                chunk = &chunk[decoder.feed(chunk)..];
                while let Some(line) = decoder.next_line() {
                    lines.push(seen(&line));
                }
                assert!(!decoder.buffer().is_empty());
            }
        }
        while let Some(line) = decoder.finish() {
            lines.push(seen(&line));
        }
        lines
    }

    #[test]
    fn every_chunk_size_gives_the_same_lines() {
        let mut input = b"3 1\n\n9 1 -2 3 4\n".to_vec();
        for length in [126, 127, 128, 129, 255, 256, 257, 1000] {
            input.extend(vec![b'x'; length]);
            input.push(b'\n');
        }
        input.extend(b"3 1 cut");
        let whole = decode::<128>(&input, input.len());
        // Miri takes some seconds for each size, and longer for small ones.
        let (least, step) = if cfg!(miri) { (61, 1021) } else { (1, 1) };
        for chunk in (least..input.len()).step_by(step) {
            assert_eq!(decode::<128>(&input, chunk), whole, "chunks of {chunk}");
        }
    }

    #[test]
    fn a_line_that_does_not_fit_comes_in_pieces() {
        let piece = |bytes: usize, offset, terminated, part| (vec![b'x'; bytes], offset, terminated, part);
        let fits = [vec![b'x'; 127], b"\n".to_vec()].concat();
        assert_eq!(decode::<128>(&fits, 1), [piece(127, 0, true, Part::Whole)]);
        let exact = [vec![b'x'; 128], b"\n".to_vec()].concat();
        assert_eq!(
            decode::<128>(&exact, 7),
            [piece(128, 0, false, Part::First), piece(0, 128, true, Part::Last)]
        );
        assert_eq!(
            decode::<128>(&[b'x'; 300], 300),
            [
                piece(128, 0, false, Part::First),
                piece(128, 128, false, Part::Middle),
                piece(44, 256, false, Part::Last)
            ]
        );
        assert_eq!(
            decode::<128>(&[b'x'; 128], 300),
            [piece(128, 0, false, Part::First), piece(0, 128, false, Part::Last)]
        );
    }

    #[test]
    fn pieces_are_too_long_and_the_next_line_is_read() {
        let mut decoder = Decoder::<128>::new();
        // The second piece begins like another event.
        let input = [b"5 ".as_slice(), &[b'x'; 126], b"6 ", &[b'x'; 72], b"\n3 1\n"].concat();
        assert_eq!(decoder.feed(&input), 128);
        let error = decoder.next_line().unwrap().event.unwrap_err();
        assert_eq!((error.kind, error.offset), (ParseErrorKind::LineTooLong, 127));
        assert_eq!(error.id, Some(crate::EventId::MIGRATE_START));
        assert!(decoder.next_line().is_none());
        decoder.feed(&input[128..]);
        let error = decoder.next_line().unwrap().event.unwrap_err();
        assert_eq!((error.kind, error.id), (ParseErrorKind::LineTooLong, None));
        assert!(matches!(decoder.next_line().unwrap().event, Ok(Event::GpuPreReset(_))));
        assert!(decoder.finish().is_none());
    }

    #[test]
    fn a_last_line_without_newline_waits_for_the_end() {
        let mut decoder = Decoder::<128>::new();
        assert!(!decoder.has_rest() && decoder.finish().is_none());
        decoder.feed(b"3 1\n4 1");
        assert!(decoder.next_line().is_some() && decoder.next_line().is_none() && decoder.has_rest());
        let line = decoder.finish().unwrap();
        assert_eq!((line.bytes, line.offset, line.terminated), (&b"4 1"[..], 4, false));
        assert!(matches!(line.event, Ok(Event::GpuPostReset(_))) && !line.drained_before);
        assert!(!decoder.has_rest() && decoder.finish().is_none());

        let mut decoder = Decoder::<128>::new();
        decoder.feed(b"1 5:a\n");
        decoder.source_drained();
        decoder.feed(b"3 1");
        assert!(decoder.next_line().is_some());
        let line = decoder.finish().unwrap();
        assert!(line.drained_before && line.trust.is_trusted());
    }

    #[test]
    fn advance_is_clamped() {
        let mut decoder = Decoder::<128>::new();
        decoder.advance(5);
        assert!(decoder.next_line().is_none());
        decoder.buffer().fill(b'\n');
        decoder.advance(usize::MAX);
        for offset in 0..128 {
            assert_eq!(decoder.next_line().unwrap().offset, offset);
        }
        assert!(decoder.next_line().is_none());
        assert_eq!(decoder.buffer().len(), 128);
    }

    #[test]
    fn a_full_buffer_takes_nothing_until_lines_are_taken() {
        let mut decoder = Decoder::<128>::new();
        assert_eq!(decoder.feed(&[b'\n'; 200]), 128);
        assert_eq!(decoder.feed(b"x"), 0);
        assert!(decoder.next_line().is_some());
        assert_eq!(decoder.feed(b"xy"), 1);
    }

    #[test]
    fn a_name_does_not_reach_past_an_empty_source() {
        let forgeable = |drained: bool, held: &[u8]| {
            let mut decoder = Decoder::<128>::new();
            decoder.feed(b"1 5:a\n");
            decoder.feed(held);
            if drained {
                decoder.source_drained();
            }
            decoder.feed(b"3 1\n");
            decoder.next_line().unwrap();
            let line = decoder.next_line().unwrap();
            (line.trust.is_forgeable(), line.drained_before)
        };
        assert_eq!(forgeable(false, b""), (true, false));
        assert_eq!(forgeable(true, b""), (false, true));
        // The source was empty within the line: where the line began, nothing was seen.
        assert_eq!(forgeable(true, b"x"), (true, false));
        // Nor does it forget what was seen where the line began.
        let mut decoder = Decoder::<128>::new();
        decoder.source_drained();
        decoder.feed(b"3");
        decoder.source_drained();
        decoder.feed(b" 1\n");
        assert!(decoder.next_line().unwrap().drained_before);
    }

    #[test]
    fn no_piece_but_the_first_begins_where_the_source_was_empty() {
        let mut decoder = Decoder::<128>::new();
        decoder.feed(&[b'x'; 128]);
        assert_eq!(decoder.next_line().unwrap().part, Part::First);
        decoder.source_drained();
        decoder.feed(b"y\n");
        let last = decoder.next_line().unwrap();
        assert_eq!((last.part, last.drained_before), (Part::Last, false));
    }

    #[test]
    fn the_last_newline_is_found_among_all_bytes() {
        for at in 0..8 {
            for byte in 0..=u8::MAX {
                let mut bytes = *b"\n\x0b\x0bx\x8a\x0b\n\x8b";
                bytes[at] = byte;
                assert_eq!(newline_in(&bytes), bytes.iter().rposition(|byte| *byte == b'\n'), "{bytes:?}");
            }
        }
        assert_eq!(newline_in(&[b'x'; 8]), None);
    }

    #[test]
    fn debugging_shows_no_buffer() {
        let mut decoder = Decoder::<128>::default();
        decoder.feed(b"3 1");
        let shown = std::format!("{decoder:?}");
        assert!(shown.starts_with("Decoder { size: 128, held: 3, offset: 0") && shown.len() < 200, "{shown}");
    }

    #[test]
    fn lines_of_another_gpu_are_foreign() {
        let mut decoder = Decoder::<128>::for_gpu(GpuId(0xfc7d));
        decoder.feed(b"9 1 -2 fc7d 4\n9 1 -2 1 4\n");
        assert!(decoder.next_line().unwrap().trust.is_trusted());
        assert!(decoder.next_line().unwrap().trust.is_foreign());
    }
}
