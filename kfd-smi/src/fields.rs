//! The keys of a record, and which event has which: the one place that says so, for JSON and CSV alike.

use std::fmt;

use kfd_smi_proto::{
    Event, Location, MigrateStart, PageCount, PageNumber, Pid, RestoreFlag, Throttlers, Trust,
};

use crate::record::{Origin, Record};
use crate::time::utc;

/// Declares the keys in the order of the columns of the CSV form.
macro_rules! keys {
    ($($key:ident $name:literal,)*) => {
        /// The name of a field.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Key {
            $($key,)*
        }

        impl Key {
            /// Every key.
            pub(crate) const ALL: &[Self] = &[$(Self::$key,)*];

            /// As it is printed.
            pub(crate) const fn name(self) -> &'static str {
                match self {
                    $(Self::$key => $name,)*
                }
            }
        }
    };
}

keys! {
    V "v",
    Seq "seq",
    Event "event",
    Id "id",
    ArrivalNs "arrival_ns",
    Time "time",
    Gpu "gpu",
    Trust "trust",
    Trailing "trailing",
    Pid "pid",
    Comm "comm",
    Status "status",
    Throttlers "throttlers",
    Count "count",
    ResetSeq "reset_seq",
    Cause "cause",
    BootNs "boot_ns",
    Page "page",
    Pages "pages",
    From "from",
    To "to",
    Prefetch "prefetch",
    Preferred "preferred",
    Trigger "trigger",
    TriggerId "trigger_id",
    ErrorCode "error_code",
    Node "node",
    Access "access",
    Outcome "outcome",
    Restore "restore",
    Rescheduled "rescheduled",
    Raw "raw",
    Error "error",
    Offset "offset",
    Unterminated "unterminated",
    Length "length",
    CommHex "comm_hex",
    CauseHex "cause_hex",
    RawHex "raw_hex",
    TrailingHex "trailing_hex",
    Byte "byte",
    Input "input",
}

/// What stands behind a key.
#[derive(Clone, Copy)]
pub(crate) enum Value<'a> {
    /// A number that is never negative.
    Unsigned(u64),
    /// A number that can be negative.
    Signed(i32),
    /// Yes or no.
    Bool(bool),
    /// Text, which can hold anything.
    Text(&'a str),
    /// Something that is printed as text, all of it printable ASCII.
    Shown(&'a dyn fmt::Display),
    /// The names of the bits that are set.
    Throttlers(Throttlers),
}

/// Takes the fields of a record, one by one.
pub(crate) trait Fields {
    /// Why a field cannot be taken.
    type Error;

    fn put(&mut self, key: Key, value: Value<'_>) -> Result<(), Self::Error>;
}

/// Gives every field of a record; what does not apply is left out.
pub(crate) fn visit<F: Fields>(record: &Record<'_>, fields: &mut F) -> Result<(), F::Error> {
    fields.put(Key::V, Value::Unsigned(1))?;
    fields.put(Key::Seq, Value::Unsigned(record.seq))?;
    if let Some(input) = record.input {
        fields.put(Key::Input, Value::Text(input))?;
    }
    fields.put(Key::Event, Value::Text(record.name()))?;
    let id = match &record.event {
        Ok(event) => Some(event.id()),
        Err(error) => error.id,
    };
    if let Some(id) = id {
        fields.put(Key::Id, Value::Unsigned(id.0.into()))?;
    }
    let Origin { gpu, arrival, clock } = record.origin;
    if let Some(arrival) = arrival {
        fields.put(Key::ArrivalNs, Value::Shown(&arrival.nanos()))?;
        if let Some(clock) = clock {
            fields.put(Key::Time, Value::Shown(&utc(clock.realtime_of(arrival))))?;
        }
    }
    if let Some(gpu) = gpu {
        fields.put(Key::Gpu, Value::Shown(&gpu))?;
    }
    if let Some(trust) = trust_name(record.trust) {
        fields.put(Key::Trust, Value::Text(trust))?;
    }
    if record.unterminated {
        fields.put(Key::Unterminated, Value::Bool(true))?;
    }
    match &record.event {
        Ok(event) => {
            event_fields(event, fields)?;
            if let Event::Unknown(_) = event {
                text(fields, (Key::Raw, Key::RawHex), record.bytes)?;
            }
            if let Some(trailing) = event.trailing() {
                text(fields, (Key::Trailing, Key::TrailingHex), trailing.as_bytes())?;
            }
        }
        Err(error) => {
            text(fields, (Key::Raw, Key::RawHex), record.bytes)?;
            if let Some(length) = record.length {
                fields.put(Key::Length, Value::Unsigned(length))?;
            }
            fields.put(Key::Error, Value::Shown(error))?;
            fields.put(Key::Offset, Value::Unsigned(error.offset as u64))?;
        }
    }
    Ok(())
}

fn trust_name(trust: Trust) -> Option<&'static str> {
    if trust.is_forgeable() {
        Some("forgeable")
    } else if trust.is_foreign() {
        Some("foreign_gpu")
    } else {
        None
    }
}

fn event_fields<F: Fields>(event: &Event<'_>, fields: &mut F) -> Result<(), F::Error> {
    if let Some(time) = event.time() {
        fields.put(Key::BootNs, Value::Shown(&time.nanos()))?;
    }
    match event {
        Event::VmFault(fault) => {
            thread(fields, fault.pid)?;
            text(fields, (Key::Comm, Key::CommHex), fault.task_name.as_bytes())
        }
        Event::ThermalThrottle(throttle) => {
            hex(fields, Key::Status, throttle.bitmask.0)?;
            fields.put(Key::Throttlers, Value::Throttlers(throttle.bitmask))?;
            fields.put(Key::Count, Value::Unsigned(throttle.counter))
        }
        Event::GpuPreReset(reset) | Event::GpuPostReset(reset) => {
            fields.put(Key::ResetSeq, Value::Unsigned(reset.reset_seq.into()))?;
            match reset.cause {
                Some(cause) => text(fields, (Key::Cause, Key::CauseHex), cause.as_bytes()),
                None => Ok(()),
            }
        }
        Event::MigrateStart(start) => {
            let MigrateStart { pid, range, from, to, prefetch_loc, preferred_loc, trigger, .. } = start;
            process(fields, *pid)?;
            pages(fields, range.start, range.count)?;
            route(fields, *from, *to)?;
            fields.put(Key::Prefetch, Value::Shown(prefetch_loc))?;
            fields.put(Key::Preferred, Value::Shown(preferred_loc))?;
            trigger_of(fields, trigger.name(), trigger.0)
        }
        Event::MigrateEnd(end) => {
            process(fields, end.pid)?;
            pages(fields, end.range.start, end.range.count)?;
            route(fields, end.from, end.to)?;
            trigger_of(fields, end.trigger.name(), end.trigger.0)?;
            match end.error_code() {
                Some(error) => fields.put(Key::ErrorCode, Value::Signed(error)),
                None => Ok(()),
            }
        }
        Event::PageFaultStart(fault) => {
            process(fields, fault.pid)?;
            hex(fields, Key::Page, fault.page.0)?;
            hex(fields, Key::Node, fault.node.0.into())?;
            letter(fields, Key::Access, fault.access.name(), Some(fault.access.byte()))
        }
        Event::PageFaultEnd(fault) => {
            process(fields, fault.pid)?;
            hex(fields, Key::Page, fault.page.0)?;
            hex(fields, Key::Node, fault.node.0.into())?;
            letter(fields, Key::Outcome, fault.outcome.name(), Some(fault.outcome.byte()))
        }
        Event::QueueEviction(eviction) => {
            process(fields, eviction.pid)?;
            hex(fields, Key::Node, eviction.node.0.into())?;
            trigger_of(fields, eviction.trigger.name(), eviction.trigger.0)
        }
        Event::QueueRestore(restore) => {
            process(fields, restore.pid)?;
            hex(fields, Key::Node, restore.node.0.into())?;
            let flag = restore.restore();
            letter(fields, Key::Restore, restore_name(flag), flag.byte())?;
            fields.put(Key::Rescheduled, Value::Bool(flag.is_rescheduled()))
        }
        Event::UnmapFromGpu(unmap) => {
            process(fields, unmap.pid)?;
            pages(fields, unmap.range.start, unmap.range.count)?;
            hex(fields, Key::Node, unmap.node.0.into())?;
            trigger_of(fields, unmap.trigger.name(), unmap.trigger.0)
        }
        Event::ProcessStart(process) | Event::ProcessEnd(process) => {
            thread(fields, process.pid)?;
            text(fields, (Key::Comm, Key::CommHex), process.task_name.as_bytes())
        }
        Event::DroppedEvents(dropped) => {
            process(fields, dropped.pid)?;
            fields.put(Key::Count, Value::Unsigned(dropped.count.into()))
        }
        // An unknown event has nothing but its line, and so has one that a newer library knows.
        _ => Ok(()),
    }
}

/// A pid that the kernel prints in decimal.
fn process<F: Fields>(fields: &mut F, pid: Pid) -> Result<(), F::Error> {
    fields.put(Key::Pid, Value::Signed(pid.0))
}

/// A pid that the kernel prints in hexadecimal, which has no sign.
fn thread<F: Fields>(fields: &mut F, pid: Pid) -> Result<(), F::Error> {
    fields.put(Key::Pid, Value::Unsigned(pid.as_unsigned().into()))
}

fn hex<F: Fields>(fields: &mut F, key: Key, value: u64) -> Result<(), F::Error> {
    fields.put(key, Value::Shown(&format_args!("{value:#x}")))
}

fn pages<F: Fields>(fields: &mut F, start: PageNumber, count: PageCount) -> Result<(), F::Error> {
    hex(fields, Key::Page, start.0)?;
    fields.put(Key::Pages, Value::Unsigned(count.0))
}

fn route<F: Fields>(fields: &mut F, from: Location, to: Location) -> Result<(), F::Error> {
    fields.put(Key::From, Value::Shown(&from))?;
    fields.put(Key::To, Value::Shown(&to))
}

fn trigger_of<F: Fields>(fields: &mut F, name: Option<&str>, number: i32) -> Result<(), F::Error> {
    fields.put(Key::Trigger, Value::Text(name.unwrap_or("other")))?;
    fields.put(Key::TriggerId, Value::Signed(number))
}

fn restore_name(flag: RestoreFlag) -> Option<&'static str> {
    match flag {
        RestoreFlag::NONE => Some("absent"),
        RestoreFlag::NUL => Some("nul"),
        RestoreFlag::ZERO => Some("zero"),
        RestoreFlag::RESCHEDULED => Some("rescheduled"),
        _ => None,
    }
}

/// A letter by its name, else as `other` with its number.
fn letter<F: Fields>(fields: &mut F, key: Key, name: Option<&str>, byte: Option<u8>) -> Result<(), F::Error> {
    fields.put(key, Value::Text(name.unwrap_or("other")))?;
    match (name, byte) {
        (None, Some(byte)) => fields.put(Key::Byte, Value::Unsigned(byte.into())),
        _ => Ok(()),
    }
}

/// Free bytes: as text if they are UTF-8, else under the other key in hexadecimal.
fn text<F: Fields>(fields: &mut F, (key, key_hex): (Key, Key), bytes: &[u8]) -> Result<(), F::Error> {
    match str::from_utf8(bytes) {
        Ok(text) => fields.put(key, Value::Text(text)),
        Err(_) => fields.put(key_hex, Value::Shown(&Hex(bytes))),
    }
}

/// Bytes as lower-case hexadecimal digits, two each.
struct Hex<'a>(&'a [u8]);

impl fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}
