//! Which lines a process could have made up: [`Trust`].

use core::fmt;

use crate::error::ParseError;
use crate::event::Event;
use crate::field::GpuId;

/// Whether a line is what the driver printed.
///
/// A process chooses the names of its threads, newlines included, and the kernel prints them raw at the end of
/// VMFAULT, PROCESS_START and PROCESS_END lines. So a thread named `a\n9 1 -2 3 4` makes one event look like two
/// lines, and the second is *forgeable*. A name has at most 15 bytes: what is left of them behind the name of a
/// line is the budget for the lines that follow. Each uses up one byte more than its length (the newline in
/// front of it) and is forgeable while that fits; the first that does not fit ends the budget. A line that
/// carries a name opens a budget of its own, even if it is forgeable; the larger one counts. No name holds a NUL,
/// so a line with one is never forgeable and ends the budget. At the start of an input the budget is 0.
///
/// The mark says that a line *could* be forged. Genuine short lines right behind a name carry it too.
///
/// An event 7 to 11 that names another GPU than the one its file descriptor belongs to is *foreign*.
///
/// ```
/// use kfd_smi_proto::lines;
///
/// let log = b"1 2559e:a\n9 1 -2 3 4\n3 1 job hang on ring:gfx\n";
/// let forgeable: Vec<bool> = lines(log).map(|line| line.trust.is_forgeable()).collect();
/// assert_eq!(forgeable, [false, true, false]);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Trust {
    forgeable: bool,
    foreign: bool,
}

impl Trust {
    /// Whether a process could have printed the line through its name.
    #[must_use]
    pub const fn is_forgeable(self) -> bool {
        self.forgeable
    }

    /// Whether the line names another GPU than the one it came from.
    #[must_use]
    pub const fn is_foreign(self) -> bool {
        self.foreign
    }

    /// Whether it is neither.
    #[must_use]
    pub const fn is_trusted(self) -> bool {
        !self.forgeable && !self.foreign
    }
}

/// `trusted`, `forgeable` or `foreign`; a line that is both is called forgeable.
impl fmt::Display for Trust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self { forgeable: true, .. } => "forgeable",
            Self { foreign: true, .. } => "foreign",
            _ => "trusted",
        })
    }
}

/// The longest name of a thread: `TASK_COMM_LEN` of the kernel, less its NUL.
const LONGEST_NAME: usize = 15;

/// Judges the lines of one file descriptor, in their order.
///
/// [`lines`](crate::lines) and [`Decoder`](crate::Decoder) have one inside. It is public for what keeps lines in
/// another way, such as a capture of several GPUs, which needs one for each.
///
/// ```
/// use kfd_smi_proto::{GpuId, TrustTracker, parse_line};
///
/// let mut tracker = TrustTracker::for_gpu(GpuId(0x1ea0));
/// let mut judge = |bytes| tracker.judge(bytes, &parse_line(bytes).event).to_string();
/// assert_eq!(judge(b"1 2559e:a"), "trusted");
/// assert_eq!(judge(b"3 1"), "forgeable");
/// assert_eq!(judge(b"9 14601738586508 -152990 fc7d 2"), "foreign");
/// ```
#[derive(Clone, Debug, Default)]
pub struct TrustTracker {
    gpu: Option<GpuId>,
    /// How many bytes of a name can still follow.
    budget: usize,
}

impl TrustTracker {
    /// For lines of an unknown file descriptor, such as a log: nothing is foreign.
    #[must_use]
    pub const fn new() -> Self {
        Self { gpu: None, budget: 0 }
    }

    /// For the lines of this GPU's file descriptor.
    #[must_use]
    pub const fn for_gpu(gpu: GpuId) -> Self {
        Self { gpu: Some(gpu), budget: 0 }
    }

    /// The source was empty, so what comes next is a new event and no rest of a name.
    pub const fn source_drained(&mut self) {
        self.budget = 0;
    }

    /// Judges the next line, given without its newline and with what it was read as.
    pub fn judge(&mut self, bytes: &[u8], event: &Result<Event<'_>, ParseError>) -> Trust {
        let event = event.as_ref().ok();
        let trust = self.judge_nameless(bytes, event.and_then(Event::node));
        if let Some(name) = event.and_then(Event::task_name) {
            self.budget = self.budget.max(LONGEST_NAME.saturating_sub(name.as_bytes().len()));
        }
        trust
    }

    /// Judges the next line, which carries no name, and is about this GPU.
    #[inline(always)]
    pub(crate) fn judge_nameless(&mut self, bytes: &[u8], node: Option<GpuId>) -> Trust {
        let forgeable = self.budget > bytes.len() && !bytes.contains(&0);
        self.budget = if forgeable { self.budget.saturating_sub(bytes.len()).saturating_sub(1) } else { 0 };
        let foreign = self.gpu.is_some_and(|gpu| node.is_some_and(|node| node != gpu));
        Trust { forgeable, foreign }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use crate::{lines, parse_line};
    use std::string::String;

    /// One character a line: `F` if it is forgeable, else `.`.
    fn marks(log: &[u8]) -> String {
        lines(log).map(|line| if line.trust.is_forgeable() { 'F' } else { '.' }).collect()
    }

    #[test]
    fn a_name_leaves_what_it_does_not_use() {
        assert_eq!(marks(b"1 5:a\n9 1 -2 3 4\n\xff\n"), ".FF");
        // 15 - 1 = 14: a newline and 13 bytes fit, 14 do not.
        assert_eq!(marks(b"1 5:a\n1234567890123\n\n"), ".F.");
        assert_eq!(marks(b"1 5:a\n12345678901234\n\n"), "...");
        // 15 - 15 = 0: not even an empty line fits.
        assert_eq!(marks(b"1 5:123456789012345\n\n"), "..");
        assert_eq!(marks(b"1 5:12345678901234\n\n\n"), ".F.");
        // 15 newlines are a name, too.
        assert_eq!(marks(b"c 5 \n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n"), ".FFFFFFFFFFFFFFF.");
    }

    #[test]
    fn the_first_line_that_does_not_fit_ends_the_budget() {
        assert_eq!(marks(b"1 5:a\n3 1 job hang on ring\n3 1\n"), "...");
    }

    #[test]
    fn a_forgeable_line_with_a_name_opens_its_own_budget() {
        // The forged second line takes 6 of 15 and leaves 9, but its own name leaves 14.
        assert_eq!(marks(b"1 5:\n1 5:b\n1234567890123\n\n"), ".FF.");
        // The own budget of 0 does not shorten what is left.
        assert_eq!(marks(b"1 5:\n3 1\n4 1\n"), ".FF");
    }

    #[test]
    fn malformed_and_unknown_lines_use_budget_like_any_other() {
        assert_eq!(marks(b"d 5 a\nhello\nf x\n\n"), ".FFF");
        assert_eq!(marks(b"d 5 a\nhello\nf xyz\n\n\n\n"), ".FFFF.");
        assert_eq!(marks(b"\n3 1\n"), "..");
    }

    #[test]
    fn a_nul_is_in_no_name() {
        assert_eq!(marks(b"1 5:a\n\0\n3 1\n"), "...");
        assert_eq!(marks(b"1 5:a\0b\n3 1\n"), ".F");
    }

    #[test]
    fn an_empty_source_ends_the_budget() {
        let mut tracker = TrustTracker::new();
        let name = parse_line(b"1 5:a");
        let reset = parse_line(b"3 1");
        tracker.judge(name.bytes, &name.event);
        assert!(tracker.clone().judge(reset.bytes, &reset.event).is_forgeable());
        tracker.source_drained();
        assert!(tracker.judge(reset.bytes, &reset.event).is_trusted());
    }

    #[test]
    fn forgeable_and_foreign_lines_are_not_trusted() {
        let trust = |forgeable, foreign| Trust { forgeable, foreign };
        for (trust, is_trusted, name) in [
            (trust(false, false), true, "trusted"),
            (trust(true, false), false, "forgeable"),
            (trust(false, true), false, "foreign"),
            (trust(true, true), false, "forgeable"),
        ] {
            assert_eq!((trust.is_trusted(), std::format!("{trust}").as_str()), (is_trusted, name));
            assert_eq!(trust.is_trusted(), !trust.is_forgeable() && !trust.is_foreign());
        }
    }

    #[test]
    fn foreign_lines_need_a_known_gpu_and_a_node() {
        let line = parse_line(b"9 14601738586508 -152990 fc7d 2");
        assert!(TrustTracker::new().judge(line.bytes, &line.event).is_trusted());
        assert!(TrustTracker::for_gpu(GpuId(0xfc7d)).judge(line.bytes, &line.event).is_trusted());
        assert!(TrustTracker::for_gpu(GpuId(1)).judge(line.bytes, &line.event).is_foreign());
        assert!(!TrustTracker::new().judge(line.bytes, &line.event).is_foreign());
        let migration = parse_line(b"6 1 -2 @3(4) 0->fc7d 1");
        assert!(TrustTracker::for_gpu(GpuId(1)).judge(migration.bytes, &migration.event).is_trusted());
    }
}
