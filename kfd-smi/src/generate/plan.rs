//! What happens next and when: [`Plan`].

use std::collections::VecDeque;

use kfd_smi_proto::{
    Access, BootNanos, Event, EvictionTrigger, FaultOutcome, GpuReset, Location, MigrateEnd, MigrateStart,
    MigrateTrigger, Migration, PageFaultEnd, PageFaultStart, PageNumber, PageRange, Pid, Process,
    QueueEviction, QueueRestore, ResetCause, RestoreFlag, TaskName, ThermalThrottle, Throttlers,
    UnmapFromGpu, UnmapTrigger, VmFault,
};

use super::names::Name;
use super::world::World;

/// Something that happens at a time, in nanoseconds since boot.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    pub(crate) at: u64,
    pub(crate) what: What,
}

/// What happens.
#[derive(Clone, Copy, Debug)]
pub(crate) enum What {
    /// The driver inserts an event for the clients of a GPU, by its place in the list.
    Event(usize, Emission),
    /// A process is gone from all GPUs: none of what it began will end.
    Gone(Pid, Pid),
    /// Whoever reads the driver does something else up to this time.
    Away(u64),
    /// Nothing: a pause.
    Pause,
}

/// An event of the driver, whole.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Emission {
    /// Its first line; a name in it ends at its first newline.
    pub(crate) event: Event<'static>,
    /// The name, if newlines in it make more lines of the event.
    pub(crate) name: Option<&'static Name>,
}

/// The steps of one task of the kernel: each line is formatted, then inserted, then comes the next.
pub(crate) struct Plan<'a> {
    pub(crate) world: &'a mut World,
    steps: &'a mut VecDeque<Step>,
    now: u64,
}

impl<'a> Plan<'a> {
    /// From this time on, behind what is planned.
    pub(crate) fn new(world: &'a mut World, steps: &'a mut VecDeque<Step>, now: u64) -> Self {
        let now = steps.back().map_or(now, |step| step.at.max(now));
        Self { world, steps, now }
    }

    pub(crate) const fn now(&self) -> u64 {
        self.now
    }

    /// Lets time pass: from so many nanoseconds to so many.
    pub(crate) fn wait(&mut self, least: u64, most: u64) {
        self.now += self.world.rng.range(least, most);
    }

    /// Does nothing for a while.
    pub(crate) fn pause(&mut self, least: u64, most: u64) {
        self.wait(least, most);
        self.push(What::Pause);
    }

    /// From here on, nobody reads the driver for a while.
    pub(crate) fn away(&mut self, least: u64, most: u64) {
        let until = self.now + self.world.rng.range(least, most);
        self.push(What::Away(until));
    }

    pub(crate) fn gone(&mut self, pid: Pid, tid: Pid) {
        self.push(What::Gone(pid, tid));
    }

    fn push(&mut self, what: What) {
        self.steps.push_back(Step { at: self.now, what });
    }

    fn time(&self) -> BootNanos {
        BootNanos::new(self.now).unwrap_or(BootNanos::MAX)
    }

    fn emit(&mut self, gpu: usize, event: Event<'static>) {
        self.emit_named(gpu, event, None);
    }

    /// A line is formatted before the lock is taken, so another one can overtake it.
    fn emit_named(&mut self, gpu: usize, event: Event<'static>, name: Option<&'static Name>) {
        let lag = if self.world.rng.once_in(24) { (2_000, 30_000) } else { (60, 400) };
        self.wait(lag.0, lag.1);
        self.push(What::Event(gpu, Emission { event, name }));
    }

    /// MIGRATE_START. It goes to the clients of the GPU at one of the ends.
    pub(crate) fn migrate_start(&mut self, gpu: usize, migration: Migration) {
        let Migration { pid, range, from, to, trigger } = migration;
        let is_prefetch = trigger == MigrateTrigger::PREFETCH;
        let prefetch_loc = if is_prefetch { to } else { Location::UNDEFINED };
        let preferred_loc = match self.world.rng.below(4) {
            0 => Location(self.world.gpus[gpu].id.0),
            1 if is_prefetch => Location::SYSTEM,
            _ => Location::UNDEFINED,
        };
        let time = self.time();
        let start =
            MigrateStart { time, pid, range, from, to, prefetch_loc, preferred_loc, trigger, trailing: None };
        self.emit(gpu, Event::MigrateStart(start));
    }

    /// MIGRATE_END; the code is left out where the kernel does not print it.
    pub(crate) fn migrate_end(&mut self, gpu: usize, migration: Migration, error_code: i32) {
        let error_code = self.world.kernel.has_error_codes().then_some(error_code);
        if let Ok(end) = MigrateEnd::new(self.time(), migration, error_code, None) {
            self.emit(gpu, Event::MigrateEnd(end));
        }
    }

    /// PAGE_FAULT_START carries the time at which the driver began, before it waited for its locks.
    pub(crate) fn fault_start(&mut self, gpu: usize, pid: Pid, page: PageNumber, access: Access) {
        let (time, node) = (self.time(), self.world.gpus[gpu].id);
        let locks = if self.world.rng.once_in(4) { (5_000, 60_000) } else { (200, 900) };
        self.wait(locks.0, locks.1);
        let start = PageFaultStart { time, pid, page, node, access, trailing: None };
        self.emit(gpu, Event::PageFaultStart(start));
    }

    pub(crate) fn fault_end(&mut self, gpu: usize, pid: Pid, page: PageNumber, outcome: FaultOutcome) {
        let (time, node) = (self.time(), self.world.gpus[gpu].id);
        let end = PageFaultEnd { time, pid, page, node, outcome, trailing: None };
        self.emit(gpu, Event::PageFaultEnd(end));
    }

    pub(crate) fn unmap(&mut self, gpu: usize, pid: Pid, range: PageRange, trigger: UnmapTrigger) {
        let (time, node) = (self.time(), self.world.gpus[gpu].id);
        let unmap = UnmapFromGpu { time, pid, range, node, trigger, trailing: None };
        self.emit(gpu, Event::UnmapFromGpu(unmap));
    }

    pub(crate) fn evict(&mut self, gpu: usize, pid: Pid, trigger: EvictionTrigger) {
        let (time, node) = (self.time(), self.world.gpus[gpu].id);
        let eviction = QueueEviction { time, pid, node, trigger, trailing: None };
        self.emit(gpu, Event::QueueEviction(eviction));
    }

    /// QUEUE_EVICTION to the clients of every GPU.
    pub(crate) fn evict_everywhere(&mut self, pid: Pid, trigger: EvictionTrigger) {
        (0..self.world.gpus.len()).for_each(|gpu| self.evict(gpu, pid, trigger));
    }

    /// QUEUE_RESTORE to the clients of every GPU.
    pub(crate) fn restore_everywhere(&mut self, pid: Pid) {
        let flag = self.world.kernel.restored();
        (0..self.world.gpus.len()).for_each(|gpu| self.restore(gpu, pid, flag));
    }

    /// The restore is put off, on the GPU that it failed on.
    pub(crate) fn reschedule(&mut self, gpu: usize, pid: Pid) {
        self.restore(gpu, pid, RestoreFlag::RESCHEDULED);
    }

    fn restore(&mut self, gpu: usize, pid: Pid, flag: RestoreFlag) {
        let node = self.world.gpus[gpu].id;
        if let Ok(restore) = QueueRestore::new(self.time(), pid, node, flag, None) {
            self.emit(gpu, Event::QueueRestore(restore));
        }
    }

    pub(crate) fn pre_reset(&mut self, gpu: usize, cause: &'static [u8]) {
        self.world.gpus[gpu].resets += 1;
        let reset = self.reset(gpu, cause);
        self.emit(gpu, Event::GpuPreReset(reset));
    }

    pub(crate) fn post_reset(&mut self, gpu: usize) {
        let reset = self.reset(gpu, b"");
        self.emit(gpu, Event::GpuPostReset(reset));
    }

    fn reset(&self, gpu: usize, cause: &'static [u8]) -> GpuReset<'static> {
        let has_causes = self.world.kernel.has_causes();
        let cause = ResetCause::new(cause).ok().filter(|_| has_causes);
        GpuReset { reset_seq: self.world.gpus[gpu].resets, cause }
    }

    pub(crate) fn throttle(&mut self, gpu: usize, bitmask: Throttlers) {
        let counter = self.world.gpus[gpu].interrupts;
        self.emit(gpu, Event::ThermalThrottle(ThermalThrottle { bitmask, counter, trailing: None }));
    }

    pub(crate) fn vm_fault(&mut self, gpu: usize, tid: Pid, name: &'static Name) {
        self.named(gpu, name, |task_name| Event::VmFault(VmFault { pid: tid, task_name }));
    }

    /// PROCESS_START, where the kernel has it.
    pub(crate) fn process_start(&mut self, gpu: usize, tid: Pid, name: &'static Name) {
        if self.world.kernel.has_processes() {
            self.named(gpu, name, |task_name| Event::ProcessStart(Process { pid: tid, task_name }));
        }
    }

    /// PROCESS_END, where the kernel has it.
    pub(crate) fn process_end(&mut self, gpu: usize, tid: Pid, name: &'static Name) {
        if self.world.kernel.has_processes() {
            self.named(gpu, name, |task_name| Event::ProcessEnd(Process { pid: tid, task_name }));
        }
    }

    fn named(
        &mut self,
        gpu: usize,
        name: &'static Name,
        event: impl FnOnce(TaskName<'static>) -> Event<'static>,
    ) {
        if let Ok(first) = TaskName::new(name.first()) {
            let forging = name.bytes.contains(&b'\n').then_some(name);
            self.emit_named(gpu, event(first), forging);
        }
    }
}
