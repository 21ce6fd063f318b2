//! What a capture says of processes, for those alone that records name: [`Processes`].

use std::collections::{HashMap, HashSet};

use kfd_smi_io::capture::ProcessInfo;
use kfd_smi_proto::Pid;

/// How many pids are remembered, of those that were named and of those that wait.
const MOST: usize = 1 << 16;

/// How many bytes of text wait at the most.
const MOST_BYTES: usize = 16 << 20;

/// Holds back what is known of a process until a record that was chosen names it: most processes of a day are
/// none of what is chosen of it.
#[derive(Debug, Default)]
pub(crate) struct Processes {
    named: HashSet<Pid>,
    waiting: HashMap<Pid, ProcessInfo>,
    /// How many bytes of text wait.
    bytes: usize,
}

impl Processes {
    /// A chosen record names a process: gives what waited for that.
    pub(crate) fn name(&mut self, pid: Pid) -> Option<ProcessInfo> {
        if self.named.len() < MOST {
            self.named.insert(pid);
        }
        let process = self.waiting.remove(&pid)?;
        self.bytes -= size(&process);
        Some(process)
    }

    /// Whether a chosen record named this process; if none did, what is known of it waits.
    pub(crate) fn is_named(&mut self, process: &ProcessInfo) -> bool {
        if self.named.contains(&process.pid) {
            return true;
        }
        let bytes = self.bytes + size(process);
        if self.waiting.len() < MOST && bytes <= MOST_BYTES {
            let old = self.waiting.insert(process.pid, process.clone());
            self.bytes = bytes - old.as_ref().map_or(0, size);
        }
        false
    }
}

fn size(process: &ProcessInfo) -> usize {
    process.comm.as_bytes().len() + process.cgroup.as_bytes().len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(pid: i32, cgroup: usize) -> ProcessInfo {
        ProcessInfo { pid: Pid(pid), comm: "a".into(), cgroup: vec![b'x'; cgroup].into() }
    }

    #[test]
    fn a_process_waits_until_it_is_named() {
        let mut processes = Processes::default();
        assert!(!processes.is_named(&process(1, 1)));
        assert!(!processes.is_named(&process(1, 2)));
        assert_eq!(processes.name(Pid(2)), None);
        assert_eq!(processes.name(Pid(1)), Some(process(1, 2)));
        assert_eq!(processes.name(Pid(1)), None);
        assert!(processes.is_named(&process(1, 3)));
        assert_eq!(processes.bytes, 0);
    }

    #[test]
    fn what_waits_is_bounded() {
        let mut processes = Processes::default();
        for pid in 0..2000 {
            processes.is_named(&process(pid, 60_000));
        }
        assert!(processes.bytes <= MOST_BYTES && processes.waiting.len() < 300);
        for pid in 0..2 * MOST as i32 {
            processes.is_named(&process(pid, 0));
            processes.name(Pid(-pid));
        }
        assert!(processes.waiting.len() <= MOST && processes.named.len() <= MOST);
    }
}
