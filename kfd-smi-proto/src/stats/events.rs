//! How many events of each kind there were: [`EventCounts`].

use crate::event::Event;
use crate::id::EventId;

/// How many events of each kind there were: of a log, a GPU, a process. It takes 120 bytes.
///
/// ```
/// use kfd_smi_proto::{EventCounts, lines};
///
/// let mut counts = EventCounts::default();
/// for line in lines(b"3 1\n4 1 \n3 2\nf new\ngarbage\n") {
///     if let Ok(event) = line.event {
///         counts.count(&event);
///     }
/// }
/// let seen: Vec<_> = counts.iter().filter(|(_, count)| *count > 0).collect();
/// assert_eq!(seen, [("gpu_pre_reset", 2), ("gpu_post_reset", 1), ("unknown", 1)]);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct EventCounts {
    /// In the order of [`EventId::KNOWN`].
    known: [u64; EventId::KNOWN.len()],
    /// Reports of lost events, under either id.
    pub dropped_events: u64,
    /// Events of other ids.
    pub unknown: u64,
}

impl EventCounts {
    pub(super) const ZERO: Self = Self { known: [0; EventId::KNOWN.len()], dropped_events: 0, unknown: 0 };

    /// Adds an event.
    pub fn count(&mut self, event: &Event<'_>) {
        let count = match event {
            Event::DroppedEvents(_) => &mut self.dropped_events,
            Event::Unknown(_) => &mut self.unknown,
            event => {
                let place = EventId::KNOWN.iter().position(|known| *known == event.id());
                match place.and_then(|place| self.known.get_mut(place)) {
                    Some(count) => count,
                    None => &mut self.unknown,
                }
            }
        };
        *count = count.saturating_add(1);
    }

    /// Adds others.
    pub fn merge(&mut self, other: &Self) {
        add_each(&mut self.known, &other.known);
        self.dropped_events = self.dropped_events.saturating_add(other.dropped_events);
        self.unknown = self.unknown.saturating_add(other.unknown);
    }

    /// Each name with its number, those of which there were none too: known ids in their order, then
    /// `dropped_events`, then `unknown`.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let known = EventId::KNOWN.iter().filter_map(|id| id.name()).zip(self.known);
        known.chain([("dropped_events", self.dropped_events), ("unknown", self.unknown)])
    }

    /// How many events with a name of [`Event::name`] there were; 0 for others.
    #[must_use]
    pub fn of(&self, name: &str) -> u64 {
        self.iter().find(|(is, _)| *is == name).map_or(0, |(_, count)| count)
    }
}

/// Adds one list to another.
pub(super) fn add_each(sums: &mut [u64], others: &[u64]) {
    for (sum, more) in sums.iter_mut().zip(others) {
        *sum = sum.saturating_add(*more);
    }
}

/// Adds one to the place of a trigger in a list that has one more place, the last, for unknown triggers.
pub(super) fn count_trigger(counts: &mut [u64], trigger: i32) {
    let last = counts.len().saturating_sub(1);
    let place = usize::try_from(trigger).map_or(last, |place| place.min(last));
    if let Some(count) = counts.get_mut(place) {
        *count = count.saturating_add(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_triggers_go_to_the_last_place() {
        let mut counts = [0; 3];
        for trigger in [0, 1, 1, 2, 3, i32::MAX, -1, i32::MIN] {
            count_trigger(&mut counts, trigger);
        }
        assert_eq!(counts, [1, 2, 5]);
    }

    #[test]
    fn every_event_has_a_place() {
        let mut counts = EventCounts::default();
        for line in [
            "1 5:a",
            "2 1:2",
            "3 1",
            "4 1",
            "c 5 a",
            "d 5 a",
            "9 1 -2 3 4",
            "a 1 -2 3",
            "e 1 -2 3",
            "c 100000000 -2 5",
            "f x",
        ] {
            counts.count(&crate::parse_line(line.as_bytes()).event.unwrap());
        }
        assert_eq!(counts.iter().map(|(_, count)| count).sum::<u64>(), 11);
        assert_eq!(
            (counts.of("dropped_events"), counts.of("process_start"), counts.of("no such")),
            (2, 1, 0)
        );
        let mut twice = counts;
        twice.merge(&counts);
        assert!(twice.iter().zip(counts.iter()).all(|(twice, once)| twice.1 == once.1 * 2));
    }
}
