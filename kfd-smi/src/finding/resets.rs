//! `gpu_reset`, and the list of resets: [`Resets`].

use std::collections::VecDeque;

use kfd_smi_proto::{Activity, Escaped, Event, GpuId, Paired, parse_line};

use super::{At, Finding, Rule, Seen, finish};
use crate::amount::Count;
use crate::bounded::{Bounded, Weight};
use crate::record::Record;

/// So many resets are kept, the last ones.
const MOST: usize = 256;

/// So many of them with the lines before, the last ones.
const MOST_WITH_LINES: usize = 16;

/// So much of a line is kept.
const MOST_BYTES: usize = 256;

/// The resets of all inputs.
#[derive(Debug)]
pub(crate) struct Resets {
    list: VecDeque<Reset>,
    /// Those before.
    earlier: Seen,
    /// The last lines of each GPU.
    lines: Bounded<Option<GpuId>, Lines, 256>,
    most_lines: usize,
    /// The number of the input: resets of different ones have nothing to do with each other.
    input: u64,
}

#[derive(Debug)]
pub(crate) struct Reset {
    at: At,
    /// The GPU whose file descriptor carried the line.
    pub(crate) gpu: Option<GpuId>,
    pub(crate) reset_seq: u32,
    pub(crate) cause: Option<Vec<u8>>,
    /// Whether its end came.
    pub(crate) completed: bool,
    before: Vec<Kept>,
    input: u64,
    name: Option<String>,
}

/// The last lines of a GPU; memory is used again.
#[derive(Debug, Default)]
struct Lines {
    count: u64,
    last: VecDeque<Kept>,
}

#[derive(Clone, Debug, Default)]
struct Kept {
    seq: u64,
    bytes: Vec<u8>,
}

impl Kept {
    /// What it says.
    fn shown(&self) -> String {
        match parse_line(&self.bytes).event {
            Ok(event) => format!("line {}: {event}", self.seq),
            Err(_) => format!("line {}: malformed \"{}\"", self.seq, Escaped(&self.bytes)),
        }
    }
}

impl Weight for Lines {
    fn weight(&self) -> u64 {
        self.count
    }
}

impl Resets {
    /// With so many lines before each.
    pub(crate) fn new(most_lines: usize) -> Self {
        let (list, lines) = (VecDeque::new(), Bounded::default());
        Self { list, earlier: Seen::default(), lines, most_lines, input: 0 }
    }

    /// Another input begins.
    pub(crate) fn begin(&mut self) {
        self.input += 1;
        self.lines = Bounded::default();
    }

    /// The last ones, in their order.
    pub(crate) fn list(&self) -> impl Iterator<Item = &Reset> {
        self.list.iter()
    }

    pub(crate) fn line(&mut self, at: &At, record: &Record<'_>, results: &[Paired], name: Option<&str>) {
        let gpu = record.origin.gpu;
        match &record.event {
            Ok(Event::GpuPreReset(reset)) => {
                if self.list.len() >= MOST {
                    self.list.pop_front().iter().for_each(|reset| self.earlier.add(&reset.at));
                }
                if let Some(old) = self.list.len().checked_sub(MOST_WITH_LINES) {
                    self.list[old].before = vec![];
                }
                let lines = self.lines.get(&gpu);
                self.list.push_back(Reset {
                    at: *at,
                    gpu,
                    reset_seq: reset.reset_seq,
                    cause: reset.cause.map(|cause| cause.as_bytes().to_vec()),
                    completed: false,
                    before: lines.map_or_else(Vec::new, |lines| lines.last.iter().cloned().collect()),
                    input: self.input,
                    name: name.map(str::to_owned),
                });
            }
            Ok(Event::GpuPostReset(_)) => {
                for paired in results {
                    if let Paired::Interval(interval) = paired
                        && let Activity::Reset { reset_seq } = interval.span.activity
                    {
                        // A line that could be forged does not take the end of a genuine one.
                        let it = (self.input, gpu, reset_seq, interval.span.forgeable);
                        let is_it = |reset: &&mut Reset| {
                            (reset.input, reset.gpu, reset.reset_seq, reset.at.forgeable) == it
                        };
                        let last = self.list.iter_mut().rev().find(is_it);
                        last.into_iter().for_each(|reset| reset.completed = true);
                    }
                }
            }
            _ => {}
        }
        self.keep(gpu, record);
    }

    fn keep(&mut self, gpu: Option<GpuId>, record: &Record<'_>) {
        if self.most_lines == 0 {
            return;
        }
        let lines = self.lines.entry(gpu, Lines::default, drop);
        lines.count += 1;
        let full = lines.last.len() >= self.most_lines;
        let mut kept = if full { lines.last.pop_front() } else { None }.unwrap_or_default();
        kept.seq = record.seq;
        kept.bytes.clear();
        kept.bytes.extend_from_slice(&record.bytes[..record.bytes.len().min(MOST_BYTES)]);
        lines.last.push_back(kept);
    }

    fn all(&self) -> Seen {
        let mut seen = self.earlier;
        self.list.iter().for_each(|reset| seen.add(&reset.at));
        seen
    }

    /// A finding for each, if there are so many of them.
    pub(crate) fn found(&self, from: u64, found: &mut Vec<Finding>) {
        if self.all().count < from {
            return;
        }
        let rule = Rule::GpuReset;
        let mut earlier = self.earlier;
        let old = self.list.len().saturating_sub(super::MOST_NAMED);
        self.list.iter().take(old).for_each(|reset| earlier.add(&reset.at));
        if earlier.count > 0 {
            let text = format!("{} before those that follow", Count(earlier.count, "reset"));
            found.push(Finding { rule, text, seen: earlier, gpu: None, pid: None, context: vec![] });
        }
        for reset in self.list.iter().skip(old) {
            let mut seen = Seen::default();
            seen.add(&reset.at);
            let gpu = reset.gpu.map_or_else(|| "a GPU".to_owned(), |gpu| format!("GPU {gpu}"));
            let cause = match &reset.cause {
                Some(cause) if !cause.is_empty() => Escaped(cause).to_string(),
                _ => "no cause given".to_owned(),
            };
            let end = if reset.completed { "it came back" } else { "no end of it was seen" };
            let mut text = format!("{gpu} was reset, number {}: {cause}; {end}", reset.reset_seq);
            finish(&mut text, &seen, rule, reset.name.as_deref());
            let context = reset.before.iter().map(Kept::shown).collect();
            found.push(Finding { rule, text, seen, gpu: reset.gpu, pid: None, context });
        }
    }
}
