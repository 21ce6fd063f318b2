//! What a line says: [`Event`], one variant per event of the kernel.

use core::fmt;

use nom::Parser as _;

use crate::encode::Encoder;
use crate::error::{ParseError, ParseErrorKind};
use crate::field::{BootNanos, GpuId, Pid};
use crate::grammar::{Mismatch, Parsed, event_id, leading_id, space};
use crate::id::EventId;
use crate::line::MAX_LINE;
use crate::text::{TaskName, Trailing};

mod dropped;
mod gpu_reset;
mod migrate;
mod page_fault;
mod process;
mod queue;
mod thermal_throttle;
mod unknown;
mod unmap;
mod vm_fault;

pub use dropped::DroppedEvents;
pub use gpu_reset::GpuReset;
pub use migrate::{MigrateEnd, MigrateStart, Migration};
pub use page_fault::{Access, FaultOutcome, PageFaultEnd, PageFaultStart};
pub use process::Process;
pub use queue::{QueueEviction, QueueRestore, RestoreFlag};
pub use thermal_throttle::ThermalThrottle;
pub use unknown::Unknown;
pub use unmap::UnmapFromGpu;
pub use vm_fault::VmFault;

/// One event of the driver, borrowed from its line.
///
/// An event keeps its wire form: whether a line had an error code, which letter its restore ended in, what a
/// newer kernel added. [`encode`](crate::encode()) gives the line back.
///
/// ```
/// use kfd_smi_proto::{Event, EventId, GpuId, Pid, parse_line};
///
/// let event = parse_line(b"9 14601738586508 -152990 1ea0 2\n").event.unwrap();
/// assert_eq!(event.id(), EventId::QUEUE_EVICTION);
/// assert_eq!(event.pid(), Some(Pid(152990)));
/// assert_eq!(event.gpu(), Some(GpuId(0x1ea0)));
/// assert_eq!(event.time().unwrap().nanos(), 14601738586508);
/// assert_eq!(event.to_string(), "queue_eviction at 14601.738586508 pid 152990 on 0x1ea0, ttm");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(tag = "event", rename_all = "snake_case"))]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum Event<'a> {
    /// Id 1.
    #[cfg_attr(feature = "serde", serde(rename = "vmfault"))]
    VmFault(VmFault<'a>),
    /// Id 2.
    ThermalThrottle(ThermalThrottle<'a>),
    /// Id 3.
    GpuPreReset(GpuReset<'a>),
    /// Id 4.
    GpuPostReset(GpuReset<'a>),
    /// Id 5.
    MigrateStart(MigrateStart<'a>),
    /// Id 6.
    MigrateEnd(MigrateEnd<'a>),
    /// Id 7.
    PageFaultStart(PageFaultStart<'a>),
    /// Id 8.
    PageFaultEnd(PageFaultEnd<'a>),
    /// Id 9.
    QueueEviction(QueueEviction<'a>),
    /// Id 10.
    QueueRestore(QueueRestore<'a>),
    /// Id 11.
    UnmapFromGpu(UnmapFromGpu<'a>),
    /// Id 12.
    ProcessStart(Process<'a>),
    /// Id 13.
    ProcessEnd(Process<'a>),
    /// Id 12 or 14, where the line has that shape.
    DroppedEvents(DroppedEvents),
    /// Any other id.
    Unknown(Unknown<'a>),
}

/// Runs an expression with whichever struct the event holds.
macro_rules! each {
    ($event:expr, $inner:ident => $value:expr) => {
        match $event {
            Event::VmFault($inner) => $value,
            Event::ThermalThrottle($inner) => $value,
            Event::GpuPreReset($inner) | Event::GpuPostReset($inner) => $value,
            Event::MigrateStart($inner) => $value,
            Event::MigrateEnd($inner) => $value,
            Event::PageFaultStart($inner) => $value,
            Event::PageFaultEnd($inner) => $value,
            Event::QueueEviction($inner) => $value,
            Event::QueueRestore($inner) => $value,
            Event::UnmapFromGpu($inner) => $value,
            Event::ProcessStart($inner) | Event::ProcessEnd($inner) => $value,
            Event::DroppedEvents($inner) => $value,
            Event::Unknown($inner) => $value,
        }
    };
}

impl<'a> Event<'a> {
    /// The id that the line begins with.
    #[must_use]
    pub const fn id(&self) -> EventId {
        match self {
            Self::VmFault(_) => EventId::VMFAULT,
            Self::ThermalThrottle(_) => EventId::THERMAL_THROTTLE,
            Self::GpuPreReset(_) => EventId::GPU_PRE_RESET,
            Self::GpuPostReset(_) => EventId::GPU_POST_RESET,
            Self::MigrateStart(_) => EventId::MIGRATE_START,
            Self::MigrateEnd(_) => EventId::MIGRATE_END,
            Self::PageFaultStart(_) => EventId::PAGE_FAULT_START,
            Self::PageFaultEnd(_) => EventId::PAGE_FAULT_END,
            Self::QueueEviction(_) => EventId::QUEUE_EVICTION,
            Self::QueueRestore(_) => EventId::QUEUE_RESTORE,
            Self::UnmapFromGpu(_) => EventId::UNMAP_FROM_GPU,
            Self::ProcessStart(_) => EventId::PROCESS_START,
            Self::ProcessEnd(_) => EventId::PROCESS_END,
            Self::DroppedEvents(dropped) => dropped.id(),
            Self::Unknown(unknown) => unknown.id(),
        }
    }

    /// The name of the event: that of its id, but `dropped_events` or `unknown` for those.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match (self, self.id().name()) {
            (Self::DroppedEvents(_), _) => "dropped_events",
            (Self::Unknown(_), _) | (_, None) => "unknown",
            (_, Some(name)) => name,
        }
    }

    /// When it happened. VM faults, throttling, resets and process events carry no time.
    #[must_use]
    pub const fn time(&self) -> Option<BootNanos> {
        match self {
            Self::MigrateStart(start) => Some(start.time),
            Self::MigrateEnd(end) => Some(end.time),
            Self::PageFaultStart(fault) => Some(fault.time),
            Self::PageFaultEnd(fault) => Some(fault.time),
            Self::QueueEviction(eviction) => Some(eviction.time),
            Self::QueueRestore(restore) => Some(restore.time),
            Self::UnmapFromGpu(unmap) => Some(unmap.time),
            Self::DroppedEvents(dropped) => Some(dropped.time),
            _ => None,
        }
    }

    /// The task that it concerns: a process, but for VM faults and process events one of its threads.
    #[must_use]
    pub const fn pid(&self) -> Option<Pid> {
        match self {
            Self::VmFault(fault) => Some(fault.pid),
            Self::MigrateStart(start) => Some(start.pid),
            Self::MigrateEnd(end) => Some(end.pid),
            Self::PageFaultStart(fault) => Some(fault.pid),
            Self::PageFaultEnd(fault) => Some(fault.pid),
            Self::QueueEviction(eviction) => Some(eviction.pid),
            Self::QueueRestore(restore) => Some(restore.pid),
            Self::UnmapFromGpu(unmap) => Some(unmap.pid),
            Self::ProcessStart(process) | Self::ProcessEnd(process) => Some(process.pid),
            Self::DroppedEvents(dropped) => Some(dropped.pid),
            _ => None,
        }
    }

    /// The GPU that the line names; the GPU's end of a migration.
    #[must_use]
    pub fn gpu(&self) -> Option<GpuId> {
        match self {
            Self::MigrateStart(start) => start.gpu(),
            Self::MigrateEnd(end) => end.gpu(),
            _ => self.node(),
        }
    }

    /// The GPU of an event that names one as its own: ids 7 to 11.
    pub(crate) const fn node(&self) -> Option<GpuId> {
        match self {
            Self::PageFaultStart(fault) => Some(fault.node),
            Self::PageFaultEnd(fault) => Some(fault.node),
            Self::QueueEviction(eviction) => Some(eviction.node),
            Self::QueueRestore(restore) => Some(restore.node),
            Self::UnmapFromGpu(unmap) => Some(unmap.node),
            _ => None,
        }
    }

    /// The name of a task, which that task chose: see [`Trust`](crate::Trust).
    #[must_use]
    pub const fn task_name(&self) -> Option<TaskName<'a>> {
        match self {
            Self::VmFault(fault) => Some(fault.task_name),
            Self::ProcessStart(process) | Self::ProcessEnd(process) => Some(process.task_name),
            _ => None,
        }
    }

    /// What a newer kernel adds to a known event, without the blank in between.
    #[must_use]
    pub const fn trailing(&self) -> Option<Trailing<'a>> {
        match self {
            Self::ThermalThrottle(throttle) => throttle.trailing,
            Self::MigrateStart(start) => start.trailing,
            Self::MigrateEnd(end) => end.trailing(),
            Self::PageFaultStart(fault) => fault.trailing,
            Self::PageFaultEnd(fault) => fault.trailing,
            Self::QueueEviction(eviction) => eviction.trailing,
            Self::QueueRestore(restore) => restore.trailing(),
            Self::UnmapFromGpu(unmap) => unmap.trailing,
            _ => None,
        }
    }

    /// A line without its newline.
    pub(crate) fn parse(line: &'a [u8]) -> Result<Self, ParseError> {
        let at = |kind, offset| ParseError { kind, id: leading_id(line), offset };
        if line.is_empty() {
            return Err(at(ParseErrorKind::EmptyLine, 0));
        }
        if line.len() > MAX_LINE {
            return Err(at(ParseErrorKind::LineTooLong, MAX_LINE));
        }
        match Self::parse_line(line) {
            Ok((_, event)) => Ok(event),
            Err(error) => {
                let Mismatch { kind, left } = error.into();
                Err(at(kind, line.len().saturating_sub(left)))
            }
        }
    }

    fn parse_line(line: &'a [u8]) -> Parsed<'a, Self> {
        fn event<'a, T>(parsed: Parsed<'a, T>, variant: fn(T) -> Event<'a>) -> Parsed<'a, Event<'a>> {
            parsed.map(|(input, inner)| (input, variant(inner)))
        }
        let (input, (id, ())) = (event_id, space).parse(line)?;
        match id {
            _ if DroppedEvents::is_shape_of(id, input) => {
                event(DroppedEvents::parse(id, input), Self::DroppedEvents)
            }
            EventId::VMFAULT => event(VmFault::parse(input), Self::VmFault),
            EventId::THERMAL_THROTTLE => event(ThermalThrottle::parse(input), Self::ThermalThrottle),
            EventId::GPU_PRE_RESET => event(GpuReset::parse(input), Self::GpuPreReset),
            EventId::GPU_POST_RESET => event(GpuReset::parse(input), Self::GpuPostReset),
            EventId::MIGRATE_START => event(MigrateStart::parse(input), Self::MigrateStart),
            EventId::MIGRATE_END => event(MigrateEnd::parse(input), Self::MigrateEnd),
            EventId::PAGE_FAULT_START => event(PageFaultStart::parse(input), Self::PageFaultStart),
            EventId::PAGE_FAULT_END => event(PageFaultEnd::parse(input), Self::PageFaultEnd),
            EventId::QUEUE_EVICTION => event(QueueEviction::parse(input), Self::QueueEviction),
            EventId::QUEUE_RESTORE => event(QueueRestore::parse(input), Self::QueueRestore),
            EventId::UNMAP_FROM_GPU => event(UnmapFromGpu::parse(input), Self::UnmapFromGpu),
            EventId::PROCESS_START => event(Process::parse(input), Self::ProcessStart),
            EventId::PROCESS_END => event(Process::parse(input), Self::ProcessEnd),
            _ => Ok((&[], Self::Unknown(Unknown::of_line(id, input)))),
        }
    }

    /// The line without its newline.
    pub(crate) fn encode(&self, out: &mut Encoder<'_, 'a>) {
        out.hex(self.id().0).literal(b" ");
        each!(self, inner => inner.encode(out));
    }
}

/// One line for people, all of it printable ASCII; addresses and sizes in pages.
impl fmt::Display for Event<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ", self.name())?;
        each!(self, inner => inner.fmt(f))?;
        match self.trailing() {
            Some(trailing) => write!(f, " +\"{trailing}\""),
            None => Ok(()),
        }
    }
}

/// The fields of an event contradict each other: its line would be read as something else.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub struct Inconsistent;

impl fmt::Display for Inconsistent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("expected fields whose line is read as the same event")
    }
}

impl core::error::Error for Inconsistent {}

#[cfg(test)]
pub(crate) mod tests {
    extern crate std;
    use super::*;
    use std::string::{String, ToString as _};
    use std::vec::Vec;

    /// What the tests of every event family ask.
    pub(crate) fn event(line: &[u8]) -> Event<'_> {
        Event::parse(line).unwrap_or_else(|error| panic!("{:?}: {error}", line.escape_ascii().to_string()))
    }

    pub(crate) fn shown(line: &[u8]) -> String {
        event(line).to_string()
    }

    pub(crate) fn written(line: &[u8]) -> Vec<u8> {
        crate::encode(&event(line), &mut [0; 256]).unwrap().to_vec()
    }

    pub(crate) fn error_offset(line: &[u8]) -> usize {
        Event::parse(line).unwrap_err().offset
    }

    #[test]
    fn an_id_is_a_number_with_a_blank_behind_it() {
        for line in [b" 3 1".as_slice(), b"-3 1", b"x", b"\x003 1", b"A 1"] {
            assert_eq!(Event::parse(line).unwrap_err().id, None);
            assert_eq!(error_offset(line), 0);
        }
        assert_eq!(Event::parse(b"5").unwrap_err().id, Some(EventId::MIGRATE_START));
        assert_eq!(event(b"00003 1").id(), EventId::GPU_PRE_RESET);
    }

    #[test]
    fn a_full_output_is_an_error_wherever_it_ends() {
        /// Takes so many bytes.
        struct Room(usize);
        impl fmt::Write for Room {
            fn write_str(&mut self, text: &str) -> fmt::Result {
                self.0 = self.0.checked_sub(text.len()).ok_or(fmt::Error)?;
                Ok(())
            }
        }
        for line in [
            "1 5:a",
            "2 14:2",
            "3 1 job hang",
            "5 1 -2 @3(4) 5->6 7:8 9",
            "6 1 -2 @3(4) 5->6 7 -12",
            "7 1 -2 @3(4) R",
            "8 1 -2 @3(4) M",
            "9 1 -2 3 4",
            "a 1 -2 3 R",
            "b 1 -2 @3(4) 5 6",
            "d 5 a",
            "e 1 -2 3",
            "ff x",
        ] {
            let event = event(line.as_bytes());
            let length = event.to_string().len();
            for room in 0..length {
                assert!(fmt::write(&mut Room(room), format_args!("{event}")).is_err(), "{room} for {event}");
            }
            assert!(fmt::write(&mut Room(length), format_args!("{event}")).is_ok());
        }
    }

    #[test]
    fn fields_that_contradict_each_other_are_called_so() {
        let error = DroppedEvents::new(EventId(13), BootNanos::MAX, Pid(1), 2).unwrap_err();
        assert_eq!(error.to_string(), "expected fields whose line is read as the same event");
    }

    #[test]
    fn every_event_that_can_have_trailing_bytes_gives_them() {
        for line in [
            "2 1:2",
            "5 1 -2 @3(4) 5->6 7:8 9",
            "6 1 -2 @3(4) 5->6 7 8",
            "7 1 -2 @3(4) R",
            "8 1 -2 @3(4) M",
            "9 1 -2 3 4",
            "a 1 -2 3 0",
            "b 1 -2 @3(4) 5 6",
        ] {
            let longer = std::format!("{line} more");
            assert_eq!(event(line.as_bytes()).trailing(), None);
            assert_eq!(event(longer.as_bytes()).trailing().unwrap().as_bytes(), b"more", "{line}");
        }
        for line in
            ["1 5:name more", "3 1 cause more", "4 1 more", "c 5 name more", "d 5 name more", "f more"]
        {
            assert_eq!(event(line.as_bytes()).trailing(), None, "{line}");
        }
    }

    #[test]
    fn a_line_of_4096_bytes_is_read_and_a_longer_one_refused() {
        let mut line = [b'x'; MAX_LINE + 1];
        line[..4].copy_from_slice(b"c 5 ");
        assert!(matches!(event(&line[..MAX_LINE]), Event::ProcessStart(_)));
        let error = Event::parse(&line).unwrap_err();
        assert_eq!((error.kind, error.offset), (ParseErrorKind::LineTooLong, MAX_LINE));
        assert_eq!(error.id, Some(EventId::PROCESS_START));
    }
}
