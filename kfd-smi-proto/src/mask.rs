//! What we ask the kernel for: [`EventMask`].

use core::ops::{BitAnd, BitOr, BitOrAssign, Not, Sub};

use crate::id::EventId;

/// The set of events that a client wants, as it is written to the SMI file descriptor.
///
/// Bit `id - 1` stands for an event; bit 63 is no event but the wish to see those of all processes.
/// The kernel ignores bits it does not know and never refuses a mask. A new file descriptor has the
/// empty mask, and events that were queued under an old mask stay queued when a new one is written.
///
/// ```
/// use kfd_smi_proto::{EventId, EventMask};
///
/// const RESETS: EventMask = EventMask::of(&[EventId::GPU_PRE_RESET, EventId::GPU_POST_RESET]);
/// let mask = RESETS | EventMask::ALL_PROCESSES;
/// assert_eq!(mask.bits(), 0x8000_0000_0000_000c);
/// assert!(mask.contains(RESETS));
/// // One write of exactly these eight bytes sets the mask: fewer are refused, more are ignored.
/// assert_eq!(mask.to_ne_bytes(), 0x8000_0000_0000_000c_u64.to_ne_bytes());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
pub struct EventMask(u64);

impl EventMask {
    /// No event at all: what a new file descriptor has.
    pub const EMPTY: Self = Self(0);

    /// Every event that this version of the library knows by name.
    pub const KNOWN: Self = Self::of(EventId::KNOWN);

    /// Every event there can be, all 63 bits: for recorders, which want what newer kernels send, too.
    pub const EVERY: Self = Self(u64::MAX >> 1);

    /// The events of all processes, not only of one's own. It needs `CAP_SYS_ADMIN`, held when the
    /// file descriptor was made. Kernels 6.0 to 6.15 give a privileged client nothing of others without it;
    /// before 6.0 and from 6.16 it has no effect.
    #[doc(alias = "KFD_SMI_EVENT_ALL_PROCESS")]
    pub const ALL_PROCESSES: Self = Self(1 << 63);

    /// The mask of these events. An id that has no bit (see [`EventId::mask`]) adds nothing.
    #[must_use]
    pub const fn of(ids: &[EventId]) -> Self {
        let mut mask = Self::EMPTY;
        let mut rest = ids;
        while let [id, tail @ ..] = rest {
            if let Some(bit) = id.mask() {
                mask = mask.union(bit);
            }
            rest = tail;
        }
        mask
    }

    /// The mask with these bits.
    #[must_use]
    pub const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    /// The bits of the mask.
    #[must_use]
    pub const fn bits(self) -> u64 {
        self.0
    }

    /// The eight bytes to write to the SMI file descriptor: the kernel reads them in native order.
    #[must_use]
    pub const fn to_ne_bytes(self) -> [u8; 8] {
        self.0.to_ne_bytes()
    }

    /// Whether no bit is set.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether every bit of `other` is set here.
    #[must_use]
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// The bits of either.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The bits of both.
    #[must_use]
    pub const fn intersection(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// The bits that are not in `other`.
    #[must_use]
    pub const fn difference(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// The bits that are not set here.
    #[must_use]
    pub const fn complement(self) -> Self {
        Self(!self.0)
    }

    /// The events of the mask in ascending order, known or not; never bit 63.
    ///
    /// ```
    /// use kfd_smi_proto::{EventId, EventMask};
    ///
    /// let mask = EventMask::from_bits(0x8000_0000_0000_2001);
    /// assert!(mask.events().eq([EventId::VMFAULT, EventId(14)]));
    /// ```
    pub fn events(self) -> impl Iterator<Item = EventId> {
        (1..=63).map(EventId).filter(move |id| id.mask().is_some_and(|bit| self.contains(bit)))
    }
}

impl BitOr for EventMask {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        self.union(other)
    }
}

impl BitOrAssign for EventMask {
    fn bitor_assign(&mut self, other: Self) {
        *self = self.union(other);
    }
}

impl BitAnd for EventMask {
    type Output = Self;

    fn bitand(self, other: Self) -> Self {
        self.intersection(other)
    }
}

impl Sub for EventMask {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        self.difference(other)
    }
}

impl Not for EventMask {
    type Output = Self;

    fn not(self) -> Self {
        self.complement()
    }
}

impl FromIterator<EventId> for EventMask {
    /// As [`EventMask::of`].
    fn from_iter<I: IntoIterator<Item = EventId>>(ids: I) -> Self {
        ids.into_iter().filter_map(EventId::mask).fold(Self::EMPTY, Self::union)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_named_masks_are_those_of_the_header() {
        assert_eq!(EventMask::KNOWN.bits(), 0x1fff);
        assert_eq!(EventMask::EVERY.bits(), 0x7fff_ffff_ffff_ffff);
        assert_eq!(EventMask::ALL_PROCESSES.bits(), 0x8000_0000_0000_0000);
        assert_eq!((EventMask::EVERY | EventMask::ALL_PROCESSES).bits(), u64::MAX);
        assert_eq!(EventMask::of(&[EventId(0), EventId(64), EventId(u32::MAX)]), EventMask::EMPTY);
    }

    #[test]
    fn masks_are_sets() {
        let faults = EventMask::of(&[EventId::PAGE_FAULT_START, EventId::PAGE_FAULT_END]);
        assert_eq!(faults.bits(), 0xc0);
        assert_eq!((!faults | faults).bits(), u64::MAX);
        assert_eq!(EventMask::KNOWN - faults, EventMask::KNOWN & !faults);
        assert!(!(EventMask::KNOWN - faults).contains(faults));
        assert!(EventMask::KNOWN.events().eq(EventId::KNOWN.iter().copied()));
        assert_eq!(faults.events().collect::<EventMask>(), faults);
        assert_eq!(EventMask::EVERY.events().count(), 63);
        assert!(EventMask::ALL_PROCESSES.events().next().is_none());
    }
}
