//! Answers the stopped calls: [`Call`].

use std::fs;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::os::raw::c_long;
use std::sync::{Mutex, PoisonError};

use kfd_smi_proto::{EventMask, GpuId};
use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;

use super::doorbell::Doorbell;
use super::driver::{Known, errno};
use super::filter::{FIRST_FD, KFD_IOCTL};
use super::memory;
use super::notify::{Answer, Listener, Notification};
use super::paths;
use super::process::{self, Caller};
use super::server::Shared;

/// A stopped call, with all that is needed to answer it.
#[derive(Debug)]
pub(super) struct Call<'a> {
    pub(super) notification: Notification,
    pub(super) listener: &'a Listener,
    pub(super) listener_id: u64,
    pub(super) shared: &'a Shared,
}

/// The ioctls that the kernel does for every file, so that no driver sees them.
const COMMON_IOCTLS: [libc::Ioctl; 4] = [libc::FIOCLEX, libc::FIONCLEX, libc::FIONBIO, libc::FIOASYNC];

impl Call<'_> {
    /// What is to become of it.
    pub(super) fn answer(&self) -> Answer {
        let nr = self.notification.nr;
        let answer = match paths::shape(nr) {
            Some(shape) => paths::answer(self, shape),
            None => self.on_fd(nr),
        };
        answer.unwrap_or_else(Answer::Error)
    }

    pub(super) const fn tid(&self) -> u32 {
        self.notification.tid
    }

    /// An argument that is no more than an `int`: the kernel ignores the rest of it.
    pub(super) const fn number(&self, index: usize) -> u32 {
        self.notification.args[index] as u32
    }

    pub(super) fn caller(&self) -> Result<Caller, Errno> {
        process::caller(self.tid()).map_err(errno)
    }

    /// The path that an argument points to.
    pub(super) fn read_path(&self, index: usize) -> Result<Vec<u8>, Errno> {
        let path = memory::read_path(self.tid(), self.notification.args[index]);
        path.map_err(|error| self.memory_error(error))
    }

    /// Reads what an argument points to.
    pub(super) fn read(&self, index: usize, buffer: &mut [u8]) -> Result<(), Errno> {
        let read = memory::read(self.tid(), self.notification.args[index], buffer);
        read.map_err(|error| self.memory_error(error))
    }

    /// Writes to where an argument points.
    pub(super) fn write(&self, index: usize, bytes: &[u8]) -> Result<(), Errno> {
        if !self.listener.is_waiting(self.notification.id) {
            // It died, and its number may be another's.
            return Err(Errno::SRCH);
        }
        let written = memory::write(self.tid(), self.notification.args[index], bytes);
        written.map_err(|error| self.memory_error(error))
    }

    /// The caller sees an address fault; whatever else went wrong is for the test to know.
    fn memory_error(&self, error: std::io::Error) -> Errno {
        match error.raw_os_error() {
            Some(libc::EFAULT | libc::ESRCH) => {}
            Some(libc::ENAMETOOLONG) => return Errno::NAMETOOLONG,
            _ => self.shared.fault(format!("the memory of the caller: {error}")),
        }
        Errno::FAULT
    }

    /// Puts a file descriptor into the caller at the lowest free number, which the call then has returned.
    pub(super) fn return_fd(&self, fd: BorrowedFd<'_>, close_on_exec: bool) -> Result<Answer, Errno> {
        let sent = self.listener.inject(self.notification.id, fd, None, close_on_exec, true);
        sent.map(|_| Answer::Sent).map_err(errno)
    }

    /// Puts a file descriptor into the caller where calls on it are stopped; with `send`, the call has then
    /// returned it.
    pub(super) fn inject(&self, fd: BorrowedFd<'_>, close_on_exec: bool, send: bool) -> Result<u32, Errno> {
        /// Threads of one process can be on several kernels, which must not choose the same number.
        static CHOICE: Mutex<()> = Mutex::new(());
        let _choosing = CHOICE.lock().unwrap_or_else(PoisonError::into_inner);
        let is_free = |fd: &u32| fs::symlink_metadata(process::fd_path(self.tid(), *fd)).is_err();
        let number = (FIRST_FD..).find(is_free);
        let number = self.listener.inject(self.notification.id, fd, number, close_on_exec, send);
        match number.map_err(errno) {
            // That is how a number above the limit is refused, where the driver would run out of numbers.
            Err(Errno::BADF) => Err(Errno::MFILE),
            number => number,
        }
    }

    fn on_fd(&self, nr: c_long) -> Result<Answer, Errno> {
        let fd = self.number(0);
        let Some(key) = process::key(self.tid(), fd) else { return Ok(Answer::Continue) };
        if key == self.shared.unreadable_key() {
            return match nr {
                libc::SYS_read | libc::SYS_readv | libc::SYS_pread64 => Err(Errno::PERM),
                _ => Ok(Answer::Continue),
            };
        }
        let known = self.shared.driver().known(key);
        match known {
            Some(Known::Kfd(kfd)) if nr == libc::SYS_ioctl => self.kfd_ioctl(kfd),
            Some(Known::Client(client, _)) => self.on_client(nr, client),
            _ => Ok(Answer::Continue),
        }
    }

    fn on_client(&self, nr: c_long, client: u64) -> Result<Answer, Errno> {
        match nr {
            libc::SYS_read => self.read_events(client),
            libc::SYS_write => self.write_mask(client),
            libc::SYS_ioctl if COMMON_IOCTLS.contains(&self.request().into()) => Ok(Answer::Continue),
            libc::SYS_ioctl => Err(Errno::NOTTY),
            libc::SYS_dup => self.duplicate(false),
            libc::SYS_fcntl => match self.number(1).cast_signed() {
                libc::F_DUPFD => self.duplicate(false),
                libc::F_DUPFD_CLOEXEC => self.duplicate(true),
                _ => Ok(Answer::Continue),
            },
            libc::SYS_pread64 => Err(Errno::SPIPE),
            // Neither modelled nor let through to the pipe: this is easily seen.
            _ => Err(Errno::NOSYS),
        }
    }

    fn read_events(&self, client: u64) -> Result<Answer, Errno> {
        let asked = usize::try_from(self.notification.args[2]).unwrap_or(usize::MAX);
        let mut driver = self.shared.driver();
        let (bytes, empty) = driver.read(client, asked)?;
        if empty {
            Doorbell::silence(self.tid(), self.number(0));
        }
        // As in the driver, bytes that cannot be written to the caller are lost.
        self.write(1, &bytes)?;
        Ok(Answer::Value(bytes.len() as i64))
    }

    fn write_mask(&self, client: u64) -> Result<Answer, Errno> {
        let mut mask = [0; 8];
        if self.notification.args[2] < mask.len() as u64 {
            return Err(Errno::FAULT);
        }
        self.read(1, &mut mask)?;
        self.shared.driver().set_mask(client, EventMask::from_bits(u64::from_ne_bytes(mask)))?;
        Ok(Answer::Value(mask.len() as i64))
    }

    /// A second file descriptor, where its reads are stopped as well: not the lowest free number.
    fn duplicate(&self, close_on_exec: bool) -> Result<Answer, Errno> {
        let pipe = process::fd_path(self.tid(), self.number(0));
        let fd = open(pipe, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
        self.inject(fd.as_fd(), close_on_exec, true)?;
        Ok(Answer::Sent)
    }

    const fn request(&self) -> u32 {
        self.number(1)
    }

    /// As the driver does: the number alone says which it is, the size how much is copied.
    fn kfd_ioctl(&self, kfd: u64) -> Result<Answer, Errno> {
        const GET_VERSION: u8 = 0x01;
        const SMI_EVENTS: u8 = 0x1f;
        let [nr, letter, size, size_and_direction] = self.request().to_le_bytes();
        if letter != KFD_IOCTL {
            return Err(Errno::NOTTY);
        }
        let size = usize::from(u16::from_le_bytes([size, size_and_direction & 0x3f])).min(8);
        let owner = self.caller()?;
        if !self.shared.driver().is_opener(kfd, owner.tgid) {
            return Err(Errno::BADF);
        }
        match nr {
            GET_VERSION => {
                let version = self.shared.driver().version()?;
                let answer = [version.major.to_ne_bytes(), version.minor.to_ne_bytes()].concat();
                self.write(2, &answer[..size])?;
            }
            SMI_EVENTS => {
                let mut args = [0; 8];
                self.read(2, &mut args[..size])?;
                let [a, b, c, d, ..] = args;
                let fd = self.make_client(GpuId(u32::from_ne_bytes([a, b, c, d])), owner)?;
                args[4..].copy_from_slice(&fd.to_ne_bytes());
                self.write(2, &args[..size])?;
            }
            _ => return Err(Errno::NOTTY),
        }
        Ok(Answer::Value(0))
    }

    /// The number of a new file descriptor, which is inherited by what the caller starts, as the driver's is.
    fn make_client(&self, gpu: GpuId, owner: Caller) -> Result<u32, Errno> {
        let mut driver = self.shared.driver();
        let (id, fd) = driver.smi_events(gpu, owner)?;
        self.shared.watch(id, &driver)?;
        let injected = self.inject(fd.as_fd(), false, false);
        if injected.is_err() {
            driver.released(id);
        }
        injected
    }
}
