//! Which process had how many events: [`Pids`].

use std::collections::{BTreeMap, BTreeSet};

use kfd_smi_proto::Pid;

use super::Counts;

/// So many are listed.
const LISTED: usize = 256;

/// When so many of those that are gone are kept, the least busy of them are put together.
const KEPT: usize = 4 * LISTED;

/// The events of each process, in the memory of those that live and the busiest that are gone: of these the numbers do
/// not change, so whoever is not among them will never be listed.
#[derive(Debug, Default)]
pub(super) struct Pids {
    counts: BTreeMap<u32, Counts>,
    gone: BTreeSet<u32>,
    other: Counts,
}

impl Pids {
    pub(super) fn count(&mut self, pid: Pid, name: &'static str) {
        *self.counts.entry(pid.0.unsigned_abs()).or_default().entry(name).or_default() += 1;
    }

    /// Nothing of it will come any more, but from other GPUs for a moment.
    pub(super) fn gone(&mut self, pid: Pid) {
        self.gone.insert(pid.0.unsigned_abs());
        if self.gone.len() > KEPT {
            // Those that were put in last may still be heard of.
            let mut gone: Vec<_> = self.gone.iter().map(|pid| (total(self.counts.get(pid)), *pid)).collect();
            gone.sort_unstable_by_key(|(total, pid)| (std::cmp::Reverse(*total), *pid));
            for (_, pid) in gone.drain(LISTED..) {
                self.gone.remove(&pid);
                let counts = self.counts.remove(&pid).unwrap_or_default();
                counts.into_iter().for_each(|(name, count)| *self.other.entry(name).or_default() += count);
            }
        }
    }

    /// The busiest by their pids, of equals those with smaller pids; all others together.
    pub(super) fn busiest(&self) -> (BTreeMap<u32, &Counts>, Counts) {
        let mut all: Vec<_> = self.counts.iter().collect();
        all.sort_unstable_by_key(|(pid, counts)| (std::cmp::Reverse(total(Some(counts))), **pid));
        let mut other = self.other.clone();
        for (_, counts) in all.drain(all.len().min(LISTED)..) {
            counts.iter().for_each(|(name, count)| *other.entry(name).or_default() += count);
        }
        (all.into_iter().map(|(pid, counts)| (*pid, counts)).collect(), other)
    }
}

fn total(counts: Option<&Counts>) -> u64 {
    counts.map_or(0, |counts| counts.values().sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_busiest_are_listed_and_nothing_is_forgotten() {
        let mut pids = Pids::default();
        for pid in 1..=10_000 {
            let times = if pid % 100 == 7 { 5 } else { 1 };
            (0..times).for_each(|_| pids.count(Pid(pid), "vmfault"));
            pids.gone(Pid(pid));
            assert!(pids.counts.len() <= KEPT);
        }
        let (busiest, other) = pids.busiest();
        assert_eq!(busiest.len(), LISTED);
        assert_eq!(busiest.values().filter(|counts| total(Some(counts)) == 5).count(), 100);
        let listed: u64 = busiest.values().map(|counts| total(Some(counts))).sum();
        assert_eq!(listed + total(Some(&other)), 10_000 + 400);
    }
}
