//! Which records are printed.

use kfd_smi_proto::{Event, GpuId};

use crate::cli::Select;
use crate::record::Record;

impl Select {
    /// Whether every option that was given lets the record through.
    pub(crate) fn keeps(&self, record: &Record<'_>) -> bool {
        let event = record.event.as_ref().ok();
        (self.events.is_empty() || self.events.iter().any(|name| name == record.name()))
            && (self.pids.is_empty() || event.is_some_and(|event| self.keeps_pid(event)))
            && (self.gpus.is_empty() || self.keeps_gpu(record))
            && (!self.trusted_only || !record.trust.is_forgeable())
    }

    fn keeps_pid(&self, event: &Event<'_>) -> bool {
        event.pid().is_some_and(|pid| self.pids.contains(&pid.as_unsigned()))
    }

    fn keeps_gpu(&self, record: &Record<'_>) -> bool {
        let (from, to) = match &record.event {
            Ok(Event::MigrateStart(start)) => (start.from.gpu(), start.to.gpu()),
            Ok(Event::MigrateEnd(end)) => (end.from.gpu(), end.to.gpu()),
            Ok(event) => (event.gpu(), None),
            Err(_) => (None, None),
        };
        let wanted = |gpu: Option<GpuId>| gpu.is_some_and(|gpu| self.gpus.contains(&gpu));
        wanted(record.origin.gpu) || wanted(from) || wanted(to)
    }
}
