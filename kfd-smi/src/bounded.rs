//! A map that never grows beyond a limit: [`Bounded`].

use std::cmp::Reverse;
use std::collections::HashMap;
use std::hash::Hash;

/// How much it is worth to be kept.
pub(crate) trait Weight {
    fn weight(&self) -> u64;
}

/// A map of at most `MOST` values.
///
/// When it is full and another key comes, the lighter half goes, of equal ones those with the larger keys. What went and
/// comes again begins anew. So what is heavy stays whatever comes besides; and the same input always leaves the same.
#[derive(Clone, Debug)]
pub(crate) struct Bounded<K, V, const MOST: usize>(HashMap<K, V>);

impl<K, V, const MOST: usize> Default for Bounded<K, V, MOST> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<K: Clone + Eq + Hash + Ord, V: Weight, const MOST: usize> Bounded<K, V, MOST> {
    pub(crate) fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        self.0.get_mut(key)
    }

    pub(crate) fn get(&self, key: &K) -> Option<&V> {
        self.0.get(key)
    }

    pub(crate) fn values_mut(&mut self) -> impl Iterator<Item = &mut V> {
        self.0.values_mut()
    }

    /// The value of a key, which is made if there is none; what must go for it is handed out.
    pub(crate) fn entry(&mut self, key: K, make: impl FnOnce() -> V, gone: impl FnMut(V)) -> &mut V {
        if self.0.len() >= MOST && !self.0.contains_key(&key) {
            self.halve(gone);
        }
        self.0.entry(key).or_insert_with(make)
    }

    fn halve(&mut self, mut gone: impl FnMut(V)) {
        let mut keys: Vec<_> =
            self.0.iter().map(|(key, value)| (Reverse(value.weight()), key.clone())).collect();
        keys.sort_unstable();
        for (_, key) in keys.drain(MOST / 2..) {
            self.0.remove(&key).into_iter().for_each(&mut gone);
        }
    }

    /// The heaviest first, of equal ones the smaller keys.
    pub(crate) fn by_weight(&self) -> Vec<(&K, &V)> {
        let mut all: Vec<_> = self.0.iter().collect();
        all.sort_unstable_by_key(|(key, value)| (Reverse(value.weight()), (*key).clone()));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Weight for u64 {
        fn weight(&self) -> u64 {
            *self
        }
    }

    #[test]
    fn the_heavy_stay_and_nothing_is_lost() {
        let mut map = Bounded::<u32, u64, 4>::default();
        let mut gone = 0;
        for key in (0..100).chain([3; 50]) {
            *map.entry(7, || 0, |value| gone += value) += 2;
            *map.entry(key, || 0, |value| gone += value) += 1;
        }
        let left = map.by_weight();
        assert!(left.len() <= 4);
        assert_eq!((left[0], left[1]), ((&7, &301), (&3, &50)));
        assert_eq!(gone + left.iter().map(|(_, value)| **value).sum::<u64>(), 450);
    }
}
