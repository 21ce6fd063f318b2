//! A log as a job with too little memory on the GPU makes it: [`realistic`].

use super::{NOTHING, Random, SpeedLog, form};
use crate::kernel::Values;

/// The GPUs, and how often each is the one.
const GPUS: [(u64, u32); 4] = [(70, 0x3180), (25, 0xf3b8), (3, 0x57d6), (2, 0x16f8)];

/// How many pages are moved at once.
const SIZES: [(u64, u64); 9] = [
    (370, 0x200),
    (125, 1),
    (125, 0x100),
    (105, 0x1000),
    (105, 0x10),
    (100, 0x20),
    (30, 0x80),
    (20, 0x400),
    (20, 4),
];

/// One of the processes: its pid, and where its memory begins.
type Process = (i32, u64);

const PROCESSES: [(u64, Process); 3] =
    [(44, (4048, 0x7_f5fa_3e00)), (30, (166_520, 0x7_f8f1_5200)), (26, (113_870, 0x7_f266_be00))];

/// Page faults of three processes on four GPUs with the migrations that follow, migrations back to memory, bursts of
/// unmaps; now and then an eviction, and rarely anything else. As Linux 6.13 and later print them, 49 bytes a line.
///
/// At least `size` bytes: the last cycle is whole.
#[must_use]
pub fn realistic(seed: u64, size: usize) -> SpeedLog {
    let mut node = Node { log: SpeedLog::new("realistic"), random: Random(seed), nanos: 260_131_219_525_781 };
    while node.log.bytes.len() < size {
        let process = node.random.weighted(&PROCESSES);
        let gpu = node.random.weighted(&GPUS);
        match node.random.below(1000) {
            0..684 => node.fault_and_migrate(process, gpu),
            684..794 => node.fault_without_migration(process, gpu),
            794..904 => node.migrate_back(process, gpu),
            904..966 => node.unmaps(process, gpu),
            966..996 => node.eviction(process, gpu),
            _ => node.something_rare(process),
        }
    }
    node.log
}

/// The machine that the events happen on.
struct Node {
    log: SpeedLog,
    random: Random,
    nanos: i64,
}

impl Node {
    fn print(&mut self, format: &str, after: (u64, u64), values: &Values) {
        self.nanos += self.random.within(after.0, after.1).cast_signed();
        self.log.push(form(format), &Values { nanos: self.nanos, ..values.clone() });
    }

    /// An event of this process on this GPU, somewhere in its memory.
    fn values(&mut self, (pid, memory): Process, gpu: u32) -> Values {
        let address = memory + self.random.below(0x40_000);
        Values { pid, address, from: gpu, ..NOTHING }
    }

    fn fault_and_migrate(&mut self, process: Process, gpu: u32) {
        let size = self.random.weighted(&SIZES);
        let mut fault = self.values(process, gpu);
        fault.letter = usize::from(self.random.chance(600));
        let (home, other) = (self.random.chance(920), self.random.weighted(&GPUS));
        let wish = if self.random.chance(180) { gpu } else { 0 };
        let migration = Values {
            address: fault.address / size * size,
            size,
            from: if home { 0 } else { other },
            to: gpu,
            prefetch: wish,
            preferred: wish,
            trigger: 1,
            error: if self.random.chance(4) { -12 } else { 0 },
            ..fault.clone()
        };
        self.print("7 %lld -%d @%lx(%x) %c\n", (5_000, 30_000), &fault);
        self.print(START, (500, 4_000), &migration);
        self.print(END, (40_000, 400_000), &migration);
        self.print("8 %lld -%d @%lx(%x) %c\n", (500, 4_000), &Values { letter: 0, ..fault });
    }

    fn fault_without_migration(&mut self, process: Process, gpu: u32) {
        let mut fault = self.values(process, gpu);
        fault.letter = usize::from(self.random.chance(600));
        self.print("7 %lld -%d @%lx(%x) %c\n", (5_000, 30_000), &fault);
        self.print("8 %lld -%d @%lx(%x) %c\n", (500, 4_000), &Values { letter: 1, ..fault });
    }

    /// The processor wants the pages, the driver needs the room, or the program asked.
    fn migrate_back(&mut self, process: Process, gpu: u32) {
        let size = self.random.weighted(&SIZES);
        let mut migration = self.values(process, gpu);
        migration.address = migration.address / size * size;
        migration.size = size;
        migration.trigger = self.random.weighted(&[(75, 2), (27, 3), (19, 0)]);
        self.print(START, (5_000, 30_000), &migration);
        self.print(END, (40_000, 400_000), &migration);
    }

    fn unmaps(&mut self, process: Process, gpu: u32) {
        for _ in 0..self.random.within(3, 15) {
            let mut unmap = self.values(process, gpu);
            unmap.size = self.random.digits(16, 4).max(1);
            unmap.trigger = self.random.below(3) as i32;
            self.print("b %lld -%d @%lx(%lx) %x %d\n", (3_000, 30_000), &unmap);
        }
    }

    fn eviction(&mut self, process: Process, gpu: u32) {
        let mut eviction = self.values(process, gpu);
        eviction.trigger = self.random.below(4) as i32;
        self.print("9 %lld -%d %x %d\n", (5_000, 30_000), &eviction);
        let is_rescheduled = self.random.chance(60);
        let restore = if is_rescheduled { "a %lld -%d %x %c\n" } else { "a %lld -%d %x\n" };
        self.print(restore, (50_000, 900_000), &eviction);
    }

    fn something_rare(&mut self, process: Process) {
        let mut values = self.values(process, 0);
        values.from = self.random.digits(16, 3) as u32;
        let (format, text) = self.random.pick(&[
            ("1 %x:%s\n", "rocprofv3"),
            ("2 %llx:%llx\n", ""),
            ("3 %x %s\n", "user trigger"),
            ("3 %x %s\n", "ring timeout"),
            ("4 %x %s\n", "ring timeout"),
        ]);
        values.text = text.into();
        if format.starts_with('2') {
            values.address = 1 << self.random.below(60);
            values.size = self.random.digits(16, 5);
        }
        self.print(format, (5_000, 30_000), &values);
    }
}

const START: &str = "5 %lld -%d @%lx(%lx) %x->%x %x:%x %d\n";
const END: &str = "6 %lld -%d @%lx(%lx) %x->%x %d %d\n";
