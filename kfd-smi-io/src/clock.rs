//! One moment on three clocks: [`Clock`].

use kfd_smi_proto::BootNanos;
use rustix::time::{ClockId, clock_gettime};

/// One moment as three clocks show it, in nanoseconds: what makes wall-clock time of the time since boot.
///
/// ```
/// use kfd_smi_io::Clock;
///
/// let clock = Clock::now();
/// assert_eq!(clock.realtime_of(clock.boot), clock.realtime);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "these are the three clocks that a log has to do with")]
pub struct Clock {
    /// `CLOCK_BOOTTIME`: since boot, time spent suspended included. Events and arrivals are in it.
    pub boot: BootNanos,
    /// `CLOCK_REALTIME`: since 1970, UTC. It can be set, forwards and backwards.
    pub realtime: i64,
    /// `CLOCK_MONOTONIC`: since boot, time spent suspended left out. The kernel log is in it.
    pub monotonic: i64,
}

impl Clock {
    /// This moment.
    #[must_use]
    pub fn now() -> Self {
        // The other two are read close around the one that they are compared with, to be off by as little as can be.
        let realtime = nanos(ClockId::Realtime);
        let boot = nanos(ClockId::Boottime);
        let monotonic = nanos(ClockId::Monotonic);
        let boot = u64::try_from(boot).ok().and_then(BootNanos::new).unwrap_or(BootNanos::MAX);
        Self { boot, realtime, monotonic }
    }

    /// The time since 1970 of a time since boot, as long as neither clock was set between it and this moment.
    #[must_use]
    pub const fn realtime_of(self, time: BootNanos) -> i64 {
        self.realtime.saturating_add(self.since(time))
    }

    /// The monotonic time of a time since boot, as long as the system was not suspended between it and this moment.
    #[must_use]
    pub const fn monotonic_of(self, time: BootNanos) -> i64 {
        self.monotonic.saturating_add(self.since(time))
    }

    /// From this moment to that time.
    const fn since(self, time: BootNanos) -> i64 {
        // Both are below 2^63.
        time.nanos().cast_signed().saturating_sub(self.boot.nanos().cast_signed())
    }
}

fn nanos(clock: ClockId) -> i64 {
    let time = clock_gettime(clock);
    time.tv_sec.saturating_mul(1_000_000_000).saturating_add(time.tv_nsec)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_moved_by_the_difference_of_the_clocks() {
        let boot = |nanos| BootNanos::new(nanos).unwrap();
        let clock = Clock { boot: boot(100), realtime: 1_000_000, monotonic: 40 };
        assert_eq!((clock.realtime_of(boot(150)), clock.monotonic_of(boot(150))), (1_000_050, 90));
        assert_eq!((clock.realtime_of(boot(0)), clock.monotonic_of(boot(0))), (999_900, -60));
        assert_eq!(Clock { realtime: i64::MAX, ..clock }.realtime_of(BootNanos::MAX), i64::MAX);
    }

    #[test]
    fn now_is_now() {
        let (first, second) = (Clock::now(), Clock::now());
        assert!(first.boot <= second.boot && first.monotonic <= second.monotonic);
        assert!(first.realtime > 1_600_000_000_000_000_000);
    }
}
