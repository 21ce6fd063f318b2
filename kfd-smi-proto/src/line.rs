//! The one item that everything yields: [`Line`].

use core::fmt;
use core::iter::FusedIterator;

use memchr::memchr;

use crate::error::ParseError;
use crate::event::Event;
#[cfg(fast_path)]
use crate::fast;
use crate::text::Escaped;
use crate::trust::{Trust, TrustTracker};

/// The longest line that is read as an event, in bytes, its newline not counted.
///
/// Kernels print at most 85 bytes, and by the types of their numbers could print 120. A longer line is
/// [`LineTooLong`](crate::ParseErrorKind::LineTooLong), whatever it begins with.
pub const MAX_LINE: usize = 4096;

/// What stands between two newlines, and what it says.
///
/// A line is bounded by its newlines alone. Nothing in `event` depends on the bytes before or behind it; only
/// `trust` does.
#[derive(Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub struct Line<'a> {
    /// The bytes without the newline.
    pub bytes: &'a [u8],
    /// Where the first of them stands in the input, from 0.
    pub offset: u64,
    /// The event, or what was wrong with the line.
    pub event: Result<Event<'a>, ParseError>,
    /// Whether a process could have made the line up.
    pub trust: Trust,
    /// Whether a newline follows. Without one, a last line can have been cut in the middle of a field.
    pub terminated: bool,
    /// Whether these are all the bytes of the line.
    pub part: Part,
    /// Whether the source was seen empty just before this line: see
    /// [`Decoder::source_drained`](crate::Decoder::source_drained).
    pub drained_before: bool,
}

/// Its bytes as text: see [`Escaped`].
impl fmt::Debug for Line<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { bytes, offset, event, trust, terminated, part, drained_before } = self;
        let mut debug = f.debug_struct("Line");
        debug
            .field("bytes", &format_args!("\"{}\"", Escaped(bytes)))
            .field("offset", offset)
            .field("event", event);
        debug.field("trust", trust).field("terminated", terminated).field("part", part);
        debug.field("drained_before", drained_before).finish()
    }
}

/// How much of a line a [`Line`] holds.
///
/// Only a [`Decoder`](crate::Decoder) cuts lines, those that its buffer does not hold. All the pieces of one
/// are [`LineTooLong`](crate::ParseErrorKind::LineTooLong), and together they count as one malformed line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[expect(clippy::exhaustive_enums, reason = "there is no fifth way to cut")]
pub enum Part {
    /// All of it.
    Whole,
    /// The first piece.
    First,
    /// A piece that is neither the first nor the last.
    Middle,
    /// The last piece. It can be empty.
    Last,
}

impl Part {
    /// Whether a line begins here.
    #[must_use]
    pub const fn begins(self) -> bool {
        matches!(self, Self::Whole | Self::First)
    }

    /// Whether a line ends here. Count these, and you count lines.
    #[must_use]
    pub const fn ends(self) -> bool {
        matches!(self, Self::Whole | Self::Last)
    }
}

/// Reads one line, with or without its newline. What stands behind a newline is not looked at.
///
/// The line stands alone, so it is never forgeable: see [`lines`] and [`Decoder`](crate::Decoder) for several.
///
/// ```
/// use kfd_smi_proto::{Event, parse_line};
///
/// let line = parse_line(b"3 1 job hang\n");
/// assert!(line.terminated);
/// assert_eq!(line.bytes, b"3 1 job hang");
/// assert!(matches!(line.event, Ok(Event::GpuPreReset(_))));
///
/// assert!(parse_line(b"3 one").event.is_err());
/// ```
#[must_use]
pub fn parse_line(bytes: &[u8]) -> Line<'_> {
    lines(bytes).next().unwrap_or_else(|| last_line(bytes, 0, &mut TrustTracker::new()))
}

/// The first line of the bytes if it has a newline, judged by what was before it.
///
/// It is all that is done for a line, in one function that is not copied into its callers: it is large.
#[inline(never)]
pub(crate) fn first_line<'a>(bytes: &'a [u8], offset: u64, trust: &mut TrustTracker) -> Option<Line<'a>> {
    #[cfg(fast_path)]
    if let line @ Some(_) = fast::line(bytes, offset, trust) {
        return line;
    }
    slow_line(bytes, offset, trust)
}

/// The same, read by the grammar alone.
pub(crate) fn slow_line<'a>(bytes: &'a [u8], offset: u64, trust: &mut TrustTracker) -> Option<Line<'a>> {
    let bytes = bytes.get(..memchr(b'\n', bytes)?)?;
    let event = Event::parse(bytes);
    let trust = trust.judge(bytes, &event);
    Some(Line::whole(bytes, offset, event, trust))
}

/// The line that these bytes are, with no newline behind them.
fn last_line<'a>(bytes: &'a [u8], offset: u64, trust: &mut TrustTracker) -> Line<'a> {
    let event = Event::parse(bytes);
    let trust = trust.judge(bytes, &event);
    Line { terminated: false, ..Line::whole(bytes, offset, event, trust) }
}

impl<'a> Line<'a> {
    /// A line with its newline, and nothing known of what was before it.
    #[inline(always)]
    pub(crate) const fn whole(
        bytes: &'a [u8],
        offset: u64,
        event: Result<Event<'a>, ParseError>,
        trust: Trust,
    ) -> Self {
        Self { bytes, offset, event, trust, terminated: true, part: Part::Whole, drained_before: false }
    }
}

/// Iterates over the lines of a whole log, without copying.
///
/// A last line without newline comes like the others, with `terminated` false. An empty input has no line.
///
/// ```
/// let log = b"1 2559e:my app\n\nf what is this?\n3 1";
/// let lines: Vec<_> = kfd_smi_proto::lines(log).collect();
/// assert_eq!(lines.len(), 4);
/// assert!(lines[1].event.is_err());
/// assert_eq!(lines[2].offset, 16);
/// assert!(!lines[3].terminated);
/// ```
pub fn lines(bytes: &[u8]) -> Lines<'_> {
    Lines { rest: bytes, offset: 0, trust: TrustTracker::new() }
}

/// What [`lines`] returns.
#[derive(Clone, Debug)]
pub struct Lines<'a> {
    rest: &'a [u8],
    offset: u64,
    trust: TrustTracker,
}

impl<'a> Iterator for Lines<'a> {
    type Item = Line<'a>;

    #[inline]
    fn next(&mut self) -> Option<Line<'a>> {
        let mut next = first_line(self.rest, self.offset, &mut self.trust);
        if next.is_none() && !self.rest.is_empty() {
            next = Some(last_line(self.rest, self.offset, &mut self.trust));
        }
        if let Some(line) = &next {
            let used = line.bytes.len().saturating_add(usize::from(line.terminated));
            self.rest = self.rest.get(used..).unwrap_or_default();
            self.offset = self.offset.saturating_add(used as u64);
        }
        next
    }
}

impl FusedIterator for Lines<'_> {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ParseErrorKind;

    #[test]
    fn lines_and_newlines_are_the_input() {
        let log = b"3 1\n\n\0\n9 1 -2 3 4\xff\nlast";
        let mut offset = 0_usize;
        for line in lines(log) {
            assert_eq!(line.offset, offset as u64);
            assert_eq!(&log[offset..offset + line.bytes.len()], line.bytes);
            offset += line.bytes.len() + usize::from(line.terminated);
            assert_eq!(line.terminated, line.bytes != b"last");
        }
        assert_eq!(offset, log.len());
        assert_eq!(lines(b"").count(), 0);
        assert_eq!(lines(b"\n").count(), 1);
    }

    #[test]
    fn one_line_ends_at_its_newline() {
        assert_eq!(parse_line(b"3 1\n4 1\n").bytes, b"3 1");
        assert_eq!(parse_line(b"").event.unwrap_err().kind, ParseErrorKind::EmptyLine);
        assert!(!parse_line(b"").terminated);
        assert!(parse_line(b"\n").terminated);
    }
}
