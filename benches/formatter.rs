//! The encoder's rival: the same lines by `core::fmt`.

use std::io::{self, Write};

use kfd_smi_proto::{Event, encode};

/// Writes the events one behind the other, by this library; gives back how many bytes there are.
pub(crate) fn ours(events: &[Event<'_>], mut room: &mut [u8]) -> usize {
    let mut written = 0;
    for event in events {
        let length = encode(event, room).expect("room for every line").len();
        room = &mut room[length..];
        written += length;
    }
    written
}

/// The same by the formatter of the standard library.
pub(crate) fn by_fmt(events: &[Event<'_>], room: &mut [u8]) -> usize {
    let whole = room.len();
    let mut left = room;
    for event in events {
        write_line(event, &mut left).expect("room for every line");
    }
    whole - left.len()
}

fn write_line(event: &Event<'_>, out: &mut &mut [u8]) -> io::Result<()> {
    let id = event.id().0;
    match event {
        Event::VmFault(fault) => {
            write!(out, "{id:x} {:x}:", fault.pid.0)?;
            out.write_all(fault.task_name.as_bytes())?;
        }
        Event::ThermalThrottle(throttle) => {
            write!(out, "{id:x} {:x}:{:x}", throttle.bitmask.0, throttle.counter)?;
        }
        Event::GpuPreReset(reset) | Event::GpuPostReset(reset) => {
            write!(out, "{id:x} {:x}", reset.reset_seq)?;
            if let Some(cause) = reset.cause {
                out.write_all(b" ")?;
                out.write_all(cause.as_bytes())?;
            }
        }
        Event::MigrateStart(start) => write!(
            out,
            "{id:x} {} -{} @{:x}({:x}) {:x}->{:x} {:x}:{:x} {}",
            start.time.nanos(),
            start.pid.0,
            start.range.start.0,
            start.range.count.0,
            start.from.0,
            start.to.0,
            start.prefetch_loc.0,
            start.preferred_loc.0,
            start.trigger.0
        )?,
        Event::MigrateEnd(end) => {
            write!(
                out,
                "{id:x} {} -{} @{:x}({:x}) {:x}->{:x} {}",
                end.time.nanos(),
                end.pid.0,
                end.range.start.0,
                end.range.count.0,
                end.from.0,
                end.to.0,
                end.trigger.0
            )?;
            if let Some(error) = end.error_code() {
                write!(out, " {error}")?;
            }
        }
        Event::PageFaultStart(fault) => {
            let (nanos, pid) = (fault.time.nanos(), fault.pid.0);
            write!(out, "{id:x} {nanos} -{pid} @{:x}({:x}) ", fault.page.0, fault.node.0)?;
            out.write_all(&[fault.access.byte()])?;
        }
        Event::PageFaultEnd(fault) => {
            let (nanos, pid) = (fault.time.nanos(), fault.pid.0);
            write!(out, "{id:x} {nanos} -{pid} @{:x}({:x}) ", fault.page.0, fault.node.0)?;
            out.write_all(&[fault.outcome.byte()])?;
        }
        Event::QueueEviction(eviction) => {
            let (nanos, pid) = (eviction.time.nanos(), eviction.pid.0);
            write!(out, "{id:x} {nanos} -{pid} {:x} {}", eviction.node.0, eviction.trigger.0)?;
        }
        Event::QueueRestore(restore) => {
            write!(out, "{id:x} {} -{} {:x}", restore.time.nanos(), restore.pid.0, restore.node.0)?;
            if let Some(byte) = restore.restore().byte() {
                out.write_all(&[b' ', byte])?;
            }
        }
        Event::UnmapFromGpu(unmap) => {
            let (nanos, pid, range) = (unmap.time.nanos(), unmap.pid.0, unmap.range);
            write!(out, "{id:x} {nanos} -{pid} @{:x}({:x}) ", range.start.0, range.count.0)?;
            write!(out, "{:x} {}", unmap.node.0, unmap.trigger.0)?;
        }
        Event::ProcessStart(process) | Event::ProcessEnd(process) => {
            write!(out, "{id:x} {:x} ", process.pid.0)?;
            out.write_all(process.task_name.as_bytes())?;
        }
        // No log to measure on has others; the bytes would differ.
        _ => {}
    }
    out.write_all(b"\n")
}
