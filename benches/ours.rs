//! This library, by the way that its users go: typed events with their trust and their offsets.

use kfd_smi_proto::{
    Decoder, Event, GpuReset, Line, Location, PageRange, Pid, Process, ResetCause, TaskName, lines,
};
use kfd_smi_testkit::checksum::{Checksum, Field};

/// What was read: the fields, and what the library says of each line beside them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Read {
    pub(crate) fields: Checksum,
    /// Offsets, trust and the rest in one number.
    pub(crate) place: u64,
}

impl Read {
    #[inline(always)]
    pub(crate) fn line(&mut self, line: &Line<'_>) {
        let flags = u64::from(line.trust.is_forgeable())
            + 2 * u64::from(line.trust.is_foreign())
            + 4 * u64::from(line.terminated);
        self.place = self.place.wrapping_add(line.offset * 8 + flags);
        // What is no event counts as no line: the sum differs.
        if let Ok(event) = &line.event {
            fold(&mut self.fields, event);
        }
    }
}

/// Reads a whole log.
pub(crate) fn whole(log: &[u8]) -> Read {
    let mut read = Read::default();
    for line in lines(log) {
        read.line(&line);
    }
    read
}

/// Reads a log in chunks of this size.
pub(crate) fn decode(log: &[u8], size: usize) -> Read {
    let mut decoder: Box<Decoder> = Box::new(Decoder::new());
    let mut read = Read::default();
    for chunk in log.chunks(size) {
        let mut rest = chunk;
        while !rest.is_empty() {
            // What a read(2) does: the chunk stands in the decoder's buffer.
            rest = &rest[decoder.feed(rest)..];
            while let Some(line) = decoder.next_line() {
                read.line(&line);
            }
        }
    }
    read
}

fn text(sum: &mut Checksum, text: Option<&[u8]>) {
    if let Some(text) = text {
        sum.add_text(text);
    }
}

#[inline(always)]
fn pid(sum: &mut Checksum, pid: Pid) -> &mut Checksum {
    sum.add_signed(Field::Pid, pid.0)
}

#[inline(always)]
fn range(sum: &mut Checksum, range: PageRange) -> &mut Checksum {
    sum.add(Field::Address, range.start.0).add(Field::Size, range.count.0)
}

#[inline(always)]
fn route(sum: &mut Checksum, from: Location, to: Location) -> &mut Checksum {
    sum.add(Field::From, from.0.into()).add(Field::To, to.0.into())
}

#[inline(always)]
fn letter(sum: &mut Checksum, letter: Option<u8>) -> &mut Checksum {
    sum.add_optional(Field::Letter, letter.map(i32::from))
}

/// Every field of an event.
#[inline(always)]
fn fold(sum: &mut Checksum, event: &Event<'_>) {
    sum.add(Field::Id, event.id().0.into());
    match event {
        Event::VmFault(fault) => _ = pid(sum, fault.pid).add_text(fault.task_name.as_bytes()),
        Event::ThermalThrottle(throttle) => {
            sum.add(Field::Address, throttle.bitmask.0).add(Field::Size, throttle.counter);
        }
        Event::GpuPreReset(GpuReset { reset_seq, cause, .. })
        | Event::GpuPostReset(GpuReset { reset_seq, cause, .. }) => {
            sum.add(Field::From, u64::from(*reset_seq));
            text(sum, cause.map(ResetCause::as_bytes));
        }
        Event::MigrateStart(start) => {
            sum.add(Field::Time, start.time.nanos());
            route(range(pid(sum, start.pid), start.range), start.from, start.to)
                .add(Field::Prefetch, start.prefetch_loc.0.into())
                .add(Field::Preferred, start.preferred_loc.0.into())
                .add_signed(Field::Trigger, start.trigger.0);
        }
        Event::MigrateEnd(end) => {
            sum.add(Field::Time, end.time.nanos());
            route(range(pid(sum, end.pid), end.range), end.from, end.to)
                .add_signed(Field::Trigger, end.trigger.0)
                .add_optional(Field::Error, end.error_code());
        }
        Event::PageFaultStart(fault) => {
            sum.add(Field::Time, fault.time.nanos()).add(Field::Address, fault.page.0);
            letter(pid(sum, fault.pid).add(Field::From, fault.node.0.into()), Some(fault.access.byte()));
        }
        Event::PageFaultEnd(fault) => {
            sum.add(Field::Time, fault.time.nanos()).add(Field::Address, fault.page.0);
            letter(pid(sum, fault.pid).add(Field::From, fault.node.0.into()), Some(fault.outcome.byte()));
        }
        Event::QueueEviction(eviction) => {
            pid(sum.add(Field::Time, eviction.time.nanos()), eviction.pid)
                .add(Field::From, eviction.node.0.into())
                .add_signed(Field::Trigger, eviction.trigger.0);
        }
        Event::QueueRestore(restore) => {
            let sum = pid(sum.add(Field::Time, restore.time.nanos()), restore.pid);
            letter(sum.add(Field::From, restore.node.0.into()), restore.restore().byte());
        }
        Event::UnmapFromGpu(unmap) => {
            range(pid(sum.add(Field::Time, unmap.time.nanos()), unmap.pid), unmap.range)
                .add(Field::From, unmap.node.0.into())
                .add_signed(Field::Trigger, unmap.trigger.0);
        }
        Event::ProcessStart(Process { pid: task, task_name, .. })
        | Event::ProcessEnd(Process { pid: task, task_name, .. }) => {
            pid(sum, *task).add_text(TaskName::as_bytes(*task_name));
        }
        // No log to measure on has others: they would not add up.
        _ => return,
    }
    // Nor has one what newer kernels may add.
    text(sum, event.trailing().map(|trailing| trailing.as_bytes()));
    sum.end_line();
}
