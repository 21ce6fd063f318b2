//! The clock that everything is measured by.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// How long this thread has had a processor, in user code and in system calls. What other programs do to the machine counts
/// far less than in wall-clock time.
pub(crate) fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.cast_unsigned(), time.tv_nsec as u32)
}
