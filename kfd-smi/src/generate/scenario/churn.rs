//! Queues that are evicted and restored.

use kfd_smi_proto::EvictionTrigger;

use crate::generate::plan::Plan;
use crate::generate::world::Task;

/// Whether the process survives.
pub(super) fn operate(plan: &mut Plan<'_>, task: &Task) -> bool {
    const TRIGGERS: [EvictionTrigger; 3] =
        [EvictionTrigger::TTM, EvictionTrigger::USERPTR, EvictionTrigger::SVM];
    if plan.world.rng.once_in(40) {
        checkpoint(plan, task);
    } else {
        // Each reason to evict needs a restore of its own.
        let depth = if plan.world.rng.once_in(3) { plan.world.rng.range(2, 3) } else { 1 };
        for _ in 0..depth {
            let trigger = plan.world.rng.pick(&TRIGGERS);
            plan.evict_everywhere(task.pid, trigger);
            plan.wait(100_000, 4_000_000);
        }
        if plan.world.rng.once_in(30) {
            // A process that exits while it is evicted is never restored.
            return false;
        }
        for _ in 0..depth {
            plan.wait(500_000, 20_000_000);
            while plan.world.rng.once_in(3) {
                let gpu = plan.world.any_gpu();
                plan.reschedule(gpu, task.pid);
                plan.wait(1_000_000, 3_000_000);
            }
            plan.restore_everywhere(task.pid);
        }
    }
    plan.pause(500_000, 30_000_000);
    true
}

/// The process is stopped, looked at, and goes on.
fn checkpoint(plan: &mut Plan<'_>, task: &Task) {
    plan.evict_everywhere(task.pid, EvictionTrigger::CRIU_CHECKPOINT);
    plan.wait(20_000_000, 200_000_000);
    plan.restore_everywhere(task.pid);
}
