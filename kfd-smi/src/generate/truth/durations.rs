//! How long things took: [`Durations`].

use std::collections::BTreeMap;

/// So many are kept as they are.
const EXACT: usize = 1 << 16;

/// Of more than these, so many leading bits are kept of each: at most one part in a thousand is lost.
const BITS: u32 = 11;

/// Nanoseconds, for percentiles: exact ones of up to 65,536 durations, beyond that at most 0.1 % too small.
#[derive(Debug, Default)]
pub(super) struct Durations {
    all: Vec<u64>,
    /// Once there are too many: each with how many of it there are.
    rounded: BTreeMap<u64, u64>,
    pub(super) count: u64,
    pub(super) max: Option<u64>,
}

impl Durations {
    pub(super) fn add(&mut self, nanos: u64) {
        self.count += 1;
        self.max = self.max.max(Some(nanos));
        if self.rounded.is_empty() && self.all.len() < EXACT {
            self.all.push(nanos);
        } else {
            for nanos in self.all.drain(..).chain([nanos]) {
                *self.rounded.entry(rounded(nanos)).or_default() += 1;
            }
        }
    }

    /// The percentiles, by nearest rank: the smallest duration that so many of a hundred are not longer than.
    pub(super) fn percentiles<const N: usize>(&self, of: [u64; N]) -> [Option<u64>; N] {
        let mut sorted = self.all.clone();
        sorted.sort_unstable();
        of.map(|part| {
            let rank = (u128::from(self.count) * u128::from(part)).div_ceil(100).max(1);
            let place = usize::try_from(rank - 1).unwrap_or(usize::MAX);
            let mut seen = 0;
            let mut rounded = self.rounded.iter().map(|(nanos, count)| {
                seen += u128::from(*count);
                (*nanos, seen)
            });
            let beyond = || rounded.find(|(_, seen)| *seen >= rank).map(|(nanos, _)| nanos);
            sorted.get(place).copied().or_else(beyond)
        })
    }
}

const fn rounded(nanos: u64) -> u64 {
    let open = (u64::BITS - nanos.leading_zeros()).saturating_sub(BITS);
    nanos >> open << open
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_by_nearest_rank() {
        let mut durations = Durations::default();
        assert_eq!(durations.percentiles([50]), [None]);
        [15, 20, 35, 40, 50].iter().for_each(|nanos| durations.add(*nanos));
        // The example of every textbook.
        assert_eq!(durations.percentiles([5, 30, 40, 50, 100]), [15, 20, 20, 35, 50].map(Some));
    }

    #[test]
    fn beyond_what_is_kept_they_are_nearly_exact() {
        let mut durations = Durations::default();
        (1..=200_000).for_each(|nanos| durations.add(nanos * 17));
        assert!(durations.all.is_empty() && durations.rounded.len() < 20_000);
        for (percentile, exact) in [(50, 1_700_000), (99, 3_366_000)] {
            let [Some(value)] = durations.percentiles([percentile]) else { panic!() };
            assert!(value <= exact && exact - value <= exact / 1000, "{value} {exact}");
        }
        assert_eq!((durations.count, durations.max), (200_000, Some(3_400_000)));
    }
}
