//! Values found by a hash, in memory of a fixed size: [`Map`].

use heapless::Vec;

/// Where a value is, for as long as it is there.
pub(super) type Id = u32;

/// No value is there.
pub(super) const NONE: Id = Id::MAX;

/// At most `K` values, in chains by the lower bits of their hashes; `K` is a power of two.
///
/// What hashes alike is compared one by one: a collision costs time and nothing else, at most `K` comparisons.
#[derive(Clone)]
pub(super) struct Map<T, const K: usize> {
    /// It grows up to `K`; what was removed stays in it as free.
    slots: Vec<Slot<T>, K>,
    /// The first of each chain.
    heads: [Id; K],
    /// The first of the chain of free slots.
    free: Id,
    len: usize,
}

#[derive(Clone)]
struct Slot<T> {
    value: T,
    hash: u32,
    /// The next of its chain.
    next: Id,
}

impl<T: Copy, const K: usize> Map<T, K> {
    pub(super) const fn new() -> Self {
        Self { slots: Vec::new(), heads: [NONE; K], free: NONE, len: 0 }
    }

    pub(super) const fn len(&self) -> usize {
        self.len
    }

    const fn bucket(hash: u32) -> usize {
        hash as usize & K.wrapping_sub(1)
    }

    pub(super) fn find(&self, hash: u32, is_it: impl Fn(&T) -> bool) -> Option<Id> {
        let mut id = *self.heads.get(Self::bucket(hash))?;
        loop {
            let slot = self.slots.get(id as usize)?;
            if slot.hash == hash && is_it(&slot.value) {
                return Some(id);
            }
            id = slot.next;
        }
    }

    /// The value of an id that [`find`](Self::find) or [`insert`](Self::insert) gave.
    pub(super) fn value(&self, id: Id) -> Option<&T> {
        self.slots.get(id as usize).map(|slot| &slot.value)
    }

    pub(super) fn value_mut(&mut self, id: Id) -> Option<&mut T> {
        self.slots.get_mut(id as usize).map(|slot| &mut slot.value)
    }

    /// `None` if it is full.
    pub(super) fn insert(&mut self, hash: u32, value: T) -> Option<Id> {
        let head = self.heads.get_mut(Self::bucket(hash))?;
        let new = Slot { value, hash, next: *head };
        let id = match self.slots.get_mut(self.free as usize) {
            Some(slot) => {
                let id = self.free;
                self.free = slot.next;
                *slot = new;
                id
            }
            None => {
                let id = Id::try_from(self.slots.len()).ok()?;
                self.slots.push(new).ok()?;
                id
            }
        };
        *head = id;
        self.len = self.len.saturating_add(1);
        Some(id)
    }

    /// Takes out the value of an id.
    pub(super) fn remove(&mut self, id: Id) -> Option<T> {
        let Slot { value, hash, next } = self.slots.get(id as usize)?.clone();
        let head = self.heads.get_mut(Self::bucket(hash))?;
        if *head == id {
            *head = next;
        } else {
            let mut before = *head;
            loop {
                let slot = self.slots.get_mut(before as usize)?;
                if slot.next == id {
                    slot.next = next;
                    break;
                }
                before = slot.next;
            }
        }
        if let Some(slot) = self.slots.get_mut(id as usize) {
            slot.next = self.free;
            self.free = id;
        }
        self.len = self.len.saturating_sub(1);
        Some(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_hashes_alike_is_told_apart() {
        let mut map = Map::<char, 4>::new();
        let find = |map: &Map<char, 4>, hash, is| map.find(hash, |value| *value == is);
        let [a, b, c] = [(7, 'a'), (7, 'b'), (3, 'c')].map(|(hash, value)| map.insert(hash, value).unwrap());
        assert_eq!((find(&map, 7, 'a'), find(&map, 7, 'b'), find(&map, 3, 'c')), (Some(a), Some(b), Some(c)));
        assert_eq!((find(&map, 3, 'a'), find(&map, 0, 'a')), (None, None));
        // From the middle of the chain, its end, its beginning.
        assert_eq!(map.remove(b), Some('b'));
        assert_eq!((find(&map, 7, 'a'), find(&map, 7, 'b'), find(&map, 3, 'c')), (Some(a), None, Some(c)));
        assert_eq!((map.remove(a), map.remove(c), map.len()), (Some('a'), Some('c'), 0));
        assert_eq!(find(&map, 3, 'c'), None);
    }

    #[test]
    fn it_holds_as_many_as_it_says_again_and_again() {
        let mut map = Map::<u32, 2>::new();
        for round in 0..5 {
            let (first, second) = (map.insert(round, 1).unwrap(), map.insert(round + 1, 2).unwrap());
            assert_eq!((map.insert(0, 3), map.len()), (None, 2));
            assert_eq!((map.value(first), map.value(second), map.value(NONE)), (Some(&1), Some(&2), None));
            *map.value_mut(first).unwrap() = 4;
            assert_eq!((map.remove(first), map.remove(second)), (Some(4), Some(2)));
        }
    }
}
