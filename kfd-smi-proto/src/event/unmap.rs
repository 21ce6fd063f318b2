//! UNMAP_FROM_GPU, id 11: `"%lld -%d @%lx(%lx) %x %d\n"`, since Linux 6.0.

use core::fmt;

use nom::Parser as _;

use crate::encode::Encoder;
use crate::field::{BootNanos, GpuId, Pid};
use crate::grammar::{Parsed, decimal_i32, node, range, space, stamp, trailing};
use crate::page::PageRange;
use crate::text::Trailing;
use crate::trigger::UnmapTrigger;

/// Pages are removed from the page table of a GPU.
///
/// The kernel's format, behind the id, is `"%lld -%d @%lx(%lx) %x %d\n"`:
/// `b 14601738586508 -152990 @7f0f15200(200) 1ea0 2`.
///
/// | field | printed as | meaning |
/// |---|---|---|
/// | `time` | `%lld` | nanoseconds since boot |
/// | `pid` | `-%d` | the process |
/// | `range` | `@%lx(%lx)` | first page and number of pages |
/// | `node` | `%x` | the GPU |
/// | `trigger` | `%d` | why |
///
/// ```
/// use kfd_smi_proto::{Event, UnmapTrigger, parse_line};
///
/// let line = b"b 14601738586508 -152990 @7f0f15200(200) 1ea0 2\n";
/// let Ok(Event::UnmapFromGpu(unmap)) = parse_line(line).event else { panic!() };
/// assert_eq!(unmap.range.count.0, 0x200);
/// assert_eq!(unmap.trigger, UnmapTrigger::UNMAP_FROM_CPU);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[doc(alias = "KFD_SMI_EVENT_UNMAP_FROM_GPU")]
pub struct UnmapFromGpu<'a> {
    /// When.
    pub time: BootNanos,
    /// The process whose pages they are.
    pub pid: Pid,
    /// The pages.
    pub range: PageRange,
    /// The GPU that can no longer reach them.
    pub node: GpuId,
    /// Why.
    pub trigger: UnmapTrigger,
    /// What a newer kernel adds.
    pub trailing: Option<Trailing<'a>>,
}

impl<'a> UnmapFromGpu<'a> {
    pub(crate) fn parse(input: &'a [u8]) -> Parsed<'a, Self> {
        let (input, ((time, pid), range, _, node, _, trigger, trailing)) =
            (stamp, range, space, node, space, decimal_i32, trailing).parse(input)?;
        Ok((input, Self { time, pid, range, node, trigger: UnmapTrigger(trigger), trailing }))
    }

    pub(crate) fn encode(&self, out: &mut Encoder<'_, 'a>) {
        out.nanos(self.time).literal(b" ").pid(self.pid);
        out.literal(b" ").range(self.range).literal(b" ");
        out.hex(self.node.0).literal(b" ").signed(self.trigger.0).tail(self.trailing.map(Trailing::as_bytes));
    }
}

/// `at 14601.738586508 pid 152990 pages 0x7f0f15200..0x7f0f15400 on 0x1ea0, unmap_from_cpu`
impl fmt::Display for UnmapFromGpu<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { time, pid, range, node, trigger, .. } = self;
        write!(f, "at {time} pid {pid} pages {range} on {node}, {trigger}")
    }
}

#[cfg(test)]
mod tests {
    use crate::event::tests::{error_offset, shown, written};

    #[test]
    fn every_field_has_its_place() {
        assert_eq!(
            shown(b"b 14601738586508 -152990 @7f0f15200(200) 1ea0 2"),
            "unmap_from_gpu at 14601.738586508 pid 152990 pages 0x7f0f15200..0x7f0f15400 on 0x1ea0, \
             unmap_from_cpu"
        );
        assert_eq!(written(b"b 1 -2 @3(4) 5 6 x"), b"b 1 -2 @3(4) 5 6 x\n");
        // Half-open although the sum of both numbers passes 64 bits: still an event.
        let wide = b"b 1 -2 @ffffffffffffffff(ffffffffffffffff) 5 6";
        assert_eq!(written(wide), [wide.as_slice(), b"\n"].concat());
    }

    #[test]
    fn other_shapes_are_refused() {
        assert_eq!(error_offset(b"b 1 -2 @3(4) 5"), 14);
        assert_eq!(error_offset(b"b 1 -2 @3 5 6"), 9);
        assert_eq!(error_offset(b"b 1 -2 3(4) 5 6"), 7);
    }
}
