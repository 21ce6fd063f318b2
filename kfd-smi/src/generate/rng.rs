//! Random numbers that are the same everywhere and for ever: [`Rng`].

/// SplitMix64 (Steele, Lea, Flood 2014). Its output is fixed by its definition, so a seed means the same bytes on every
/// machine and in every version, which no crate's sampling promises.
#[derive(Clone, Debug)]
pub(crate) struct Rng(u64);

impl Rng {
    pub(crate) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below this one, which is not 0.
    pub(crate) const fn below(&mut self, end: u64) -> u64 {
        // The upper half of the product: even enough, and no loop.
        ((self.next() as u128 * end as u128) >> 64) as u64
    }

    /// A number from the first to the last.
    pub(crate) const fn range(&mut self, first: u64, last: u64) -> u64 {
        first + self.below(last - first + 1)
    }

    /// Whether something happens that happens once in so many times.
    pub(crate) const fn once_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    /// A place in a list of this length.
    pub(crate) const fn index(&mut self, length: usize) -> usize {
        self.below(length as u64) as usize
    }

    /// One of these.
    pub(crate) const fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.index(from.len())]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_those_of_splitmix64() {
        // The reference values that are published for the seed 1234567.
        let mut rng = Rng::new(1_234_567);
        let expected = [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423];
        assert_eq!([rng.next(), rng.next(), rng.next()], expected);
    }

    #[test]
    fn every_number_of_a_range_comes_and_no_other() {
        let mut rng = Rng::new(1);
        let mut seen = [0; 10];
        (0..10_000).for_each(|_| seen[rng.range(3, 7) as usize] += 1);
        assert!(seen[..3].iter().chain(&seen[8..]).all(|count| *count == 0), "{seen:?}");
        assert!(seen[3..8].iter().all(|count| (1800..2200).contains(count)), "{seen:?}");
    }
}
