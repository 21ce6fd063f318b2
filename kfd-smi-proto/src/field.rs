//! The numbers that stand in events, each with its unit: times, processes, GPUs, places.

use core::fmt;

/// Nanoseconds since boot, time spent suspended included: `CLOCK_BOOTTIME`.
///
/// The kernel prints `ktime_get_boottime_ns()` as a signed number that is never negative. (The comment in
/// its header says that the clock stops while suspended; that is wrong.) Times on one file descriptor
/// may run slightly backwards, and there is no order between those of different GPUs.
///
/// ```
/// use kfd_smi_proto::BootNanos;
///
/// let time = BootNanos::new(14_601_738_586_508).unwrap();
/// assert_eq!(time.to_string(), "14601.738586508");
/// assert_eq!(BootNanos::new(1 << 63), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct BootNanos(u64);

impl BootNanos {
    /// The latest time that can be printed, 2^63 - 1: 292 years.
    pub const MAX: Self = Self(u64::MAX >> 1);

    /// The moment of booting.
    pub const MIN: Self = Self(0);

    /// A time in nanoseconds; `None` from 2^63 on.
    #[must_use]
    pub const fn new(nanos: u64) -> Option<Self> {
        if nanos <= Self::MAX.0 { Some(Self(nanos)) } else { None }
    }

    /// The time in nanoseconds.
    #[must_use]
    pub const fn nanos(self) -> u64 {
        self.0
    }
}

/// Seconds with nine decimals: `14601.738586508`.
impl fmt::Display for BootNanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const NANOS_PER_SECOND: u64 = 1_000_000_000;
        let (seconds, nanos) = (self.0 / NANOS_PER_SECOND, self.0 % NANOS_PER_SECOND);
        write!(f, "{seconds}.{nanos:09}")
    }
}

#[cfg(feature = "serde")]
impl<'de> serde::Deserialize<'de> for BootNanos {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let nanos = u64::deserialize(deserializer)?;
        Self::new(nanos).ok_or_else(|| serde::de::Error::custom("expected nanoseconds below 2^63"))
    }
}

/// The kernel's number of a task, `pid_t`.
///
/// In the events 5 to 11 it is the process (`tgid`) and stands in decimal behind a literal `-`. In VMFAULT,
/// PROCESS_START and PROCESS_END it is the *thread* that last set up the address space on the GPU, and stands
/// in hexadecimal. Kernels since 2026 print the former as the process itself sees it, in its own pid
/// namespace: then one number can mean several processes. 0 means that the task was gone already.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Pid(pub i32);

impl Pid {
    /// The number as `%x` shows it: negative ones, which no task has, count from 2^32 down.
    #[must_use]
    pub const fn as_unsigned(self) -> u32 {
        self.0.cast_unsigned()
    }
}

impl fmt::Display for Pid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The driver's number of a GPU, or of a partition of one: `gpu_id` in sysfs, `gpuid` in the ioctl.
///
/// Events print it in hexadecimal, sysfs in decimal. It is a hash of where the GPU sits and how it is
/// partitioned, not an identity: it changes with slot, partition mode and memory carve-out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct GpuId(pub u32);

/// `0x1ea0`
impl fmt::Display for GpuId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

/// Where pages are, or should be: in system memory, on a GPU, or nowhere in particular.
///
/// ```
/// use kfd_smi_proto::{GpuId, Location};
///
/// assert_eq!(Location::SYSTEM.gpu(), None);
/// assert_eq!(Location::UNDEFINED.gpu(), None);
/// assert_eq!(Location(0x1ea0).gpu(), Some(GpuId(0x1ea0)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Location(pub u32);

impl Location {
    /// System memory.
    pub const SYSTEM: Self = Self(0);

    /// No location was asked for: `KFD_IOCTL_SVM_LOCATION_UNDEFINED`, what `prefetch_loc` and
    /// `preferred_loc` are until a program sets them.
    #[doc(alias = "KFD_IOCTL_SVM_LOCATION_UNDEFINED")]
    pub const UNDEFINED: Self = Self(u32::MAX);

    /// The GPU, unless the location is system memory or undefined.
    #[must_use]
    pub const fn gpu(self) -> Option<GpuId> {
        match self {
            Self::SYSTEM | Self::UNDEFINED => None,
            Self(id) => Some(GpuId(id)),
        }
    }
}

/// `system`, `undefined` or `0x1ea0`
impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::SYSTEM => f.pad("system"),
            Self::UNDEFINED => f.pad("undefined"),
            Self(id) => GpuId(id).fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::string::ToString as _;

    #[test]
    fn times_have_the_range_of_a_signed_number() {
        assert_eq!(BootNanos::new(u64::MAX >> 1), Some(BootNanos::MAX));
        assert_eq!(BootNanos::new(1 << 63), None);
        assert_eq!(BootNanos::MAX.to_string(), "9223372036.854775807");
        assert_eq!(BootNanos(5).to_string(), "0.000000005");
    }

    #[test]
    fn locations_are_named() {
        assert_eq!(Location(0).to_string(), "system");
        assert_eq!(Location(0xffff_ffff).to_string(), "undefined");
        assert_eq!(Location(0x1ea0).to_string(), "0x1ea0");
        assert_eq!(Pid(-1).as_unsigned(), u32::MAX);
    }
}
