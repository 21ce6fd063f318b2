//! Addresses and sizes, which the driver gives in pages.

use core::fmt;
use core::ops::Range;

/// The number of a page of virtual memory: an address divided by the page size of the machine.
///
/// The kernel prints `address >> PAGE_SHIFT`. (Linux 6.1 divides the address of a *fault* by 4096 whatever the
/// page size; that differs only on machines whose pages are larger.)
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct PageNumber(pub u64);

impl PageNumber {
    /// The address in bytes at which the page begins; `None` where it does not fit into 64 bits.
    #[must_use]
    pub const fn address(self, page_size: PageSize) -> Option<u64> {
        self.0.checked_mul(page_size.bytes())
    }
}

/// `0x7f0f15200`
impl fmt::Display for PageNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

/// A number of pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct PageCount(pub u64);

impl PageCount {
    /// The size in bytes; `None` where it does not fit into 64 bits.
    #[must_use]
    pub const fn size(self, page_size: PageSize) -> Option<u64> {
        self.0.checked_mul(page_size.bytes())
    }
}

/// In decimal.
impl fmt::Display for PageCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The pages from `start` on, `count` of them: half-open, for every event that has a range.
///
/// ```
/// use kfd_smi_proto::{PageCount, PageNumber, PageRange, PageSize};
///
/// let range = PageRange { start: PageNumber(0x7f0f15200), count: PageCount(0x200) };
/// assert_eq!(range.end(), Some(PageNumber(0x7f0f15400)));
/// assert_eq!(range.addresses(PageSize::FOUR_KIB), Some(0x7f0f15200000..0x7f0f15400000));
/// assert_eq!(range.count.size(PageSize::FOUR_KIB), Some(2 << 20));
/// assert_eq!(range.to_string(), "0x7f0f15200..0x7f0f15400");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct PageRange {
    /// The first page.
    pub start: PageNumber,
    /// How many pages there are.
    pub count: PageCount,
}

impl PageRange {
    /// The first page that is no longer in the range; `None` where its number does not fit into 64 bits.
    #[must_use]
    pub const fn end(self) -> Option<PageNumber> {
        match self.start.0.checked_add(self.count.0) {
            Some(end) => Some(PageNumber(end)),
            None => None,
        }
    }

    /// The addresses in bytes, half-open; `None` where one does not fit into 64 bits.
    #[must_use]
    pub fn addresses(self, page_size: PageSize) -> Option<Range<u64>> {
        Some(self.start.address(page_size)?..self.end()?.address(page_size)?)
    }
}

/// `0x7f0f15200..0x7f0f15400`, in pages.
impl fmt::Display for PageRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.end() {
            Some(end) => write!(f, "{}..{end}", self.start),
            None => write!(f, "{}.. ({} pages)", self.start, self.count),
        }
    }
}

/// The size of a page of the machine that sent the events, in bytes: a power of two.
///
/// 4 KiB on x86-64; 16 or 64 KiB on some arm64 and ppc64 kernels. The events do not tell it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct PageSize(u64);

impl PageSize {
    /// What x86-64 has.
    pub const FOUR_KIB: Self = Self(4096);

    /// A page size in bytes; `None` if it is not a power of two.
    #[must_use]
    pub const fn new(bytes: u64) -> Option<Self> {
        if bytes.is_power_of_two() { Some(Self(bytes)) } else { None }
    }

    /// The size in bytes.
    #[must_use]
    pub const fn bytes(self) -> u64 {
        self.0
    }
}

#[cfg(feature = "serde")]
impl<'de> serde::Deserialize<'de> for PageSize {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let bytes = u64::deserialize(deserializer)?;
        Self::new(bytes).ok_or_else(|| serde::de::Error::custom("expected a power of two"))
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::string::ToString as _;

    #[test]
    fn what_passes_64_bits_is_said_and_not_wrapped() {
        let range = PageRange { start: PageNumber(u64::MAX), count: PageCount(1) };
        assert_eq!(range.end(), None);
        assert_eq!(range.addresses(PageSize::FOUR_KIB), None);
        assert_eq!(range.to_string(), "0xffffffffffffffff.. (1 pages)");
        assert_eq!(range.start.address(PageSize::FOUR_KIB), None);

        let last = PageRange { start: PageNumber(u64::MAX), count: PageCount(0) };
        assert_eq!(last.end(), Some(PageNumber(u64::MAX)));
        assert_eq!(last.addresses(PageSize::new(1).unwrap()), Some(u64::MAX..u64::MAX));
        assert_eq!(PageCount(1 << 52).size(PageSize::FOUR_KIB), None);
    }

    #[test]
    fn page_sizes_are_powers_of_two() {
        assert_eq!(PageSize::new(65536).map(PageSize::bytes), Some(65536));
        for bytes in [0, 3, 4095, 4097] {
            assert_eq!(PageSize::new(bytes), None);
        }
    }
}
