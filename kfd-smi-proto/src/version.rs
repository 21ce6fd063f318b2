//! What the driver's version promises: [`KfdVersion`].

use core::fmt;

use crate::id::EventId;
use crate::mask::EventMask;

/// The version of the KFD interface, as the `GET_VERSION` ioctl tells it.
///
/// It is a question, never a refusal. It does not tell the form of a line: causes of resets (6.11), the
/// restore letter (6.12), error codes (6.13) and process events (6.16) came without a new version, which
/// is why nothing in this library takes a version as an argument. Ask for every event; the kernel
/// ignores the bits it does not know.
///
/// ```
/// use kfd_smi_proto::{EventId, KfdVersion};
///
/// let linux_6_1 = KfdVersion { major: 1, minor: 11 };
/// assert!(linux_6_1.has_svm_events());
/// assert!(linux_6_1.promised_events().contains(EventId::MIGRATE_START.mask().unwrap()));
/// assert!(!KfdVersion { major: 1, minor: 2 }.has_smi_events());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[doc(alias = "kfd_ioctl_get_version_args")]
pub struct KfdVersion {
    /// `KFD_IOCTL_MAJOR_VERSION`: 1 in every kernel so far.
    pub major: u32,
    /// `KFD_IOCTL_MINOR_VERSION`: counts additions to the interface.
    pub minor: u32,
}

impl KfdVersion {
    /// From this version on the SMI events ioctl exists (Linux 5.8).
    pub const SMI_EVENTS: Self = Self { major: 1, minor: 3 };

    /// From this version on there are the events of shared virtual memory, ids 5 to 11 (Linux 6.0).
    pub const SVM_EVENTS: Self = Self { major: 1, minor: 10 };

    /// Whether the driver has SMI events at all.
    #[must_use]
    pub fn has_smi_events(self) -> bool {
        self >= Self::SMI_EVENTS
    }

    /// Whether the driver reports migrations, page faults, queue evictions and unmaps.
    #[must_use]
    pub fn has_svm_events(self) -> bool {
        self >= Self::SVM_EVENTS
    }

    /// The events that every kernel of this version or a later one can send.
    ///
    /// A kernel may send more: resets and throttling came in 5.10 and process events in 6.16, both
    /// without a new version.
    #[must_use]
    pub fn promised_events(self) -> EventMask {
        if self.has_svm_events() {
            EventMask::KNOWN.difference(EventMask::of(&[EventId::PROCESS_START, EventId::PROCESS_END]))
        } else if self.has_smi_events() {
            EventMask::of(&[EventId::VMFAULT])
        } else {
            EventMask::EMPTY
        }
    }
}

/// `1.11`
impl fmt::Display for KfdVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_numbers_are_compared() {
        let version = |major, minor| KfdVersion { major, minor };
        assert!(!version(0, 99).has_smi_events());
        assert_eq!(version(1, 2).promised_events(), EventMask::EMPTY);
        assert_eq!(version(1, 3).promised_events().bits(), 0x1);
        assert_eq!(version(1, 9).promised_events().bits(), 0x1);
        assert_eq!(version(1, 10).promised_events().bits(), 0x7ff);
        assert_eq!(version(2, 0).promised_events().bits(), 0x7ff);
    }
}
