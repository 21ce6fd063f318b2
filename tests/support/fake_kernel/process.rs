//! What `/proc` says about a caller and its file descriptors.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;

/// What tells one open pipe or file from another, whatever number it has in whatever process.
pub(super) type Key = (u64, u64);

const CAP_SYS_ADMIN: u32 = 21;

/// Who calls.
#[derive(Clone, Copy, Debug)]
pub(super) struct Caller {
    /// The process of the thread.
    pub(super) tgid: u32,
    /// Whether it has `CAP_SYS_ADMIN`.
    pub(super) admin: bool,
}

/// The process of a thread.
pub(super) fn caller(tid: u32) -> io::Result<Caller> {
    let status = fs::read_to_string(format!("/proc/{tid}/status"))?;
    let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).map_or("", str::trim);
    let malformed = |_| io::Error::other(format!("/proc/{tid}/status: {status:?}"));
    let tgid = field("Tgid:").parse().map_err(malformed)?;
    let effective = u64::from_str_radix(field("CapEff:"), 16).map_err(malformed)?;
    Ok(Caller { tgid, admin: effective >> CAP_SYS_ADMIN & 1 == 1 })
}

/// Where a file descriptor of a thread stands.
pub(super) fn fd_path(tid: u32, fd: u32) -> PathBuf {
    format!("/proc/{tid}/fd/{fd}").into()
}

/// What the file descriptor is open on; `None` if it is not open.
pub(super) fn key(tid: u32, fd: u32) -> Option<Key> {
    fs::metadata(fd_path(tid, fd)).ok().map(|metadata| (metadata.dev(), metadata.ino()))
}

/// The numbers of the file descriptors of a process.
pub(super) fn fds(pid: u32) -> io::Result<Vec<u32>> {
    let mut fds = vec![];
    for entry in fs::read_dir(format!("/proc/{pid}/fd"))? {
        fds.extend(entry?.file_name().to_str().and_then(|name| name.parse::<u32>().ok()));
    }
    fds.sort_unstable();
    Ok(fds)
}

/// Whether a program that the process starts does not inherit the file descriptor.
pub(super) fn closes_on_exec(pid: u32, fd: u32) -> io::Result<bool> {
    let info = fs::read_to_string(format!("/proc/{pid}/fdinfo/{fd}"))?;
    let flags = info.lines().find_map(|line| line.strip_prefix("flags:")).map_or("", str::trim);
    let flags = u32::from_str_radix(flags, 8).map_err(io::Error::other)?;
    Ok(flags & libc::O_CLOEXEC.cast_unsigned() != 0)
}
