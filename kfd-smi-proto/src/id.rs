//! Which event a line is about: [`EventId`].

use core::fmt;

use crate::mask::EventMask;

/// The number a line begins with, in hexadecimal: an open set, newer kernels add to it.
///
/// The numbers and names are those of `enum kfd_smi_event` in the kernel's `uapi/linux/kfd_ioctl.h`.
///
/// ```
/// use kfd_smi_proto::EventId;
///
/// assert_eq!(EventId::PAGE_FAULT_START.name(), Some("page_fault_start"));
/// assert_eq!(EventId::from_name("page_fault_start"), Some(EventId(7)));
/// assert_eq!(EventId::from_name("KFD_SMI_EVENT_PAGE_FAULT_START"), Some(EventId(7)));
/// assert_eq!(EventId(99).name(), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
pub struct EventId(pub u32);

/// One row for each event: id, our name, the C constant, the first mainline kernel.
macro_rules! events {
    ($($id:literal $constant:ident $name:literal $c:literal $since:literal $what:literal;)*) => {
        impl EventId {
            $(
                #[doc = concat!($what, " Since Linux ", $since, ".")]
                #[doc(alias = $c)]
                pub const $constant: Self = Self($id);
            )*

            /// Every event that this version of the library knows by name, in ascending order.
            pub const KNOWN: &'static [Self] = &[$(Self::$constant),*];

            /// The event's name in lower case, as the command prints it; `None` for an unknown id.
            #[must_use]
            pub const fn name(self) -> Option<&'static str> {
                match self.0 {
                    $($id => Some($name),)*
                    _ => None,
                }
            }

            /// The name of the C constant in the kernel's header; `None` for an unknown id.
            #[must_use]
            pub const fn constant(self) -> Option<&'static str> {
                match self.0 {
                    $($id => Some($c),)*
                    _ => None,
                }
            }

            /// The first mainline kernel that can send the event; `None` for an unknown id.
            #[must_use]
            pub const fn since(self) -> Option<&'static str> {
                match self.0 {
                    $($id => Some($since),)*
                    _ => None,
                }
            }
        }
    };
}

events! {
    1 VMFAULT "vmfault" "KFD_SMI_EVENT_VMFAULT" "5.8"
        "A GPU virtual memory fault that is not retried.";
    2 THERMAL_THROTTLE "thermal_throttle" "KFD_SMI_EVENT_THERMAL_THROTTLE" "5.10"
        "The GPU reduced its clocks.";
    3 GPU_PRE_RESET "gpu_pre_reset" "KFD_SMI_EVENT_GPU_PRE_RESET" "5.10"
        "The GPU is about to be reset.";
    4 GPU_POST_RESET "gpu_post_reset" "KFD_SMI_EVENT_GPU_POST_RESET" "5.10"
        "The GPU was reset.";
    5 MIGRATE_START "migrate_start" "KFD_SMI_EVENT_MIGRATE_START" "6.0"
        "Pages begin to move between system memory and a GPU.";
    6 MIGRATE_END "migrate_end" "KFD_SMI_EVENT_MIGRATE_END" "6.0"
        "A migration ended.";
    7 PAGE_FAULT_START "page_fault_start" "KFD_SMI_EVENT_PAGE_FAULT_START" "6.0"
        "The driver begins to handle a GPU page fault.";
    8 PAGE_FAULT_END "page_fault_end" "KFD_SMI_EVENT_PAGE_FAULT_END" "6.0"
        "A GPU page fault was handled.";
    9 QUEUE_EVICTION "queue_eviction" "KFD_SMI_EVENT_QUEUE_EVICTION" "6.0"
        "The user queues of a process are stopped on a GPU.";
    10 QUEUE_RESTORE "queue_restore" "KFD_SMI_EVENT_QUEUE_RESTORE" "6.0"
        "The user queues of a process are started again, or that was put off.";
    11 UNMAP_FROM_GPU "unmap_from_gpu" "KFD_SMI_EVENT_UNMAP_FROM_GPU" "6.0"
        "Pages are removed from the page table of a GPU.";
    12 PROCESS_START "process_start" "KFD_SMI_EVENT_PROCESS_START" "6.16"
        "A process began to use a GPU.";
    13 PROCESS_END "process_end" "KFD_SMI_EVENT_PROCESS_END" "6.16"
        "A process gave up a GPU.";
}

/// What every C constant begins with.
const C_PREFIX: &str = "KFD_SMI_EVENT_";

impl EventId {
    /// The id of a name, lower case (`"vmfault"`) or the C constant (`"KFD_SMI_EVENT_VMFAULT"`).
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::KNOWN.iter().copied().find(|id| id.name() == Some(name) || id.constant() == Some(name))
    }

    /// The C constant without its prefix, as it is used in sentences.
    pub(crate) fn kernel_name(self) -> Option<&'static str> {
        self.constant()?.strip_prefix(C_PREFIX)
    }

    /// The mask with this event's bit alone, `1 << (id - 1)`.
    ///
    /// `None` for ids that have no bit: 0 is never sent, bit 63 is
    /// [`ALL_PROCESSES`](EventMask::ALL_PROCESSES), and the mask ends there.
    ///
    /// ```
    /// use kfd_smi_proto::EventId;
    ///
    /// assert_eq!(EventId::GPU_PRE_RESET.mask().unwrap().bits(), 0x4);
    /// assert_eq!(EventId(0).mask(), None);
    /// assert_eq!(EventId(64).mask(), None);
    /// ```
    #[must_use]
    pub const fn mask(self) -> Option<EventMask> {
        match self.0 {
            id @ 1..=63 => Some(EventMask::from_bits(1 << id.wrapping_sub(1))),
            _ => None,
        }
    }
}

/// The name, or `event 99` for an unknown id.
impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "event {}", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_ids_go_both_ways() {
        assert_eq!(EventId::KNOWN.len(), 13);
        for (id, expected) in EventId::KNOWN.iter().zip(1..) {
            assert_eq!(id.0, expected);
            assert_eq!(id.name().and_then(EventId::from_name), Some(*id));
            assert_eq!(id.constant().and_then(EventId::from_name), Some(*id));
            let kernel_name = id.kernel_name().unwrap();
            assert!(kernel_name.eq_ignore_ascii_case(id.name().unwrap()));
        }
        for unknown in ["", "unknown", "VMFAULT", "dropped_events", "KFD_SMI_EVENT_NONE"] {
            assert_eq!(EventId::from_name(unknown), None);
        }
    }

    #[test]
    fn events_came_with_these_kernels() {
        let since =
            |kernel| EventId::KNOWN.iter().filter(move |id| id.since() == Some(kernel)).map(|id| id.0);
        assert!(since("5.8").eq([1]) && since("5.10").eq([2, 3, 4]));
        assert!(since("6.0").eq(5..=11) && since("6.16").eq([12, 13]));
    }

    #[test]
    fn bit_is_id_minus_one() {
        for id in 1..=63 {
            assert_eq!(EventId(id).mask().unwrap().bits(), 1 << (id - 1));
        }
        assert_eq!(EventId(u32::MAX).mask(), None);
    }
}
