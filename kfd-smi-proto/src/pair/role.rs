//! What an event is to pairing: [`Role`].

use super::span::{Activity, Key};
use crate::event::{Event, FaultOutcome};

/// An event that begins something, or ends it.
pub(super) enum Role {
    Start(Activity),
    End(Key, Ending),
    /// A restore that was put off: a point, and no end.
    Rescheduled,
}

/// What only the END says.
#[derive(Clone, Copy)]
pub(super) enum Ending {
    Migrate(Option<i32>),
    PageFault(FaultOutcome),
    Other,
}

impl Role {
    pub(super) const fn of(event: &Event<'_>) -> Option<Self> {
        Some(match event {
            Event::MigrateStart(start) => Self::Start(Activity::Migrate {
                migration: start.migration(),
                prefetch_loc: start.prefetch_loc,
                preferred_loc: start.preferred_loc,
                error_code: None,
            }),
            Event::MigrateEnd(end) => {
                Self::End(Key::Migrate(end.migration()), Ending::Migrate(end.error_code()))
            }
            Event::PageFaultStart(fault) => Self::Start(Activity::PageFault {
                pid: fault.pid,
                page: fault.page,
                node: fault.node,
                access: fault.access,
                outcome: None,
            }),
            Event::PageFaultEnd(fault) => Self::End(
                Key::PageFault { pid: fault.pid, page: fault.page, node: fault.node },
                Ending::PageFault(fault.outcome),
            ),
            Event::QueueEviction(eviction) => Self::Start(Activity::Queue {
                pid: eviction.pid,
                node: eviction.node,
                trigger: eviction.trigger,
            }),
            Event::QueueRestore(restore) if restore.restore().is_rescheduled() => Self::Rescheduled,
            Event::QueueRestore(restore) => {
                Self::End(Key::Queue { pid: restore.pid, node: restore.node }, Ending::Other)
            }
            Event::GpuPreReset(reset) => Self::Start(Activity::Reset { reset_seq: reset.reset_seq }),
            Event::GpuPostReset(reset) => Self::End(Key::Reset { reset_seq: reset.reset_seq }, Ending::Other),
            Event::ProcessStart(process) => Self::Start(Activity::Process { pid: process.pid }),
            Event::ProcessEnd(process) => Self::End(Key::Process { pid: process.pid }, Ending::Other),
            _ => return None,
        })
    }
}

impl Ending {
    /// Adds what the END says to what the START said.
    pub(super) const fn complete(self, activity: &mut Activity) {
        match (activity, self) {
            (Activity::Migrate { error_code, .. }, Self::Migrate(of_end)) => *error_code = of_end,
            (Activity::PageFault { outcome, .. }, Self::PageFault(of_end)) => *outcome = Some(of_end),
            _ => {}
        }
    }
}
