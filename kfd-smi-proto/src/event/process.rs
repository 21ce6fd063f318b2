//! PROCESS_START, id 12, and PROCESS_END, id 13: `"%x %s\n"`, since Linux 6.16.

use core::fmt;

use nom::Parser as _;

use crate::encode::Encoder;
use crate::field::Pid;
use crate::grammar::{Parsed, hex_pid, space, text};
use crate::text::TaskName;

/// A process began to use a GPU, or gave it up.
///
/// The kernel's format, behind the id, is `"%x %s\n"`: `c 2559e python3`.
///
/// | field | printed as | meaning |
/// |---|---|---|
/// | `pid` | `%x` | the *thread* that last set up the address space, as the init pid namespace sees it |
/// | `task_name` | `%s` | that thread's name, raw: see [`Trust`](crate::Trust) |
///
/// The line has no time and no GPU. Every GPU that the process uses reports it; the end can come long after the
/// process is gone.
///
/// ```
/// use kfd_smi_proto::{Event, parse_line};
///
/// let Ok(Event::ProcessStart(process)) = parse_line(b"c 2559e python3\n").event else { panic!() };
/// assert_eq!(process.task_name.as_bytes(), b"python3");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[doc(alias = "KFD_SMI_EVENT_PROCESS_START")]
#[doc(alias = "KFD_SMI_EVENT_PROCESS_END")]
pub struct Process<'a> {
    /// The thread that last set up the address space on the GPU.
    pub pid: Pid,
    /// The name of that thread.
    pub task_name: TaskName<'a>,
}

impl<'a> Process<'a> {
    pub(crate) fn parse(input: &'a [u8]) -> Parsed<'a, Self> {
        let (input, (pid, _, name)) = (hex_pid, space, text).parse(input)?;
        Ok((input, Self { pid, task_name: TaskName::of_line(name) }))
    }

    pub(crate) fn encode(&self, out: &mut Encoder<'_, 'a>) {
        out.hex(self.pid.as_unsigned()).literal(b" ").text(self.task_name.as_bytes());
    }
}

/// `pid 152990 "python3"`
impl fmt::Display for Process<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "pid {} \"{}\"", self.pid.as_unsigned(), self.task_name)
    }
}

#[cfg(test)]
mod tests {
    use crate::event::tests::{error_offset, shown, written};

    #[test]
    fn the_name_begins_at_the_first_blank() {
        assert_eq!(shown(b"c 2559e python3"), "process_start pid 152990 \"python3\"");
        assert_eq!(shown(b"d 2559e  a b "), "process_end pid 152990 \" a b \"");
        assert_eq!(written(b"d 2559e "), b"d 2559e \n");
    }

    #[test]
    fn a_name_never_makes_it_another_event() {
        assert_eq!(shown(b"c 2559e -1 5"), "process_start pid 152990 \"-1 5\"");
        assert_eq!(shown(b"c 12345678 -1 5"), "process_start pid 305419896 \"-1 5\"");
    }

    #[test]
    fn a_line_without_blank_is_no_process() {
        assert_eq!(error_offset(b"c 2559e"), 7);
        assert_eq!(error_offset(b"d 2559e:x"), 7);
        assert_eq!(error_offset(b"d 123456789 x"), 2);
    }
}
