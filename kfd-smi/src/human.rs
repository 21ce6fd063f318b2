//! The form for people: one aligned line a record.

use std::fmt::{self, Display};
use std::io::{self, Write};

use anstyle::{AnsiColor, Style};
use kfd_smi_io::Clock;
use kfd_smi_io::capture::{Entry, GpuInfo, Header, ProcessInfo};
use kfd_smi_proto::{
    DroppedEvents, Escaped, Event, MigrateEnd, MigrateStart, PageCount, PageNumber, PageRange, PageSize,
};

use crate::cli::ClockChoice;
use crate::errno::ErrorCode;
use crate::record::Record;
use crate::time::{When, utc};

/// How to write for people.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Human {
    /// As the user said, else as the machine has it.
    chosen_page_size: Option<PageSize>,
    page_size: PageSize,
    /// As the user said, else the wall clock where it is known.
    chosen_clock: Option<ClockChoice>,
    clock: ClockChoice,
    colored: bool,
}

const PLAIN: Style = Style::new();
const FAINT: Style = Style::new().dimmed();
const NOTICE: Style = AnsiColor::Yellow.on_default();
const ALARM: Style = AnsiColor::Red.on_default().bold();

impl Human {
    pub(crate) fn new(page_size: Option<PageSize>, clock: Option<ClockChoice>, colored: bool) -> Self {
        Self {
            chosen_page_size: page_size,
            page_size: page_size.unwrap_or(PageSize::FOUR_KIB),
            chosen_clock: clock,
            clock: clock.unwrap_or(ClockChoice::Boot),
            colored,
        }
    }

    /// From here on lines are of a machine with pages of this size, if it is known.
    pub(crate) fn set_page_size(&mut self, page_size: Option<PageSize>) {
        self.page_size = self.chosen_page_size.or(page_size).unwrap_or(PageSize::FOUR_KIB);
    }

    /// What a capture says, in a line that begins with `#`.
    pub(crate) fn fact(
        &mut self,
        entry: &Entry<'_>,
        clock: Option<Clock>,
        out: &mut impl Write,
    ) -> io::Result<()> {
        match entry {
            Entry::Segment(header) => {
                self.clock = self.chosen_clock.unwrap_or(ClockChoice::Wall);
                writeln!(out, "# {}", Machine(header))
            }
            Entry::Gpu(GpuInfo { gpu, name, pci, .. }) => writeln!(out, "# gpu {gpu} \"{name}\" at {pci}"),
            Entry::Clock(now) if clock.is_none() => writeln!(out, "# begins at {}", utc(now.realtime)),
            // Redacted, nothing is known.
            Entry::Process(ProcessInfo { comm, cgroup, .. })
                if comm.as_bytes().is_empty() && cgroup.as_bytes().is_empty() =>
            {
                Ok(())
            }
            Entry::Process(ProcessInfo { pid, comm, cgroup }) => {
                writeln!(out, "# pid {pid} was \"{comm}\" in \"{cgroup}\" just after")
            }
            Entry::End(gpu, reason) => self.warn(out, format_args!("gpu {gpu} ended: {reason}")),
            Entry::Lost(records) => {
                self.warn(out, format_args!("{records} records are missing here: the recorder had no room"))
            }
            Entry::Full(gpu) => self.warn(
                out,
                format_args!("the driver's buffer of GPU {gpu} was full: events may be missing here"),
            ),
            _ => Ok(()),
        }
    }

    fn warn(self, out: &mut impl Write, warning: fmt::Arguments<'_>) -> io::Result<()> {
        writeln!(out, "# {}", self.styled(NOTICE, warning))
    }

    /// Time, event, pid and GPU in columns, then what only this event has.
    pub(crate) fn write(self, record: &Record<'_>, out: &mut impl Write) -> io::Result<()> {
        let event = record.event.as_ref().ok();
        write!(out, "{}", When(record, self.clock))?;
        write!(out, "  {}", self.styled(style(record), format_args!("{:<16}", record.name())))?;
        match event {
            Some(Event::VmFault(_) | Event::ProcessStart(_) | Event::ProcessEnd(_)) | None => {
                let pid = event.and_then(Event::pid).map(|pid| pid.as_unsigned().into());
                column(out, "pid", 8, pid.map(|pid: i64| pid.to_string()))?;
            }
            Some(event) => column(out, "pid", 8, event.pid().map(|pid| pid.to_string()))?,
        }
        let gpu = event.and_then(Event::gpu).or(record.origin.gpu);
        column(out, "gpu", 6, gpu.map(|gpu| gpu.to_string()))?;
        match &record.event {
            Ok(event) => {
                write!(out, "  {}", Details { event, human: self })?;
                if let Some(trailing) = event.trailing() {
                    write!(out, "  +\"{trailing}\"")?;
                }
            }
            Err(error) => {
                write!(out, "  line {}: {error}", record.seq)?;
                if !record.bytes.is_empty() {
                    write!(out, ": \"{}\"", Escaped(record.bytes))?;
                }
                if let Some(length) = record.length {
                    write!(out, "... ({length} bytes)")?;
                }
            }
        }
        if record.unterminated {
            write!(
                out,
                "  {}",
                self.styled(NOTICE, "(the input ends here without a newline: could be cut short)")
            )?;
        }
        if record.trust.is_forgeable() {
            write!(out, "  {}", self.styled(NOTICE, "(could be forged)"))?;
        } else if record.trust.is_foreign() {
            write!(out, "  {}", self.styled(NOTICE, "(another GPU's)"))?;
        }
        writeln!(out)
    }

    fn styled<T: Display>(self, style: Style, text: T) -> Styled<T> {
        Styled(if self.colored { style } else { PLAIN }, text)
    }
}

/// Something in a colour.
struct Styled<T>(Style, T);

impl<T: Display> Display for Styled<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(style, text) = self;
        write!(f, "{style}{text}{style:#}")
    }
}

/// Which machine a capture comes from, as far as it says so.
struct Machine<'a>(&'a Header);

impl Display for Machine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let header = self.0;
        f.write_str("capture")?;
        let known = [
            header.host.as_ref().map(|host| format!("of host \"{host}\"")),
            header.release.as_ref().map(|release| format!("Linux {release}")),
            header.machine.as_ref().map(ToString::to_string),
            header.kfd_version.map(|version| format!("KFD {version}")),
            header
                .privileged
                .map(|yes| if yes { "of all processes".to_owned() } else { "unprivileged".to_owned() }),
            header.redacted.then(|| "redacted".to_owned()),
        ];
        for (number, what) in known.iter().flatten().enumerate() {
            write!(f, "{} {what}", if number == 0 { "" } else { "," })?;
        }
        Ok(())
    }
}

/// How much an event matters.
fn style(record: &Record<'_>) -> Style {
    match &record.event {
        Err(_) => ALARM,
        Ok(Event::VmFault(_) | Event::GpuPreReset(_) | Event::DroppedEvents(_)) => ALARM,
        Ok(Event::MigrateEnd(end)) if end.error_code().is_some_and(|error| error != 0) => ALARM,
        Ok(Event::ThermalThrottle(_) | Event::GpuPostReset(_) | Event::QueueEviction(_)) => NOTICE,
        Ok(Event::QueueRestore(restore)) if restore.restore().is_rescheduled() => NOTICE,
        Ok(Event::Unknown(_)) => FAINT,
        Ok(_) => PLAIN,
    }
}

/// A label and what it labels, or as many blanks.
fn column(out: &mut impl Write, label: &str, width: usize, value: Option<String>) -> io::Result<()> {
    match value {
        Some(value) => write!(out, "  {label} {value:<width$}"),
        None => write!(out, "  {:1$}", "", label.len() + 1 + width),
    }
}

/// What only this event has.
struct Details<'a> {
    event: &'a Event<'a>,
    human: Human,
}

impl Display for Details<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let memory = |range| Memory { range, page_size: self.human.page_size };
        match self.event {
            Event::VmFault(fault) => write!(f, "\"{}\"", fault.task_name),
            Event::ThermalThrottle(throttle) => throttle.fmt(f),
            Event::GpuPreReset(reset) | Event::GpuPostReset(reset) => write!(f, "reset {reset}"),
            Event::MigrateStart(start) => {
                let MigrateStart { range, from, to, prefetch_loc, preferred_loc, trigger, .. } = start;
                write!(f, "{from} -> {to}, {trigger}, {}", memory(*range))?;
                write!(f, ", prefetch {prefetch_loc}, preferred {preferred_loc}")
            }
            Event::MigrateEnd(end) => {
                let MigrateEnd { range, from, to, trigger, .. } = end;
                write!(f, "{from} -> {to}, {trigger}, {}", memory(*range))?;
                match end.error_code() {
                    None => Ok(()),
                    Some(0) => f.write_str(", ok"),
                    Some(error) => {
                        let failed = self.human.styled(ALARM, ErrorCode(error));
                        write!(f, ", failed: {failed}")
                    }
                }
            }
            Event::PageFaultStart(fault) => {
                write!(f, "{}, {}", fault.access, memory(one(fault.page)))
            }
            Event::PageFaultEnd(fault) => {
                write!(f, "{}, {}", fault.outcome, memory(one(fault.page)))
            }
            Event::QueueEviction(eviction) => eviction.trigger.fmt(f),
            Event::QueueRestore(restore) if restore.restore().is_rescheduled() => {
                f.write_str("rescheduled: the queues stay evicted")
            }
            Event::QueueRestore(restore) => restore.restore().fmt(f),
            Event::UnmapFromGpu(unmap) => write!(f, "{}, {}", unmap.trigger, memory(unmap.range)),
            Event::ProcessStart(process) | Event::ProcessEnd(process) => {
                write!(f, "\"{}\"", process.task_name)
            }
            Event::DroppedEvents(dropped) if dropped.id() == DroppedEvents::NEW_ID => {
                write!(f, "{} events, if id 14 means that", dropped.count)
            }
            Event::DroppedEvents(dropped) => write!(f, "{} events", dropped.count),
            Event::Unknown(unknown) => write!(f, "id {unknown}"),
            other => other.fmt(f),
        }
    }
}

/// The page of a fault.
fn one(page: PageNumber) -> PageRange {
    PageRange { start: page, count: PageCount(1) }
}

/// `[0x7f0f15200000,0x7f0f15400000) 2 MiB`
struct Memory {
    range: PageRange,
    page_size: PageSize,
}

impl Display for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let size = self.range.count.size(self.page_size);
        match (self.range.addresses(self.page_size), size) {
            (Some(bytes), Some(size)) => write!(f, "[{:#x},{:#x}) {}", bytes.start, bytes.end, Size(size)),
            // No process has such addresses: say what the line says.
            _ => write!(f, "pages {}", self.range),
        }
    }
}

/// A size in bytes, in KiB below 1 MiB, else in MiB.
struct Size(u64);

impl Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, name) = if self.0 < 1 << 20 { (1 << 10, "KiB") } else { (1 << 20, "MiB") };
        if self.0.is_multiple_of(unit) {
            write!(f, "{} {name}", self.0 / unit)
        } else {
            // Tenths, so that nothing is larger than it is.
            let tenths = u128::from(self.0) * 10 / u128::from(unit);
            write!(f, "{}.{} {name}", tenths / 10, tenths % 10)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_in_kib_or_mib() {
        assert_eq!(Size(0).to_string(), "0 KiB");
        assert_eq!(Size(4096).to_string(), "4 KiB");
        assert_eq!(Size(512).to_string(), "0.5 KiB");
        assert_eq!(Size((1 << 20) - 4096).to_string(), "1020 KiB");
        assert_eq!(Size(2 << 20).to_string(), "2 MiB");
        assert_eq!(Size(0x2c02 * 4096).to_string(), "44.0 MiB");
        assert_eq!(Size(u64::MAX).to_string(), "17592186044415.9 MiB");
    }
}
