//! The events that make up nearly every log, read eight bytes at a time.
//!
//! The grammar in `grammar.rs` and `event/*.rs` is the reference: it reads one byte after the other. This file
//! reads the same formats, as long as a line looks as kernels print it: a newline at its end, nothing added behind the
//! known fields, no number of unusual width. It refuses everything else, and then the
//! grammar decides. Where it does not refuse, both say the same. A line without newline is always refused, so tests
//! compare what is said of a line with its newline and without it.
//!
//! How a field is read stands in `fast/field.rs`. Each event is completed where it was read: bringing them together
//! first costs as much as reading two numbers.

use nom::{Err, IResult, Parser as _};

use self::field::{
    Cause, Cursor, Decimal, ErrorCode, Flag, Hex32, Hex64, Is, Letter, Nanos, Place, Text, Unsigned,
};
use crate::event::{
    Access, Event, FaultOutcome, GpuReset, MigrateEnd, MigrateStart, Migration, PageFaultEnd, PageFaultStart,
    Process, QueueEviction, QueueRestore, RestoreFlag, ThermalThrottle, UnmapFromGpu, VmFault,
};
use crate::field::{BootNanos, GpuId, Location, Pid};
use crate::line::Line;
use crate::page::{PageCount, PageNumber, PageRange};
use crate::text::{ResetCause, TaskName};
use crate::throttle::Throttlers;
use crate::trigger::{EvictionTrigger, MigrateTrigger, UnmapTrigger};
use crate::trust::TrustTracker;
use crate::word::WINDOW;

mod field;

/// The first line of the bytes, unless it is refused.
#[inline(always)]
pub(crate) fn line<'a>(bytes: &'a [u8], offset: u64, trust: &mut TrustTracker) -> Option<Line<'a>> {
    let mut last;
    let window = match bytes.first_chunk::<WINDOW>() {
        Some(window) => window,
        None => {
            // The last lines of a buffer. No number goes on with a NUL, and no line ends at one.
            last = [0; WINDOW];
            last.get_mut(..bytes.len())?.copy_from_slice(bytes);
            &last
        }
    };
    let [id, b' ', ..] = window else { return None };
    let rest = Cursor { window, at: 2 };
    if !matches!(id, b'5'..=b'b') {
        return untimed(*id, rest, bytes, offset, trust);
    }
    let mut format = (Nanos, Is(b" -"), Unsigned, Is(b" "));
    let (rest, (time, _, pid, _)) = format.parse_complete(rest).ok()?;
    let stamp = Stamp { time, pid: Pid(pid) };

    // The line of an event that was read, and of the GPU that it names as its own, if it does.
    macro_rules! line {
        ($parsed:expr, $event:ident $(, $node:ident)?) => {{
            let (end, inner) = $parsed.ok()?;
            let bytes = bytes.get(..end.at.checked_sub(1)?)?;
            let node = None $(.or(Some(inner.$node)))?;
            let trust = trust.judge_nameless(bytes, node);
            Some(Line::whole(bytes, offset, Ok(Event::$event(inner)), trust))
        }};
    }
    match id {
        b'5' => line!(migrate_start(stamp, rest), MigrateStart),
        b'6' => line!(migrate_end(stamp, rest), MigrateEnd),
        b'7' => line!(page_fault_start(stamp, rest), PageFaultStart, node),
        b'8' => line!(page_fault_end(stamp, rest), PageFaultEnd, node),
        b'9' => line!(queue_eviction(stamp, rest), QueueEviction, node),
        b'a' => line!(queue_restore(stamp, rest), QueueRestore, node),
        b'b' => line!(unmap_from_gpu(stamp, rest), UnmapFromGpu, node),
        _ => None,
    }
}

/// The line of one of the events that have no time: they are few, and end in text that the line lends them.
#[inline(never)]
fn untimed<'a>(
    id: u8,
    rest: Cursor<'_>,
    bytes: &'a [u8],
    offset: u64,
    trust: &mut TrustTracker,
) -> Option<Line<'a>> {
    let (end, event) = match id {
        b'1' => {
            let (end, (pid, _, name)) = (Hex32, Is(b":"), Text).parse_complete(rest).ok()?;
            let task_name = TaskName::of_line(bytes.get(name)?);
            (end, Event::VmFault(VmFault { pid: Pid(pid.cast_signed()), task_name }))
        }
        b'2' => {
            let (end, (bitmask, _, counter)) = (Hex64, Is(b":"), Hex64).parse_complete(rest).ok()?;
            let bitmask = Throttlers(bitmask);
            (end, Event::ThermalThrottle(ThermalThrottle { bitmask, counter, trailing: None }))
        }
        b'3' | b'4' => {
            let (end, (reset_seq, cause)) = (Hex32, Cause).parse_complete(rest).ok()?;
            let cause = match cause {
                Some(cause) => Some(ResetCause::of_line(bytes.get(cause)?)),
                None => None,
            };
            let reset = GpuReset { reset_seq, cause };
            (end, if id == b'3' { Event::GpuPreReset(reset) } else { Event::GpuPostReset(reset) })
        }
        // Where the first number has no more than 8 digits, no line of the first has the shape of DROPPED_EVENT.
        b'c' | b'd' => {
            let (end, (pid, _, name)) = (Hex32, Is(b" "), Text).parse_complete(rest).ok()?;
            let task_name = TaskName::of_line(bytes.get(name)?);
            let process = Process { pid: Pid(pid.cast_signed()), task_name };
            (end, if id == b'c' { Event::ProcessStart(process) } else { Event::ProcessEnd(process) })
        }
        _ => return None,
    };
    Is(b"\n").parse_complete(end).ok()?;
    let event = Ok(event);
    let bytes = bytes.get(..end.at)?;
    let trust = trust.judge(bytes, &event);
    Some(Line::whole(bytes, offset, event, trust))
}

/// What the events 5 to 11 have first: `"%x %lld -%d "`.
struct Stamp {
    time: BootNanos,
    pid: Pid,
}

/// An event, and the place behind its newline.
type Parsed<'w, T> = IResult<Cursor<'w>, T, ()>;

// The formats behind the stamp.

#[inline(always)]
fn migrate_start<'w>(stamp: Stamp, rest: Cursor<'w>) -> Parsed<'w, MigrateStart<'static>> {
    let mut format = (
        (Is(b"@"), Hex64, Is(b"("), Hex64, Is(b") ")),
        (Place, Is(b"->"), Place, Is(b" ")),
        (Place, Is(b":"), Place, Is(b" ")),
        (Decimal, Is(b"\n")),
    );
    let (rest, (pages, (from, _, to, _), (prefetch, _, preferred, _), (trigger, _))) =
        format.parse_complete(rest)?;
    let event = MigrateStart {
        time: stamp.time,
        pid: stamp.pid,
        range: range(pages),
        from: Location(from),
        to: Location(to),
        prefetch_loc: Location(prefetch),
        preferred_loc: Location(preferred),
        trigger: MigrateTrigger(trigger),
        trailing: None,
    };
    Ok((rest, event))
}

#[inline(always)]
fn migrate_end<'w>(stamp: Stamp, rest: Cursor<'w>) -> Parsed<'w, MigrateEnd<'static>> {
    let mut format = (
        (Is(b"@"), Hex64, Is(b"("), Hex64, Is(b") ")),
        (Place, Is(b"->"), Place, Is(b" ")),
        (Decimal, ErrorCode, Is(b"\n")),
    );
    let (rest, (pages, (from, _, to, _), (trigger, error_code, _))) = format.parse_complete(rest)?;
    let migration = Migration {
        pid: stamp.pid,
        range: range(pages),
        from: Location(from),
        to: Location(to),
        trigger: MigrateTrigger(trigger),
    };
    Ok((rest, MigrateEnd::new(stamp.time, migration, error_code, None).map_err(|_| REFUSED)?))
}

/// `"@%lx(%x) %c\n"`
const FAULT: (Is<1>, Hex64, Is<1>, Hex32, Is<2>, Letter, Is<1>) =
    (Is(b"@"), Hex64, Is(b"("), Hex32, Is(b") "), Letter, Is(b"\n"));

#[inline(always)]
fn page_fault_start<'w>(stamp: Stamp, rest: Cursor<'w>) -> Parsed<'w, PageFaultStart<'static>> {
    let (rest, (_, page, _, node, _, letter, _)) = { FAULT }.parse_complete(rest)?;
    let event = PageFaultStart {
        time: stamp.time,
        pid: stamp.pid,
        page: PageNumber(page),
        node: GpuId(node),
        access: Access::new(letter).ok_or(REFUSED)?,
        trailing: None,
    };
    Ok((rest, event))
}

#[inline(always)]
fn page_fault_end<'w>(stamp: Stamp, rest: Cursor<'w>) -> Parsed<'w, PageFaultEnd<'static>> {
    let (rest, (_, page, _, node, _, letter, _)) = { FAULT }.parse_complete(rest)?;
    let event = PageFaultEnd {
        time: stamp.time,
        pid: stamp.pid,
        page: PageNumber(page),
        node: GpuId(node),
        outcome: FaultOutcome::new(letter).ok_or(REFUSED)?,
        trailing: None,
    };
    Ok((rest, event))
}

#[inline(always)]
fn queue_eviction<'w>(stamp: Stamp, rest: Cursor<'w>) -> Parsed<'w, QueueEviction<'static>> {
    let (rest, (node, _, trigger, _)) = (Hex32, Is(b" "), Decimal, Is(b"\n")).parse_complete(rest)?;
    let event = QueueEviction {
        time: stamp.time,
        pid: stamp.pid,
        node: GpuId(node),
        trigger: EvictionTrigger(trigger),
        trailing: None,
    };
    Ok((rest, event))
}

#[inline(always)]
fn queue_restore<'w>(stamp: Stamp, rest: Cursor<'w>) -> Parsed<'w, QueueRestore<'static>> {
    let (rest, (node, flag, _)) = (Hex32, Flag, Is(b"\n")).parse_complete(rest)?;
    let flag = RestoreFlag::new(flag).ok_or(REFUSED)?;
    Ok((rest, QueueRestore::new(stamp.time, stamp.pid, GpuId(node), flag, None).map_err(|_| REFUSED)?))
}

#[inline(always)]
fn unmap_from_gpu<'w>(stamp: Stamp, rest: Cursor<'w>) -> Parsed<'w, UnmapFromGpu<'static>> {
    let mut format = ((Is(b"@"), Hex64, Is(b"("), Hex64, Is(b") ")), (Hex32, Is(b" "), Decimal, Is(b"\n")));
    let (rest, (pages, (node, _, trigger, _))) = format.parse_complete(rest)?;
    let event = UnmapFromGpu {
        time: stamp.time,
        pid: stamp.pid,
        range: range(pages),
        node: GpuId(node),
        trigger: UnmapTrigger(trigger),
        trailing: None,
    };
    Ok((rest, event))
}

/// `"@%lx(%lx) "`
#[inline(always)]
fn range((_, start, _, count, _): ((), u64, (), u64, ())) -> PageRange {
    PageRange { start: PageNumber(start), count: PageCount(count) }
}

const REFUSED: Err<()> = Err::Error(());

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_line_fits_into_the_window() {
        let line = b"5 9223372036854775807 -99999999 @ffffffffffffffff(ffffffffffffffff) \
                     ffffffff->ffffffff ffffffff:ffffffff 99999999\n";
        assert_eq!(line.len(), 114);
        let line = super::line(line, 7, &mut TrustTracker::new()).unwrap();
        assert_eq!((line.bytes.len(), line.offset), (113, 7));
    }

    #[test]
    fn what_kernels_print_is_read_here_and_nothing_without_a_newline() {
        for line in [
            "1 2559e:my app:1",
            "1 5:",
            "2 1400000000:1a",
            "3 1",
            "3 1 job hang on ring:gfx_0.0.0",
            "4 1 ",
            "c 2559e python3",
            "d ffffffff -1 5",
            "5 14601738586508 -152990 @7f0f15200(2c02) 0->1ea0 1ea0:ffffffff 1",
            "6 14601738586508 -152990 @7f0f15200(2c02) 0->1ea0 1",
            "6 14601738586508 -152990 @7f0f15200(2c02) 1ea0->0 1 -12",
            "7 14601738586508 -152990 @7f0f15200(1ea0) W",
            "8 14601738586508 -152990 @7f0f15200(1ea0) U",
            "9 14601738586508 -152990 1ea0 2",
            "a 14601738586508 -152990 1ea0",
            "a 14601738586508 -152990 1ea0 \0",
            "a 14601738586508 -152990 1ea0 R",
            "b 14601738586508 -152990 @7f0f15200(200) 1ea0 2",
        ] {
            let mut bytes = [b'9'; 256];
            for (at, byte) in line.bytes().chain([b'\n']).enumerate() {
                bytes[at] = byte;
            }
            for bytes in [&bytes[..], &bytes[..line.len() + 1]] {
                let read = super::line(bytes, 0, &mut TrustTracker::new()).unwrap();
                assert_eq!(read, crate::line::slow_line(bytes, 0, &mut TrustTracker::new()).unwrap());
            }
            assert_eq!(super::line(line.as_bytes(), 0, &mut TrustTracker::new()), None);
        }
    }
}
