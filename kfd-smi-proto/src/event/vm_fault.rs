//! VMFAULT, id 1: `"%x:%s\n"`, since Linux 5.8.

use core::fmt;

use nom::Parser as _;

use crate::encode::Encoder;
use crate::field::Pid;
use crate::grammar::{Parsed, colon, hex_pid, text};
use crate::text::TaskName;

/// A GPU virtual memory fault that is not retried; as a rule it ends the program.
///
/// The kernel's format, behind the id, is `"%x:%s\n"`: `1 2559e:my app`.
///
/// | field | printed as | meaning |
/// |---|---|---|
/// | `pid` | `%x` | the *thread* that last set up the address space, as the init pid namespace sees it |
/// | `task_name` | `%s` | that thread's name, raw: see [`Trust`](crate::Trust) |
///
/// The line has no time, no address and no GPU: the file descriptor it came from belongs to one GPU. It is not
/// sent by RDNA1 and RDNA2. Kernels with the fix of CVE-2026-97422 send it to the process it concerns and
/// to privileged clients only.
///
/// ```
/// use kfd_smi_proto::{Event, Pid, parse_line};
///
/// let Ok(Event::VmFault(fault)) = parse_line(b"1 2559e:my app:1\n").event else { panic!() };
/// assert_eq!(fault.pid, Pid(152990));
/// assert_eq!(fault.task_name.as_bytes(), b"my app:1");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[doc(alias = "KFD_SMI_EVENT_VMFAULT")]
pub struct VmFault<'a> {
    /// The thread that last set up the address space on the GPU.
    pub pid: Pid,
    /// The name of that thread.
    pub task_name: TaskName<'a>,
}

impl<'a> VmFault<'a> {
    pub(crate) fn parse(input: &'a [u8]) -> Parsed<'a, Self> {
        let (input, (pid, _, name)) = (hex_pid, colon, text).parse(input)?;
        Ok((input, Self { pid, task_name: TaskName::of_line(name) }))
    }

    pub(crate) fn encode(&self, out: &mut Encoder<'_, 'a>) {
        out.hex(self.pid.as_unsigned()).literal(b":").text(self.task_name.as_bytes());
    }
}

/// `pid 152990 "my app:1"`
impl fmt::Display for VmFault<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "pid {} \"{}\"", self.pid.as_unsigned(), self.task_name)
    }
}

#[cfg(test)]
mod tests {
    use crate::event::tests::{error_offset, shown, written};

    #[test]
    fn the_name_begins_at_the_first_colon() {
        assert_eq!(shown(b"1 2559e:my app:1"), "vmfault pid 152990 \"my app:1\"");
        assert_eq!(shown(b"1 2559e:"), "vmfault pid 152990 \"\"");
        assert_eq!(shown(b"1 0:\x1b[31m\0"), r#"vmfault pid 0 "\x1b[31m\x00""#);
        assert_eq!(shown(b"1 ffffffff:x\r"), r#"vmfault pid 4294967295 "x\x0d""#);
        assert_eq!(written(b"1 2559e:my app:1"), b"1 2559e:my app:1\n");
        assert_eq!(written(b"1 0002559e:"), b"1 2559e:\n");
    }

    #[test]
    fn a_line_without_colon_is_no_fault() {
        assert_eq!(error_offset(b"1 2559e"), 7);
        assert_eq!(error_offset(b"1 2559e x"), 7);
        assert_eq!(error_offset(b"1 :x"), 2);
        assert_eq!(error_offset(b"1 123456789:x"), 2);
    }
}
