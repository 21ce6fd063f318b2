//! Processes that end by VM faults.

use crate::generate::plan::Plan;
use crate::generate::world::Task;

/// Several waves fault at the same time, and the process seldom survives. Whether it does.
pub(super) fn operate(plan: &mut Plan<'_>, task: &Task) -> bool {
    let gpu = plan.world.any_gpu();
    for _ in 0..plan.world.rng.range(1, 5) {
        plan.vm_fault(gpu, task.tid, task.comm);
        plan.wait(2_000, 300_000);
    }
    plan.pause(1_000_000, 20_000_000);
    plan.world.rng.once_in(3)
}
