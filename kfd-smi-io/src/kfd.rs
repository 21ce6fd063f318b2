//! The device of the driver: [`Kfd`].

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use kfd_smi_proto::{GpuId, KfdVersion};
use rustix::fs::{Mode, OFlags, open};
use rustix::io::{Errno, retry_on_intr};

use crate::client::SmiClient;
use crate::error::{Error, Operation};
use crate::ioctl;

/// `/dev/kfd`, opened.
///
/// Whoever opens it is a KFD process until it *exits*, whether it closes the file or not: it receives queue evictions
/// of itself, and a change of the partitioning of a GPU is refused (`EBUSY`) while it runs. Get the file
/// descriptors of all GPUs, then drop this: those go on without it.
///
/// ```no_run
/// use kfd_smi_io::{EventMask, GpuId, Kfd};
///
/// # fn main() -> Result<(), kfd_smi_io::Error> {
/// let kfd = Kfd::open()?;
/// println!("KFD version {}", kfd.version()?);
/// let client = kfd.smi_events(GpuId(0x1ea0))?;
/// drop(kfd);
/// client.set_mask(EventMask::KNOWN | EventMask::ALL_PROCESSES)?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Kfd {
    fd: OwnedFd,
    path: PathBuf,
}

impl Kfd {
    /// Where the device is.
    pub const PATH: &'static str = "/dev/kfd";

    /// Opens `/dev/kfd`, for reading, which is enough. No program started from here on inherits it.
    ///
    /// # Errors
    ///
    /// See [`Error::hint`]: the driver is not loaded, this user may not, there is no GPU, a reset is in progress.
    pub fn open() -> Result<Self, Error> {
        Self::open_at(Path::new(Self::PATH))
    }

    /// Opens the device elsewhere.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open).
    pub fn open_at(path: &Path) -> Result<Self, Error> {
        let opened = retry_on_intr(|| open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()));
        match opened {
            Ok(fd) => Ok(Self { fd, path: path.to_owned() }),
            Err(errno) => Err(Error::new(Operation::OpenKfd, path, errno)),
        }
    }

    /// The version of the driver's interface.
    ///
    /// # Errors
    ///
    /// The file is no KFD device.
    pub fn version(&self) -> Result<KfdVersion, Error> {
        ioctl::get_version(&self.fd).map_err(|errno| self.error(Operation::GetVersion, errno))
    }

    /// A file descriptor for the events of a GPU, given by its `gpu_id` in the [topology](crate::topology).
    ///
    /// Its mask is empty: nothing comes until [`SmiClient::set_mask`].
    ///
    /// # Errors
    ///
    /// There is no such GPU, or it is hidden; too many files are open; the kernel is too old.
    pub fn smi_events(&self, gpu: GpuId) -> Result<SmiClient, Error> {
        match ioctl::smi_events(&self.fd, gpu) {
            Ok(fd) => Ok(SmiClient::from_fd(gpu, fd)),
            Err(errno) => Err(self.error(Operation::SmiEvents(gpu), errno)),
        }
    }

    fn error(&self, operation: Operation, errno: Errno) -> Error {
        Error::new(operation, &self.path, errno)
    }
}

impl AsFd for Kfd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}
