//! Replay in the time in which it was recorded, or a part of it: [`Pace`].

use std::thread;
use std::time::{Duration, Instant};

use kfd_smi_proto::BootNanos;

/// Waits between two records as long as it took then, divided by a number.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    speed: f64,
    /// When the first record was shown, and when it came.
    begun: Option<(Instant, BootNanos)>,
}

impl Pace {
    pub(crate) fn new(speed: f64) -> Self {
        Self { speed, begun: None }
    }

    /// How long to wait for a record that came at this time.
    pub(crate) fn until(&mut self, arrival: BootNanos) -> Option<Duration> {
        let (begun, first) = *self.begun.get_or_insert_with(|| (Instant::now(), arrival));
        let then = Duration::from_nanos(arrival.nanos().saturating_sub(first.nanos()));
        let then = Duration::try_from_secs_f64(then.as_secs_f64() / self.speed).ok()?;
        then.checked_sub(begun.elapsed()).filter(|wait| !wait.is_zero())
    }

    pub(crate) fn wait(wait: Duration) {
        thread::sleep(wait);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_record_waits_for_nothing_and_an_earlier_one_neither() {
        let at = |seconds: u64| BootNanos::new(seconds * 1_000_000_000).unwrap();
        let mut pace = Pace::new(10.0);
        assert_eq!(pace.until(at(1000)), None);
        assert_eq!(pace.until(at(900)), None);
        let wait = pace.until(at(2000)).unwrap();
        assert!(wait <= Duration::from_secs(100) && wait > Duration::from_secs(50), "{wait:?}");
    }
}
