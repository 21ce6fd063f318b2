//! The calls with a path: `/dev/kfd` and the driver's files below `/sys` are the fake ones, the rest is real.

use std::ffi::{CString, OsString};
use std::fs;
use std::os::fd::AsFd as _;
use std::os::raw::c_long;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;

use super::calls::Call;
use super::driver::{Known, errno};
use super::forward::forward;
use super::notify::{Answer, Notification};
use super::process;

/// What a call does with its path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Opens it, with the flags in this argument.
    Open(usize),
    /// Opens it, with the flags in the structure that this argument points to.
    Open2(usize),
    /// Fills the structure that this argument points to, of this size.
    Stat(usize, usize),
    /// Asks whether it may be used.
    Access,
    /// Reads the link into the buffer that this argument points to; the next is its size.
    Link(usize),
}

/// Where a call has its arguments.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    nr: c_long,
    /// The argument with the folder that the path begins in, if there is one.
    folder: Option<usize>,
    /// The argument with the path.
    pub(super) path: usize,
    kind: Kind,
}

const STAT: usize = size_of::<libc::stat>();
const STATX: usize = size_of::<libc::statx>();

/// The calls as they were before there were folders in them: some libraries still make them.
#[cfg(target_arch = "x86_64")]
const OLD: &[Shape] = &[
    Shape { nr: libc::SYS_open, folder: None, path: 0, kind: Kind::Open(1) },
    Shape { nr: libc::SYS_stat, folder: None, path: 0, kind: Kind::Stat(1, STAT) },
    Shape { nr: libc::SYS_lstat, folder: None, path: 0, kind: Kind::Stat(1, STAT) },
    Shape { nr: libc::SYS_access, folder: None, path: 0, kind: Kind::Access },
    Shape { nr: libc::SYS_readlink, folder: None, path: 0, kind: Kind::Link(1) },
];
#[cfg(not(target_arch = "x86_64"))]
const OLD: &[Shape] = &[];

const NEW: &[Shape] = &[
    Shape { nr: libc::SYS_openat, folder: Some(0), path: 1, kind: Kind::Open(2) },
    Shape { nr: libc::SYS_openat2, folder: Some(0), path: 1, kind: Kind::Open2(2) },
    #[cfg(target_pointer_width = "64")]
    Shape { nr: libc::SYS_newfstatat, folder: Some(0), path: 1, kind: Kind::Stat(2, STAT) },
    Shape { nr: libc::SYS_statx, folder: Some(0), path: 1, kind: Kind::Stat(4, STATX) },
    Shape { nr: libc::SYS_faccessat, folder: Some(0), path: 1, kind: Kind::Access },
    Shape { nr: libc::SYS_faccessat2, folder: Some(0), path: 1, kind: Kind::Access },
    Shape { nr: libc::SYS_readlinkat, folder: Some(0), path: 1, kind: Kind::Link(2) },
];

/// The numbers of the calls with a path.
pub(super) fn calls() -> impl Iterator<Item = c_long> {
    OLD.iter().chain(NEW).map(|shape| shape.nr)
}

/// The shape of this call, if it has a path.
pub(super) fn shape(nr: c_long) -> Option<&'static Shape> {
    OLD.iter().chain(NEW).find(|shape| shape.nr == nr)
}

impl Shape {
    /// The argument that points to what the call fills, and the size of that.
    pub(super) fn output(&self, call: &Notification) -> Option<(usize, usize)> {
        match self.kind {
            Kind::Stat(index, size) => Some((index, size)),
            // No link is longer than a path.
            Kind::Link(index) => {
                Some((index, usize::try_from(call.args[index + 1]).map_or(4096, |n| n.min(4096))))
            }
            _ => None,
        }
    }
}

/// Answers a call of this shape.
pub(super) fn answer(call: &Call<'_>, shape: &Shape) -> Result<Answer, Errno> {
    let Some(path) = absolute(call, shape)? else { return Ok(Answer::Continue) };
    if path == Path::new("/dev/kfd") {
        return device(call, shape);
    }
    if let Some(link) = known_link(call, shape, &path) {
        return fill(call, shape, link.as_bytes());
    }
    let redirected = call.shared.driver().tree.redirect(&path);
    match redirected {
        Some(path) => file(call, shape, &path),
        None => Ok(Answer::Continue),
    }
}

/// The path from the root on, without links followed; `None` if the call is about a file that is open already.
fn absolute(call: &Call<'_>, shape: &Shape) -> Result<Option<PathBuf>, Errno> {
    let path = PathBuf::from(OsString::from_vec(call.read_path(shape.path)?));
    if path.as_os_str().is_empty() {
        return Ok(None);
    }
    let path = if path.is_absolute() {
        path
    } else {
        let tid = call.tid();
        let folder = match shape.folder.map(|folder| call.number(folder)) {
            None => format!("/proc/{tid}/cwd").into(),
            Some(fd) if fd.cast_signed() == libc::AT_FDCWD => format!("/proc/{tid}/cwd").into(),
            Some(fd) => process::fd_path(tid, fd),
        };
        // The real kernel knows what is wrong with it.
        let Ok(folder) = fs::read_link(folder) else { return Ok(None) };
        folder.join(path)
    };
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => _ = plain.pop(),
            component => plain.push(component),
        }
    }
    Ok(Some(plain))
}

/// `/dev/kfd`
fn device(call: &Call<'_>, shape: &Shape) -> Result<Answer, Errno> {
    match shape.kind {
        Kind::Open(_) | Kind::Open2(_) => {
            let owner = call.caller()?;
            let flags = open_flags(call, shape)?;
            let mut driver = call.shared.driver();
            let (id, fd) = driver.open(owner.tgid)?;
            call.shared.watch(id, &driver)?;
            let sent = call.return_fd(fd.as_fd(), flags.contains(OFlags::CLOEXEC));
            if sent.is_ok() {
                driver.tree.add_process(owner.tgid, call.listener_id).map_err(errno)?;
            } else {
                driver.released(id);
            }
            sent
        }
        Kind::Access => {
            // The mode is behind the path.
            let open = call.number(shape.path + 1) != libc::F_OK.cast_unsigned();
            call.shared.driver().access(open).map(|()| Answer::Value(0))
        }
        // Another character device, of which only the numbers differ.
        Kind::Stat(..) | Kind::Link(_) if call.shared.driver().has_device() => {
            forwarded(call, shape, Path::new("/dev/null"))
        }
        Kind::Stat(..) | Kind::Link(_) => Err(Errno::NOENT),
    }
}

/// A file of the tree.
fn file(call: &Call<'_>, shape: &Shape, path: &Path) -> Result<Answer, Errno> {
    if !matches!(shape.kind, Kind::Open(_) | Kind::Open2(_)) {
        return forwarded(call, shape, path);
    }
    let flags = open_flags(call, shape)?;
    if flags.intersects(OFlags::WRONLY | OFlags::RDWR) {
        return Err(Errno::ACCESS);
    }
    let close_on_exec = flags.contains(OFlags::CLOEXEC);
    let fd = open(path, flags | OFlags::CLOEXEC, Mode::empty())?;
    if call.shared.driver().tree.opened(path).map_err(errno)? {
        return call.return_fd(fd.as_fd(), close_on_exec);
    }
    // Where reads are stopped, to be refused.
    call.inject(call.shared.unreadable(), close_on_exec, true)?;
    Ok(Answer::Sent)
}

fn open_flags(call: &Call<'_>, shape: &Shape) -> Result<OFlags, Errno> {
    let flags = match shape.kind {
        Kind::Open2(index) => {
            // The flags are what `struct open_how` begins with, in 64 bits.
            let mut flags = [0; 8];
            call.read(index, &mut flags)?;
            u32::try_from(u64::from_ne_bytes(flags)).map_err(|_| Errno::INVAL)?
        }
        Kind::Open(index) => call.number(index),
        _ => 0,
    };
    Ok(OFlags::from_bits_retain(flags))
}

fn forwarded(call: &Call<'_>, shape: &Shape, path: &Path) -> Result<Answer, Errno> {
    let path = CString::new(path.as_os_str().as_bytes()).map_err(|_| Errno::INVAL)?;
    let (value, output) = forward(&call.notification, shape, &path)?;
    if let Some((index, _)) = shape.output(&call.notification) {
        // A link has so many bytes as the call returned, a structure all of them.
        let len = if matches!(shape.kind, Kind::Link(_)) {
            usize::try_from(value).unwrap_or(0)
        } else {
            output.len()
        };
        call.write(index, &output[..len])?;
    }
    Ok(Answer::Value(value))
}

/// What a link says that leads to a file descriptor of ours, of whatever process: a pipe is the wrong answer.
fn known_link(call: &Call<'_>, shape: &Shape, path: &Path) -> Option<&'static str> {
    let Kind::Link(_) = shape.kind else { return None };
    let below = path.strip_prefix("/proc").ok()?;
    let fd = below.file_name()?;
    if below.parent()?.file_name()? != "fd" {
        return None;
    }
    let pid = match below.components().next()?.as_os_str().to_str()? {
        "self" | "thread-self" => call.tid(),
        pid => pid.parse().ok()?,
    };
    let key = process::key(pid, fd.to_str()?.parse().ok()?)?;
    match call.shared.driver().known(key)? {
        Known::Kfd(_) => Some("/dev/kfd"),
        Known::Client(..) => Some("anon_inode:kfd_smi_ev"),
    }
}

/// Returns as much of the link as there is room for.
fn fill(call: &Call<'_>, shape: &Shape, link: &[u8]) -> Result<Answer, Errno> {
    let Some((index, size)) = shape.output(&call.notification) else { return Err(Errno::INVAL) };
    let link = &link[..link.len().min(size)];
    call.write(index, link)?;
    Ok(Answer::Value(link.len() as i64))
}
