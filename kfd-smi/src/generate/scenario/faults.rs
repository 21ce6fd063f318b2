//! Pages that move to the GPUs and back.

use kfd_smi_proto::{
    Access, EvictionTrigger, FaultOutcome, Location, MigrateTrigger, Migration, PageNumber, PageRange,
    UnmapTrigger,
};

use crate::generate::plan::Plan;
use crate::generate::world::Task;

/// What migrations fail with: no memory, a copy that failed, a mapping that is gone.
const ERRORS: [i32; 3] = [-12, -5, -22];

pub(super) fn operate(plan: &mut Plan<'_>, task: &mut Task) {
    let gpu = plan.world.any_gpu();
    let range = plan.world.rng.index(task.ranges.len());
    match (plan.world.rng.below(16), task.xnack) {
        (0..=7, true) => gpu_fault(plan, task, range, gpu),
        (8, true) => failing_fault(plan, task, range, gpu),
        (0..=8, false) => prefetch(plan, task, range, gpu),
        (9..=12, _) => cpu_fault(plan, task, range),
        (13, _) => evict_memory(plan, task, range),
        (14, _) => unmap(plan, task, range),
        _ => stale_fault(plan, task, range, gpu),
    }
    plan.pause(20_000, 1_000_000);
}

/// `7`, then `8 … U` at once: what was touched is where it should be, or may be used from where it is.
fn stale_fault(plan: &mut Plan<'_>, task: &Task, range: usize, gpu: usize) {
    fault(plan, task, range, gpu, |_| FaultOutcome::UPDATED);
}

/// A GPU touches pages that are elsewhere.
pub(super) fn gpu_fault(plan: &mut Plan<'_>, task: &mut Task, range: usize, gpu: usize) {
    let place = task.ranges[range].place;
    if place == Some(gpu) {
        return stale_fault(plan, task, range, gpu);
    }
    fault(plan, task, range, gpu, |plan| {
        // From one GPU to another it goes through system memory, each way to the clients of its GPU.
        if let Some(from) = place {
            migrate(plan, task, range, Way::Back(from), MigrateTrigger::PAGEFAULT_GPU, 0);
        }
        migrate(plan, task, range, Way::There(gpu), MigrateTrigger::PAGEFAULT_GPU, 0);
        FaultOutcome::MIGRATED
    });
    task.ranges[range].place = Some(gpu);
}

/// Pages cannot move to the GPU, so it uses them where they are; if they are on another GPU, they must move first, and
/// where that fails, too, the fault has no end, and comes again.
fn failing_fault(plan: &mut Plan<'_>, task: &mut Task, range: usize, gpu: usize) {
    let error = plan.world.rng.pick(&ERRORS);
    let trigger = MigrateTrigger::PAGEFAULT_GPU;
    match task.ranges[range].place {
        Some(from) if from != gpu => {
            let (page, access) = touch(plan, task, range);
            for error in [error, 0] {
                plan.fault_start(gpu, task.pid, page, access);
                plan.wait(1_000, 5_000);
                migrate(plan, task, range, Way::Back(from), trigger, error);
                plan.wait(20_000, 200_000);
            }
            migrate(plan, task, range, Way::There(gpu), trigger, 0);
            plan.fault_end(gpu, task.pid, page, FaultOutcome::MIGRATED);
            task.ranges[range].place = Some(gpu);
        }
        Some(_) => stale_fault(plan, task, range, gpu),
        None => fault(plan, task, range, gpu, |plan| {
            migrate(plan, task, range, Way::There(gpu), trigger, error);
            FaultOutcome::MIGRATED
        }),
    }
}

/// The CPU touches pages that are on a GPU; of its faults the driver says nothing.
pub(super) fn cpu_fault(plan: &mut Plan<'_>, task: &mut Task, range: usize) {
    if let Some(gpu) = task.ranges[range].place.take() {
        migrate(plan, task, range, Way::Back(gpu), MigrateTrigger::PAGEFAULT_CPU, 0);
    }
}

/// A GPU's memory is needed for something else; it is tried up to three times.
fn evict_memory(plan: &mut Plan<'_>, task: &mut Task, range: usize) {
    if let Some(gpu) = task.ranges[range].place.take() {
        let error = plan.world.rng.pick(&ERRORS);
        for _ in 0..plan.world.rng.below(3) {
            migrate(plan, task, range, Way::Back(gpu), MigrateTrigger::TTM_EVICTION, error);
        }
        migrate(plan, task, range, Way::Back(gpu), MigrateTrigger::TTM_EVICTION, 0);
    }
}

/// The program gives memory back, or the CPU's page table changes: every GPU forgets the pages.
fn unmap(plan: &mut Plan<'_>, task: &mut Task, range: usize) {
    let pages = task.ranges[range].pages;
    let trigger = plan.world.rng.pick(&[UnmapTrigger::UNMAP_FROM_CPU, UnmapTrigger::MMU_NOTIFY]);
    for gpu in 0..plan.world.gpus.len() {
        plan.unmap(gpu, task.pid, pages, trigger);
    }
    if trigger == UnmapTrigger::UNMAP_FROM_CPU {
        task.ranges[range].place = None;
    }
}

/// The program asks for pages to move. Where GPUs cannot retry, their queues must stand still while they do.
fn prefetch(plan: &mut Plan<'_>, task: &mut Task, range: usize, gpu: usize) {
    let (way, place) = match task.ranges[range].place {
        Some(from) => (Way::Back(from), None),
        None => (Way::There(gpu), Some(gpu)),
    };
    let migration = way.migration(plan, task, range, MigrateTrigger::PREFETCH);
    plan.migrate_start(way.gpu(), migration);
    plan.wait(1_000, 4_000);
    plan.evict_everywhere(task.pid, EvictionTrigger::SVM);
    copy(plan, migration);
    plan.migrate_end(way.gpu(), migration, 0);
    plan.wait(200_000, 2_000_000);
    while plan.world.rng.once_in(4) {
        plan.reschedule(gpu, task.pid);
        plan.wait(1_000_000, 2_000_000);
    }
    plan.restore_everywhere(task.pid);
    task.ranges[range].place = place;
}

/// A fault that is handled in some way.
fn fault(
    plan: &mut Plan<'_>,
    task: &Task,
    range: usize,
    gpu: usize,
    handle: impl FnOnce(&mut Plan<'_>) -> FaultOutcome,
) {
    let (page, access) = touch(plan, task, range);
    plan.fault_start(gpu, task.pid, page, access);
    plan.wait(500, 5_000);
    let outcome = handle(plan);
    plan.wait(1_000, 20_000);
    plan.fault_end(gpu, task.pid, page, outcome);
}

/// How many pages of a range are touched.
///
/// Few, so that what is never ended comes again sooner or later: it is bounded, and a program that makes pairs of the
/// events needs no more memory than it has.
const HOT_PAGES: u64 = 8;

/// A page of a range, and what is wanted of it.
pub(super) fn touch(plan: &mut Plan<'_>, task: &Task, range: usize) -> (PageNumber, Access) {
    let PageRange { start, count } = task.ranges[range].pages;
    let hot = count.0.min(HOT_PAGES);
    let page = PageNumber(start.0 + count.0 / hot * plan.world.rng.below(hot));
    (page, if plan.world.rng.once_in(3) { Access::WRITE } else { Access::READ })
}

/// Where pages go.
#[derive(Clone, Copy)]
pub(super) enum Way {
    /// From system memory to a GPU.
    There(usize),
    /// From a GPU to system memory.
    Back(usize),
}

impl Way {
    const fn gpu(self) -> usize {
        match self {
            Self::There(gpu) | Self::Back(gpu) => gpu,
        }
    }

    fn migration(self, plan: &Plan<'_>, task: &Task, range: usize, trigger: MigrateTrigger) -> Migration {
        let device = Location(plan.world.gpus[self.gpu()].id.0);
        let (from, to) = match self {
            Self::There(_) => (Location::SYSTEM, device),
            Self::Back(_) => (device, Location::SYSTEM),
        };
        Migration { pid: task.pid, range: task.ranges[range].pages, from, to, trigger }
    }
}

/// Pages move, or fail to: up to 6.12, that has no end.
pub(super) fn migrate(
    plan: &mut Plan<'_>,
    task: &Task,
    range: usize,
    way: Way,
    trigger: MigrateTrigger,
    error: i32,
) {
    let migration = way.migration(plan, task, range, trigger);
    plan.migrate_start(way.gpu(), migration);
    if error == 0 {
        if !plan.world.rng.once_in(3) {
            plan.wait(500, 3_000);
            plan.unmap(way.gpu(), task.pid, migration.range, UnmapTrigger::MMU_NOTIFY_MIGRATE);
        }
        copy(plan, migration);
        plan.migrate_end(way.gpu(), migration, 0);
    } else if plan.world.kernel.has_error_codes() {
        plan.wait(2_000, 30_000);
        plan.migrate_end(way.gpu(), migration, error);
    }
    plan.wait(500, 4_000);
}

/// As long as it takes: some microseconds, and 4 KiB at 8 to 25 GB/s.
fn copy(plan: &mut Plan<'_>, migration: Migration) {
    let pages = migration.range.count.0;
    plan.wait(8_000 + pages * 160, 20_000 + pages * 500);
}
