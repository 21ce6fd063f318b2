//! One range that goes to and fro, and storms of faults on it.

use kfd_smi_proto::FaultOutcome;

use super::faults;
use crate::generate::plan::Plan;
use crate::generate::world::Task;

pub(super) fn operate(plan: &mut Plan<'_>, task: &mut Task) {
    let range = plan.world.rng.index(task.ranges.len());
    if plan.world.rng.once_in(3) {
        storm(plan, task, range);
    } else {
        ping_pong(plan, task, range);
    }
    plan.pause(500_000, 5_000_000);
}

/// CPU and GPU use the same pages in turn.
fn ping_pong(plan: &mut Plan<'_>, task: &mut Task, range: usize) {
    let gpu = plan.world.any_gpu();
    for _ in 0..plan.world.rng.range(5, 20) {
        faults::gpu_fault(plan, task, range, gpu);
        plan.wait(20_000, 200_000);
        faults::cpu_fault(plan, task, range);
        plan.wait(20_000, 200_000);
    }
}

/// Page after page, some of them again before the first fault was handled: that has no end of its own.
fn storm(plan: &mut Plan<'_>, task: &Task, range: usize) {
    let gpu = plan.world.any_gpu();
    for _ in 0..plan.world.rng.range(20, 80) {
        let (page, access) = faults::touch(plan, task, range);
        plan.fault_start(gpu, task.pid, page, access);
        while plan.world.rng.once_in(8) {
            plan.wait(5_000, 50_000);
            plan.fault_start(gpu, task.pid, page, access);
        }
        plan.wait(1_000, 8_000);
        plan.fault_end(gpu, task.pid, page, FaultOutcome::UPDATED);
        plan.wait(200, 3_000);
    }
}
