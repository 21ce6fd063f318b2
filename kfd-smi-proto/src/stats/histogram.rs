//! How numbers are distributed: [`Histogram`].

use core::fmt;

/// Each power of two is cut into this many buckets of the same width.
const PER_OCTAVE: usize = 1 << OCTAVE_BITS;
const OCTAVE_BITS: u32 = 6;

/// Below this, each number has a bucket of its own.
const EXACT: u64 = 2 << OCTAVE_BITS;

/// One for each number below 128, 64 for each power of two from 128 on.
const BUCKETS: usize = PER_OCTAVE * (64 - OCTAVE_BITS as usize + 1);

/// How many numbers of which size there were: percentiles of durations and the like.
///
/// Every `u64` has a bucket, those below 128 one of their own. A [`quantile`](Self::quantile) is less than 1 %
/// off (1/128 at most); the count, the sum, the smallest and the largest are exact. Histograms add up: that of a
/// whole is the [`merge`](Self::merge) of those of its parts, however it was parted.
///
/// It takes 30 kB.
///
/// ```
/// use kfd_smi_proto::Histogram;
///
/// let mut durations = Histogram::new();
/// for nanos in 1..=1000 {
///     durations.record(nanos);
/// }
/// assert_eq!(durations.quantile(50, 100), Some(502)); // 500 is the middle one
/// assert_eq!(durations.quantile(999, 1000), Some(996)); // 999
/// assert_eq!((durations.count(), durations.max()), (1000, Some(1000)));
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Histogram {
    buckets: [u64; BUCKETS],
    count: u64,
    sum: u128,
    /// `u64::MAX` if there is none.
    min: u64,
    max: u64,
}

/// The bucket of a number.
const fn bucket_of(value: u64) -> usize {
    if value < EXACT {
        return value as usize;
    }
    // How many of the lower bits the bucket leaves open.
    let open = EXACT.leading_zeros().wrapping_sub(value.leading_zeros()).wrapping_add(1);
    let upper = value >> open;
    (open as usize).wrapping_mul(PER_OCTAVE).wrapping_add(upper as usize)
}

/// The number in the middle of a bucket.
const fn middle_of(bucket: usize) -> u64 {
    if bucket < EXACT as usize {
        return bucket as u64;
    }
    let open = (bucket / PER_OCTAVE).wrapping_sub(1) as u32;
    let upper = (bucket % PER_OCTAVE).wrapping_add(PER_OCTAVE) as u64;
    upper.wrapping_shl(open) | (1_u64.wrapping_shl(open) / 2)
}

impl Histogram {
    /// No numbers yet.
    #[must_use]
    pub const fn new() -> Self {
        Self { buckets: [0; BUCKETS], count: 0, sum: 0, min: u64::MAX, max: 0 }
    }

    /// Adds a number.
    pub fn record(&mut self, value: u64) {
        if let Some(bucket) = self.buckets.get_mut(bucket_of(value)) {
            *bucket = bucket.saturating_add(1);
        }
        self.count = self.count.saturating_add(1);
        self.sum = self.sum.saturating_add(u128::from(value));
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }

    /// Adds the numbers of another one.
    pub fn merge(&mut self, other: &Self) {
        for (bucket, more) in self.buckets.iter_mut().zip(&other.buckets) {
            *bucket = bucket.saturating_add(*more);
        }
        self.count = self.count.saturating_add(other.count);
        self.sum = self.sum.saturating_add(other.sum);
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// How many numbers there are.
    #[must_use]
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// Their sum.
    #[must_use]
    pub const fn sum(&self) -> u128 {
        self.sum
    }

    /// The smallest; `None` if there is none.
    #[must_use]
    pub const fn min(&self) -> Option<u64> {
        if self.count == 0 { None } else { Some(self.min) }
    }

    /// The largest; `None` if there is none.
    #[must_use]
    pub const fn max(&self) -> Option<u64> {
        if self.count == 0 { None } else { Some(self.max) }
    }

    /// The number that this part `of` all are not larger than: `quantile(99, 100)` is the 99th percentile, by
    /// nearest rank, less than 1 % off. From the whole on it is the largest, at 0 the smallest; `None` if there
    /// is no number, or `of` is 0.
    #[must_use]
    pub fn quantile(&self, part: u64, of: u64) -> Option<u64> {
        if self.count == 0 {
            return None;
        }
        let rank = u128::from(self.count)
            .saturating_mul(u128::from(part))
            .checked_next_multiple_of(u128::from(of).max(1))?;
        let rank = rank.checked_div(u128::from(of))?;
        if rank <= 1 {
            return self.min();
        }
        if rank >= u128::from(self.count) {
            return self.max();
        }
        let mut below: u128 = 0;
        for (bucket, count) in self.buckets.iter().enumerate() {
            below = below.saturating_add(u128::from(*count));
            if below >= rank {
                // Not `clamp`, which panics if the smallest is larger than the largest.
                return Some(middle_of(bucket).max(self.min).min(self.max));
            }
        }
        self.max()
    }
}

impl Default for Histogram {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Histogram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("Histogram");
        debug.field("count", &self.count).field("sum", &self.sum).field("min", &self.min());
        for (name, part) in [("p50", 50), ("p90", 90), ("p99", 99)] {
            debug.field(name, &self.quantile(part, 100));
        }
        debug.field("max", &self.max()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers around every border of a bucket.
    fn borders() -> impl Iterator<Item = u64> {
        (0..64)
            .flat_map(|bit| (0..=64).map(move |step| (1_u64 << bit).saturating_add((1 << bit) / 64 * step)))
            .flat_map(|border| [border.saturating_sub(1), border, border.saturating_add(1)])
            .chain([0, u64::MAX - 1, u64::MAX])
    }

    #[test]
    fn every_number_has_a_bucket_and_is_near_its_middle() {
        for value in borders() {
            let bucket = bucket_of(value);
            assert!(bucket < BUCKETS, "{value}");
            let error = middle_of(bucket).abs_diff(value);
            assert!(u128::from(error) * 128 <= u128::from(value), "{value}: {error}");
            assert!(value >= EXACT || error == 0);
        }
        assert_eq!((bucket_of(0), bucket_of(u64::MAX)), (0, BUCKETS - 1));
    }

    #[test]
    fn buckets_are_in_the_order_of_their_numbers_and_all_are_used() {
        for bucket in 0..BUCKETS {
            assert_eq!(bucket_of(middle_of(bucket)), bucket);
        }
        assert!((1..BUCKETS).all(|bucket| middle_of(bucket - 1) < middle_of(bucket)));
    }

    #[test]
    fn nothing_has_no_quantile() {
        let histogram = Histogram::default();
        assert_eq!((histogram.min(), histogram.max(), histogram.quantile(50, 100)), (None, None, None));
        assert_eq!((histogram.count(), histogram.sum()), (0, 0));
    }

    #[test]
    fn ranks_are_the_nearest() {
        let mut histogram = Histogram::new();
        for value in [10, 20, 30, 40] {
            histogram.record(value);
        }
        for (part, value) in [
            (0, 10),
            (1, 10),
            (25, 10),
            (26, 20),
            (50, 20),
            (51, 30),
            (75, 30),
            (76, 40),
            (100, 40),
            (999, 40),
        ] {
            assert_eq!(histogram.quantile(part, 100), Some(value), "{part}");
        }
        assert_eq!(histogram.quantile(u64::MAX, u64::MAX), Some(40));
        assert_eq!(histogram.quantile(u64::MAX / 2, u64::MAX), Some(20));
        assert_eq!(histogram.quantile(1, 0), None);
        assert_eq!(histogram.quantile(0, 0), None);
    }

    #[test]
    fn sums_do_not_wrap() {
        let mut histogram = Histogram::new();
        histogram.record(u64::MAX);
        histogram.record(u64::MAX);
        assert_eq!(histogram.sum(), u128::from(u64::MAX) * 2);
        assert_eq!((histogram.min(), histogram.quantile(50, 100)), (Some(u64::MAX), Some(u64::MAX)));
    }
}
