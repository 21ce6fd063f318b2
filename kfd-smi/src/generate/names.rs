//! What threads call themselves: [`Name`].

use kfd_smi_proto::{
    BootNanos, Event, EventId, EvictionTrigger, FaultOutcome, GpuId, GpuReset, PageFaultEnd, PageNumber, Pid,
    Process, QueueEviction, QueueRestore, RestoreFlag, TaskName, ThermalThrottle, Throttlers, Trailing,
    Unknown, VmFault,
};

/// The name of a thread: up to 15 bytes, whichever they are but NUL.
#[derive(Debug)]
pub(crate) struct Name {
    pub(crate) bytes: &'static [u8],
    /// What the lines are that it forges: one for each newline in it.
    forged: &'static [Forged],
}

/// A line that a name forges, known from how the name was made.
#[derive(Clone, Copy, Debug)]
enum Forged {
    /// No event.
    Nothing,
    Eviction,
    Restore,
    PreReset,
    PostReset,
    FaultEnd,
    Throttle,
    /// A VM fault whose name is these bytes.
    Fault(&'static [u8]),
    /// The end of a process whose name is these bytes.
    ProcessEnd(&'static [u8]),
    Unknown,
}

impl Name {
    /// What the driver's own line holds of it: all up to the first newline.
    pub(crate) fn first(&self) -> &'static [u8] {
        self.bytes.split(|byte| *byte == b'\n').next().unwrap_or_default()
    }

    /// The lines behind that one, with what they say; `None` if that is nothing.
    pub(crate) fn forged(&self) -> impl Iterator<Item = (&'static [u8], Option<Event<'static>>)> {
        let lines = self.bytes.split(|byte| *byte == b'\n').skip(1);
        lines.zip(self.forged).map(|(line, forged)| (line, forged.event()))
    }
}

impl Forged {
    /// The event that the line is by its shape. The numbers are those of [`HOSTILE`].
    fn event(self) -> Option<Event<'static>> {
        let time = BootNanos::new(1).unwrap_or(BootNanos::MIN);
        let (pid, node) = (Pid(2), GpuId(3));
        let name = |bytes| TaskName::new(bytes).ok();
        Some(match self {
            Self::Nothing => return None,
            Self::Eviction => {
                let trigger = EvictionTrigger::CRIU_CHECKPOINT;
                Event::QueueEviction(QueueEviction { time, pid, node, trigger, trailing: None })
            }
            Self::Restore => {
                Event::QueueRestore(QueueRestore::new(time, pid, node, RestoreFlag::NONE, None).ok()?)
            }
            Self::PreReset => Event::GpuPreReset(GpuReset { reset_seq: 0xf00d, cause: None }),
            Self::PostReset => Event::GpuPostReset(GpuReset { reset_seq: 0xf00d, cause: None }),
            Self::FaultEnd => {
                let outcome = FaultOutcome::MIGRATED;
                Event::PageFaultEnd(PageFaultEnd {
                    time,
                    pid,
                    page: PageNumber(3),
                    node: GpuId(4),
                    outcome,
                    trailing: None,
                })
            }
            Self::Throttle => Event::ThermalThrottle(ThermalThrottle {
                bitmask: Throttlers(0x40),
                counter: 5,
                trailing: None,
            }),
            Self::Fault(bytes) => Event::VmFault(VmFault { pid: Pid(5), task_name: name(bytes)? }),
            Self::ProcessEnd(bytes) => Event::ProcessEnd(Process { pid: Pid(5), task_name: name(bytes)? }),
            Self::Unknown => Event::Unknown(Unknown::new(EventId(15), Trailing::new(b"x").ok()?).ok()?),
        })
    }
}

const fn plain(bytes: &'static [u8]) -> Name {
    Name { bytes, forged: &[] }
}

const fn forging(bytes: &'static [u8], forged: &'static [Forged]) -> Name {
    Name { bytes, forged }
}

/// Names as they are.
pub(crate) const ORDINARY: &[Name] = &[
    plain(b"python3"),
    plain(b"train.py"),
    plain(b"ray::worker"),
    plain(b"llama-server"),
    plain(b"lammps"),
    plain(b"gmx mdrun"),
    plain(b"rocblas-bench"),
    plain(b"pt_main_thread"),
];

/// Names that no program should choose.
pub(crate) const HOSTILE: &[Name] = &[
    plain(b""),
    plain(b" "),
    plain(b"a b:c d"),
    plain(b"\x1b[2J\x1b[31mred"),
    plain(b"\x1b]0;title\x07"),
    plain(b"\xff\xfe\x80"),
    plain(b"caf\xc3"),
    plain("\u{202e}gnp.exe".as_bytes()),
    plain(b"\r3 1"),
    plain(b"\x7f\x01\t\x0b"),
    plain(b"-1 5"),
    plain(b"\\x0a3 1"),
    plain(b"fifteen bytes !"),
    forging(b"\n9 1 -2 3 4", &[Forged::Eviction]),
    forging(b"abc\n9 1 -2 3 4", &[Forged::Eviction]),
    forging(b"\n9 1 -2 3 4\n\xff", &[Forged::Eviction, Forged::Nothing]),
    forging(b"\na 1 -2 3", &[Forged::Restore]),
    forging(b"x\n3 f00d", &[Forged::PreReset]),
    forging(b"\n3 f00d\n4 f00d", &[Forged::PreReset, Forged::PostReset]),
    forging(b"\n4 f00d", &[Forged::PostReset]),
    forging(b"\n8 1 -2 @3(4) M", &[Forged::FaultEnd]),
    forging(b"\n6 1 -2 @3(4)", &[Forged::Nothing]),
    forging(b"hot\n2 40:5", &[Forged::Throttle]),
    forging(b"\n1 5:b\n3 f00d", &[Forged::Fault(b"b"), Forged::PreReset]),
    forging(b"a\n1 5:\nhello", &[Forged::Fault(b""), Forged::Nothing]),
    forging(b"\nd 5 a\nf x", &[Forged::ProcessEnd(b"a"), Forged::Unknown]),
    forging(b"fourteen bytes\n", &[Forged::Nothing]),
    forging(b"\n\x1b[2J\n", &[Forged::Nothing, Forged::Nothing]),
    forging(b"\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n", &[Forged::Nothing; 15]),
];

#[cfg(test)]
mod tests {
    use super::*;
    use kfd_smi_proto::parse_line;

    #[test]
    fn names_are_as_long_as_the_kernel_lets_them_be() {
        for name in ORDINARY.iter().chain(HOSTILE) {
            assert!(name.bytes.len() <= 15 && !name.bytes.contains(&0), "{}", name.bytes.escape_ascii());
            let newlines = name.bytes.iter().filter(|byte| **byte == b'\n').count();
            assert_eq!(name.forged.len(), newlines, "{}", name.bytes.escape_ascii());
        }
        assert!(ORDINARY.iter().all(|name| name.forged.is_empty()));
        assert!(HOSTILE.iter().any(|name| name.bytes.len() == 15 && name.forged().count() == 1));
    }

    /// What was meant is what is there.
    #[test]
    fn a_forged_line_is_what_its_name_was_made_for() {
        for name in HOSTILE {
            for (line, event) in name.forged() {
                assert_eq!(parse_line(line).event.ok(), event, "{}", line.escape_ascii());
            }
        }
    }
}
