//! What is known of this machine and its processes, for those who were not there.

use std::fs;

use kfd_smi_io::capture::{Header, ProcessInfo, Text};
use kfd_smi_io::{EventMask, KfdVersion};
use kfd_smi_proto::{PageSize, Pid};

/// The header of a capture that is made here and now.
pub(crate) fn header(version: KfdVersion, mask: EventMask, is_privileged: bool) -> Header {
    let system = rustix::system::uname();
    let mut header = Header::default();
    header.program = Some(concat!("kfd-smi/", env!("CARGO_PKG_VERSION")).into());
    header.machine = Some(system.machine().to_bytes().into());
    header.release = Some(system.release().to_bytes().into());
    header.kfd_version = Some(version);
    header.page_size = Some(page_size());
    header.boot_id = first_line("/proc/sys/kernel/random/boot_id");
    header.host = Some(system.nodename().to_bytes().into());
    header.recorder = i32::try_from(std::process::id()).ok().map(Pid);
    header.mask = Some(mask);
    header.privileged = Some(is_privileged);
    header
}

/// The page size of this machine.
pub(crate) fn page_size() -> PageSize {
    PageSize::new(rustix::param::page_size() as u64).unwrap_or(PageSize::FOUR_KIB)
}

/// What `/proc` says now of a process that an event named; empty where it says nothing.
pub(crate) fn process(pid: Pid) -> ProcessInfo {
    let comm = first_line(&format!("/proc/{pid}/comm")).unwrap_or_default();
    // The unified hierarchy has the number 0 and no controllers; where there is none, the first is as good.
    let cgroups = fs::read(format!("/proc/{pid}/cgroup")).unwrap_or_default();
    let mut lines = cgroups.split(|byte| *byte == b'\n');
    let line =
        lines.clone().find(|line| line.starts_with(b"0::")).or_else(|| lines.next()).unwrap_or_default();
    let cgroup = line.splitn(3, |byte| *byte == b':').nth(2).unwrap_or_default();
    ProcessInfo { pid, comm, cgroup: cgroup.into() }
}

fn first_line(path: &str) -> Option<Text> {
    let bytes = fs::read(path).ok()?;
    // A name can hold a newline: only the last one is not part of it.
    Some(bytes.strip_suffix(b"\n").unwrap_or(&bytes).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_and_this_process_are_known() {
        let header = header(KfdVersion { major: 1, minor: 17 }, EventMask::EVERY, true);
        assert!(header.release.is_some_and(|release| !release.as_bytes().is_empty()));
        assert!(header.boot_id.is_some_and(|id| id.as_bytes().len() == 36));
        let own = process(Pid(std::process::id().cast_signed()));
        assert!(!own.comm.as_bytes().is_empty() && own.cgroup.as_bytes().starts_with(b"/"), "{own:?}");
        let nobody = process(Pid(0));
        assert!(nobody.comm.as_bytes().is_empty() && nobody.cgroup.as_bytes().is_empty());
    }
}
