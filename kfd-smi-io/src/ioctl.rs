//! The two ioctls of `/dev/kfd`: the only unsafe code of the published crates.
//!
//! Numbers and layouts are those of `uapi/linux/kfd_ioctl.h`. The kernel dispatches on the number alone; sizes and
//! directions are right here all the same, on ppc64 too.
#![allow(unsafe_code, reason = "a raw file descriptor becomes an owned one")]

use std::os::fd::{AsFd, FromRawFd as _, OwnedFd};

use kfd_smi_proto::{GpuId, KfdVersion};
use rustix::io::{Errno, FdFlags, fcntl_setfd};
use rustix::ioctl::{Getter, Opcode, Updater, ioctl, opcode};

/// `struct kfd_ioctl_get_version_args`
#[repr(C)]
struct GetVersionArgs {
    major_version: u32,
    minor_version: u32,
}

/// `struct kfd_ioctl_smi_events_args`
#[repr(C)]
struct SmiEventsArgs {
    gpuid: u32,
    anon_fd: u32,
}

/// `AMDKFD_IOC_GET_VERSION`
const GET_VERSION: Opcode = opcode::read::<GetVersionArgs>(b'K', 0x01);

/// `AMDKFD_IOC_SMI_EVENTS`
const SMI_EVENTS: Opcode = opcode::read_write::<SmiEventsArgs>(b'K', 0x1f);

/// The version of the driver's interface.
pub(crate) fn get_version(kfd: impl AsFd) -> Result<KfdVersion, Errno> {
    // SAFETY: the opcode reads, and `GetVersionArgs` is its argument: two numbers, any value of which is valid.
    let args: GetVersionArgs = unsafe { ioctl(kfd, Getter::<GET_VERSION, GetVersionArgs>::new()) }?;
    Ok(KfdVersion { major: args.major_version, minor: args.minor_version })
}

/// A new file descriptor for the events of a GPU, which no program started from here on inherits.
pub(crate) fn smi_events(kfd: impl AsFd, gpu: GpuId) -> Result<OwnedFd, Errno> {
    // Not 0, so that a number that nobody wrote is no file descriptor.
    let mut args = SmiEventsArgs { gpuid: gpu.0, anon_fd: u32::MAX };
    // SAFETY: the opcode reads and writes, and `SmiEventsArgs` is its argument.
    unsafe { ioctl(kfd, Updater::<SMI_EVENTS, SmiEventsArgs>::new(&mut args)) }?;
    let raw = i32::try_from(args.anon_fd).map_err(|_| Errno::BADF)?;
    // SAFETY: the ioctl succeeded, so the driver made this descriptor for us alone.
    let fd = unsafe { OwnedFd::from_raw_fd(raw) };
    // The driver makes it without.
    fcntl_setfd(&fd, FdFlags::CLOEXEC)?;
    Ok(fd)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_those_of_the_header() {
        if cfg!(any(target_arch = "powerpc", target_arch = "powerpc64")) {
            assert_eq!(u64::from(GET_VERSION), 0x4008_4b01);
        } else {
            assert_eq!(u64::from(GET_VERSION), 0x8008_4b01);
        }
        assert_eq!(u64::from(SMI_EVENTS), 0xc008_4b1f);
    }

    #[test]
    fn a_file_that_is_no_device_is_refused() {
        let null = std::fs::File::open("/dev/null").unwrap();
        assert_eq!(get_version(&null), Err(Errno::NOTTY));
        assert_eq!(smi_events(&null, GpuId(1)).unwrap_err(), Errno::NOTTY);
    }
}
