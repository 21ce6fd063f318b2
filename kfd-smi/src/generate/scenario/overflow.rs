//! More events than the kernel's buffer holds while nobody reads it.

use kfd_smi_proto::FaultOutcome;

use super::faults;
use crate::generate::plan::Plan;
use crate::generate::world::Task;

/// A burst of faults, at half of the times while the reader is away.
pub(super) fn operate(plan: &mut Plan<'_>, task: &Task) {
    if plan.world.rng.once_in(2) {
        plan.away(500_000, 5_000_000);
    }
    let gpu = plan.world.any_gpu();
    let range = plan.world.rng.index(task.ranges.len());
    // One to three times what the buffer holds.
    let fill = plan.world.kernel.fifo_size() as u64 / 90;
    for _ in 0..plan.world.rng.range(fill, 3 * fill) {
        if plan.world.kernel.has_svm() {
            let (page, access) = faults::touch(plan, task, range);
            plan.fault_start(gpu, task.pid, page, access);
            plan.wait(300, 2_000);
            plan.fault_end(gpu, task.pid, page, FaultOutcome::UPDATED);
        } else {
            plan.vm_fault(gpu, task.tid, task.comm);
        }
        plan.wait(200, 2_000);
    }
    plan.pause(1_000_000, 20_000_000);
}
