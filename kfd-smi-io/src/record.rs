//! Where live reading, captures and raw logs meet: [`Record`].

use kfd_smi_proto::{BootNanos, GpuId, Line};

/// A line of the driver, and when and from which GPU it came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Record<'a> {
    /// The GPU whose file descriptor carried the line; `None` where that is not known, as in a raw log.
    pub gpu: Option<GpuId>,
    /// When the read that completed the line returned, in nanoseconds since boot (`CLOCK_BOOTTIME`); `None`
    /// where that is not known, as in a raw log.
    pub arrival: Option<BootNanos>,
    /// The line. Its `offset` counts the bytes of its own source.
    pub line: Line<'a>,
}

impl<'a> Record<'a> {
    /// A line with its origin.
    #[must_use]
    pub const fn new(gpu: Option<GpuId>, arrival: Option<BootNanos>, line: Line<'a>) -> Self {
        Self { gpu, arrival, line }
    }
}
