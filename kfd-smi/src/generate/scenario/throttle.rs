//! GPUs that are too hot.

use kfd_smi_proto::{Throttler, Throttlers};

use crate::generate::plan::Plan;

/// Powers, currents, temperatures: what MI200 and MI300 report.
const THROTTLERS: [Throttler; 6] = [
    Throttler::PPT0,
    Throttler::TDC_GFX,
    Throttler::TEMP_HOTSPOT,
    Throttler::TEMP_MEM,
    Throttler::TEMP_VR_GFX,
    Throttler::PROCHOT_GFX,
];

/// A GPU says why it slowed down, and how many times it did; most of them are not said one by one.
pub(crate) fn operate(plan: &mut Plan<'_>) {
    plan.pause(200_000_000, 2_000_000_000);
    let gpu = plan.world.any_gpu();
    plan.world.gpus[gpu].interrupts += match plan.world.rng.below(4) {
        0 => plan.world.rng.range(2, 40),
        _ => 1,
    };
    let bits = if plan.world.kernel.has_common_throttlers() {
        let first = plan.world.rng.pick(&THROTTLERS);
        let second = plan.world.rng.pick(&THROTTLERS);
        1 << first.bit() | 1 << second.bit()
    } else {
        // 32 bits, which mean something else on each chip.
        plan.world.rng.range(1, 0x3_ffff)
    };
    plan.throttle(gpu, Throttlers(bits));
}
