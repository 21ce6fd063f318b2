//! GPUs that are reset.

use kfd_smi_proto::{EvictionTrigger, Pid};

use crate::generate::kernel::Kernel;
use crate::generate::plan::Plan;

/// What the kernel gives as the reason.
const CAUSES: [&[u8]; 8] = [
    b"job hang on ring:gfx_0.0.0",
    b"job hang on ring:sdma0",
    b"job hang",
    b"RAS error",
    b"MES hang",
    b"HWS hang",
    b"user trigger",
    b"unknown",
];

/// How long until the next one.
pub(crate) fn pause(plan: &mut Plan<'_>) {
    plan.pause(1_000_000_000, 5_000_000_000);
}

/// A GPU, or all that are linked, is reset. The queues of every process on every GPU are suspended, and never restored.
pub(crate) fn reset(plan: &mut Plan<'_>, tasks: &[Pid]) {
    let count = plan.world.gpus.len();
    let gpus = if plan.world.rng.once_in(4) { 0..count } else { one(plan) };
    let cause = match plan.world.rng.index(CAUSES.len() + 1) {
        more if more == CAUSES.len() && plan.world.kernel >= Kernel::V6_16 => b"user queue trigger",
        index => CAUSES[index % CAUSES.len()],
    };
    for gpu in gpus.clone() {
        plan.pre_reset(gpu, cause);
        plan.wait(1_000, 10_000);
    }
    if plan.world.kernel.has_svm() {
        let recorder = plan.world.recorder;
        for pid in tasks.iter().chain([&recorder]) {
            plan.evict_everywhere(*pid, EvictionTrigger::SUSPEND);
            plan.wait(20_000, 400_000);
        }
    }
    plan.wait(200_000_000, 1_500_000_000);
    // Some never come back.
    let returns = !plan.world.rng.once_in(5);
    for gpu in gpus.filter(|_| returns) {
        plan.post_reset(gpu);
        plan.wait(1_000, 10_000);
    }
}

fn one(plan: &mut Plan<'_>) -> std::ops::Range<usize> {
    let gpu = plan.world.any_gpu();
    gpu..gpu + 1
}
