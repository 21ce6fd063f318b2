//! `vmfault` and `thermal_throttle`: what happens on a GPU and is no reset.

use kfd_smi_proto::{Escaped, Event, GpuId, ThermalThrottle, Throttlers};

use super::{At, Candidate, Rule, Seen, Sink, on};
use crate::amount::Count;
use crate::bounded::{Bounded, Weight};

/// So much of a name tells threads apart: the kernel's names have 15 bytes at most.
const MOST_NAME: usize = 64;

#[derive(Clone, Debug, Default)]
pub(super) struct Gpus {
    /// By thread, its name, and GPU.
    faults: Bounded<(i64, Vec<u8>, Option<GpuId>), Seen, 1024>,
    throttling: Bounded<Option<GpuId>, Throttling, 256>,
}

impl Weight for Seen {
    fn weight(&self) -> u64 {
        self.count
    }
}

#[derive(Clone, Debug)]
struct Throttling {
    seen: Seen,
    /// How often each reason was given.
    reasons: [u64; 64],
    /// The number of interrupts at first and last.
    first: u64,
    last: u64,
}

impl Weight for Throttling {
    fn weight(&self) -> u64 {
        self.seen.count
    }
}

impl Throttling {
    fn add(&mut self, at: &At, throttle: &ThermalThrottle<'_>) {
        self.seen.add(at);
        self.last = throttle.counter;
        for one in throttle.bitmask.iter() {
            self.reasons[usize::from(one.bit()) % 64] += 1;
        }
    }

    /// The reasons, the most frequent first.
    fn reasons(&self) -> String {
        let mut reasons: Vec<_> = Throttlers(u64::MAX)
            .iter()
            .map(|one| (self.reasons[usize::from(one.bit()) % 64], one))
            .filter(|(count, _)| *count > 0)
            .collect();
        reasons.sort_by_key(|(count, one)| (std::cmp::Reverse(*count), one.bit()));
        let reasons: Vec<_> = reasons.iter().map(|(count, one)| format!("{one} {count}")).collect();
        if reasons.is_empty() { "no reason given".to_owned() } else { reasons.join(", ") }
    }
}

impl Gpus {
    pub(super) fn event(&mut self, at: &At, event: &Event<'_>) {
        match event {
            Event::VmFault(fault) => {
                let name = fault.task_name.as_bytes();
                let key =
                    (fault.pid.as_unsigned().into(), name[..name.len().min(MOST_NAME)].to_vec(), at.gpu);
                self.faults.entry(key, Seen::default, drop).add(at);
            }
            Event::ThermalThrottle(throttle) => {
                let first = throttle.counter;
                let none = || Throttling { seen: Seen::default(), reasons: [0; 64], first, last: first };
                self.throttling.entry(at.gpu, none, drop).add(at, throttle);
            }
            _ => {}
        }
    }

    pub(super) fn found(&self, out: &mut Sink<'_, '_>) {
        let faults = self.faults.by_weight().into_iter().map(|((pid, name, gpu), seen)| {
            (seen.count, Candidate { seen: *seen, gpu: *gpu, pid: Some(*pid), what: name.clone() })
        });
        out.rule(Rule::VmFault, faults, |_, one| {
            let (name, faults) = (Escaped(&one.what), Count(one.seen.count, "VM fault"));
            format!("thread {} (\"{name}\") had {faults}{}", one.pid.unwrap_or(0), on(one.gpu))
        });
        let throttling = self.throttling.by_weight().into_iter().map(|(gpu, one)| {
            (one.seen.count, Candidate { seen: one.seen, gpu: *gpu, pid: None, what: one.clone() })
        });
        out.rule(Rule::ThermalThrottle, throttling, |_, one| {
            let Throttling { seen, first, last, .. } = &one.what;
            let gpu = one.gpu.map_or_else(|| "a GPU".to_owned(), |gpu| format!("GPU {gpu}"));
            let reasons = one.what.reasons();
            let count = Count(seen.count, "event");
            format!(
                "{gpu} was throttled, {count}: {reasons}; the number of its interrupts went from {first} to {last}"
            )
        });
    }
}
