//! Names of tasks that forge lines or harm terminals.

use crate::generate::names::{HOSTILE, Name};
use crate::generate::plan::Plan;
use crate::generate::world::Task;

/// A thread calls itself something, and has the driver print it.
pub(super) fn operate(plan: &mut Plan<'_>, task: &Task) {
    let gpu = plan.world.any_gpu();
    match plan.world.rng.below(3) {
        0 if plan.world.kernel.has_processes() => {
            // The name at the end is not that at the beginning.
            let (tid, first, last) = (plan.world.new_pid(), any(plan), any(plan));
            plan.process_start(gpu, tid, first);
            plan.wait(10_000, 2_000_000);
            plan.process_end(gpu, tid, last);
            plan.gone(tid, tid);
        }
        // Short genuine lines right behind a name look as if they were forged.
        1 => {
            for _ in 0..plan.world.rng.range(2, 6) {
                let name = any(plan);
                plan.vm_fault(gpu, task.tid, name);
            }
        }
        _ => {
            let name = any(plan);
            plan.vm_fault(gpu, task.tid, name);
        }
    }
    plan.pause(100_000, 20_000_000);
}

fn any(plan: &mut Plan<'_>) -> &'static Name {
    &HOSTILE[plan.world.rng.index(HOSTILE.len())]
}
