//! What went wrong, with what, and what to do about it: [`Error`].

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use kfd_smi_proto::GpuId;
use rustix::io::Errno;

/// An operation on the driver or on sysfs that failed.
///
/// It says which operation, on which path, the error number, and what can be done.
///
/// ```
/// use std::path::Path;
/// use kfd_smi_io::Kfd;
///
/// let error = Kfd::open_at(Path::new("/nonexistent/kfd")).unwrap_err();
/// assert!(error.to_string().starts_with("cannot open /nonexistent/kfd: No such file or directory"));
/// assert!(error.hint().is_some());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    operation: Operation,
    path: PathBuf,
    errno: Errno,
}

/// What was tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Operation {
    /// Opening `/dev/kfd`.
    OpenKfd,
    /// Asking for the version of the driver.
    GetVersion,
    /// Asking for the events of a GPU.
    SmiEvents(GpuId),
    /// Writing an event mask.
    SetMask,
    /// Reading events.
    Read,
    /// Waiting for events.
    Poll,
    /// Making or using what wakes a reader.
    Wake,
    /// Reading a file of the topology.
    ReadTopology,
}

impl Error {
    pub(crate) fn new(operation: Operation, path: &Path, errno: Errno) -> Self {
        Self { operation, path: path.to_owned(), errno }
    }

    /// What was tried.
    #[must_use]
    pub const fn operation(&self) -> Operation {
        self.operation
    }

    /// The file it was tried on.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The error number of the kernel.
    #[must_use]
    pub const fn errno(&self) -> Errno {
        self.errno
    }

    /// What the user can do about it, or what it means, where that is known.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        Some(match (self.operation, self.errno) {
            (Operation::OpenKfd, Errno::NOENT) => "the amdgpu driver is not loaded, or has no KFD",
            (Operation::OpenKfd, Errno::NXIO | Errno::NODEV) => {
                "the device node is left over: load the amdgpu driver again"
            }
            (Operation::OpenKfd, Errno::ACCESS) => "add this user to the group that owns it, render or video",
            (Operation::OpenKfd, Errno::PERM) => "a 32-bit program cannot open it: use a 64-bit one",
            (Operation::OpenKfd, Errno::INVAL) => {
                "the driver has no GPU that it can use, or a reset is in progress: try again in a moment"
            }
            (Operation::OpenKfd, Errno::AGAIN) => "a GPU reset is in progress: try again in a moment",
            (Operation::OpenKfd | Operation::SmiEvents(_), Errno::MFILE) => {
                "this program has too many files open: raise `ulimit -n`"
            }
            (Operation::OpenKfd | Operation::SmiEvents(_), Errno::NFILE) => {
                "the system has too many files open"
            }
            (Operation::SmiEvents(_), Errno::INVAL) => {
                "there is no such GPU, or the device cgroup of this container hides it"
            }
            (Operation::SmiEvents(_), Errno::NOTTY) => "the kernel is older than 5.8 and has no SMI events",
            (Operation::GetVersion | Operation::SmiEvents(_), Errno::BADF) => {
                "it was opened by another process: each has to open it for itself"
            }
            (Operation::ReadTopology, Errno::NOENT) => "the amdgpu driver is not loaded, or has no KFD",
            (Operation::ReadTopology, Errno::PERM) => "the device cgroup of this container hides the GPU",
            _ => return None,
        })
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OpenKfd => f.write_str("open"),
            Self::GetVersion => f.write_str("get the version of"),
            Self::SmiEvents(gpu) => write!(f, "get the events of GPU {gpu} from"),
            Self::SetMask => f.write_str("write the event mask to"),
            Self::Read => f.write_str("read"),
            Self::Poll => f.write_str("wait for"),
            Self::Wake => f.write_str("use"),
            Self::ReadTopology => f.write_str("read"),
        }
    }
}

/// `cannot open /dev/kfd: Permission denied (os error 13): add this user to …`
impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { operation, path, errno } = self;
        write!(f, "cannot {operation} {}: {}", path.display(), io::Error::from(*errno))?;
        match self.hint() {
            Some(hint) => write!(f, ": {hint}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.errno)
    }
}

impl From<Error> for io::Error {
    fn from(error: Error) -> Self {
        Self::new(Self::from(error.errno).kind(), error)
    }
}
