//! The seccomp calls: installing the filter, receiving stopped calls, answering them.
#![allow(unsafe_code, reason = "seccomp has no safe interface")]

use std::io;
use std::mem;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd};
use std::os::raw::{c_int, c_long, c_ulong};

use rustix::io::Errno;

use super::filter;

/// Receives the stopped calls of the thread that installed the filter, and of all its descendants.
#[derive(Debug)]
pub(super) struct Listener(OwnedFd);

/// What becomes of a stopped call.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// The real kernel does it.
    Continue,
    /// It returns this.
    Value(i64),
    /// It fails.
    Error(Errno),
    /// It has returned already, with the file descriptor that was put into the caller.
    Sent,
}

/// A stopped call.
#[derive(Clone, Copy, Debug)]
pub(super) struct Notification {
    pub(super) id: u64,
    pub(super) tid: u32,
    pub(super) nr: c_long,
    pub(super) args: [u64; 6],
}

impl Listener {
    /// Puts this thread, and what it starts from now on, under the filter.
    ///
    /// # Errors
    ///
    /// `Unsupported`, with words, if the system does not let it.
    pub(super) fn install() -> io::Result<Self> {
        let refused = |what: &str, error: &dyn std::fmt::Display| {
            io::Error::new(io::ErrorKind::Unsupported, format!("{what}: {error}"))
        };
        let Some(mut program) = filter::program() else {
            return Err(refused("no filter for this processor", &std::env::consts::ARCH));
        };
        // What an ordinary user must have before a filter.
        rustix::thread::set_no_new_privs(true).map_err(|error| refused("no_new_privs", &error))?;
        let program = libc::sock_fprog {
            len: u16::try_from(program.len()).expect("the program is short"),
            filter: program.as_mut_ptr(),
        };
        // Without the second, a signal could cancel a call whose file descriptor is already there.
        let flags: c_ulong =
            libc::SECCOMP_FILTER_FLAG_NEW_LISTENER | libc::SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;
        // SAFETY: the program is alive and as long as it says; the kernel copies it.
        let fd = unsafe {
            libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, flags, &raw const program)
        };
        match c_int::try_from(fd) {
            // SAFETY: the call returned a new file descriptor, with CLOEXEC.
            Ok(fd) if fd >= 0 => Ok(Self(unsafe { OwnedFd::from_raw_fd(fd) })),
            _ => Err(refused("seccomp user notification", &io::Error::last_os_error())),
        }
    }

    /// The next stopped call; `None` if the one that was announced is gone, with its thread or by a signal.
    pub(super) fn receive(&self) -> io::Result<Option<Notification>> {
        // SAFETY: the structure is numbers only. The kernel wants it zeroed.
        let mut notif: libc::seccomp_notif = unsafe { mem::zeroed() };
        match self.ioctl(libc::SECCOMP_IOCTL_NOTIF_RECV, &mut notif) {
            Ok(_) => Ok(Some(Notification {
                id: notif.id,
                tid: notif.pid,
                nr: notif.data.nr.into(),
                args: notif.data.args,
            })),
            Err(error) if matches!(error.raw_os_error(), Some(libc::ENOENT | libc::EINTR)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Answers. That the caller has died in the meantime is no error.
    pub(super) fn answer(&self, id: u64, answer: &Answer) -> io::Result<()> {
        let mut response = libc::seccomp_notif_resp { id, val: 0, error: 0, flags: 0 };
        match answer {
            Answer::Continue => {
                response.flags =
                    u32::try_from(libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE).expect("the flag is a low bit");
            }
            Answer::Value(value) => response.val = *value,
            Answer::Error(errno) => response.error = -errno.raw_os_error(),
            Answer::Sent => return Ok(()),
        }
        match self.ioctl(libc::SECCOMP_IOCTL_NOTIF_SEND, &mut response) {
            Err(error) if error.raw_os_error() != Some(libc::ENOENT) => Err(error),
            _ => Ok(()),
        }
    }

    /// Whether the call still waits, so that its thread is still the one it was.
    pub(super) fn is_waiting(&self, id: u64) -> bool {
        self.ioctl(libc::SECCOMP_IOCTL_NOTIF_ID_VALID, &mut { id }).is_ok()
    }

    /// Puts a copy of a file descriptor into the caller, at this number or at the lowest free one, and returns the
    /// number. With `send`, that also is what the call returns.
    pub(super) fn inject(
        &self,
        id: u64,
        fd: BorrowedFd<'_>,
        at: Option<u32>,
        close_on_exec: bool,
        send: bool,
    ) -> io::Result<u32> {
        let mut flags = 0;
        if at.is_some() {
            flags |= libc::SECCOMP_ADDFD_FLAG_SETFD;
        }
        if send {
            flags |= libc::SECCOMP_ADDFD_FLAG_SEND;
        }
        let mut addfd = libc::seccomp_notif_addfd {
            id,
            flags: u32::try_from(flags).expect("the flags are low bits"),
            srcfd: fd.as_raw_fd().cast_unsigned(),
            newfd: at.unwrap_or(0),
            newfd_flags: if close_on_exec { libc::O_CLOEXEC.cast_unsigned() } else { 0 },
        };
        let number = self.ioctl(libc::SECCOMP_IOCTL_NOTIF_ADDFD, &mut addfd)?;
        Ok(number.cast_unsigned())
    }

    fn ioctl<T>(&self, request: libc::Ioctl, argument: &mut T) -> io::Result<c_int> {
        // SAFETY: each request is made with the structure that belongs to it, which is alive.
        match unsafe { libc::ioctl(self.0.as_raw_fd(), request, &raw mut *argument) } {
            -1 => Err(io::Error::last_os_error()),
            value => Ok(value),
        }
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
