//! Criterion by CPU time: [`CpuTime`].

use std::time::Duration;

use criterion::measurement::{Measurement, ValueFormatter, WallTime};

use crate::clock::cpu_time;

/// The CPU time of the thread, shown as criterion shows times.
pub(crate) struct CpuTime(pub(crate) WallTime);

impl Measurement for CpuTime {
    type Intermediate = Duration;
    type Value = Duration;

    fn start(&self) -> Duration {
        cpu_time()
    }

    fn end(&self, start: Duration) -> Duration {
        cpu_time() - start
    }

    fn add(&self, one: &Duration, other: &Duration) -> Duration {
        *one + *other
    }

    fn zero(&self) -> Duration {
        Duration::ZERO
    }

    fn to_f64(&self, value: &Duration) -> f64 {
        value.as_nanos() as f64
    }

    fn formatter(&self) -> &dyn ValueFormatter {
        self.0.formatter()
    }
}
