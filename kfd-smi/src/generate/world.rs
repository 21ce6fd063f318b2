//! The machine that is made up: [`World`], its GPUs, its processes.

use kfd_smi_proto::{GpuId, PageCount, PageNumber, PageRange, Pid};

use super::kernel::Kernel;
use super::names::{Name, ORDINARY};
use super::rng::Rng;

/// What all scenarios share.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) rng: Rng,
    pub(crate) kernel: Kernel,
    pub(crate) gpus: Vec<Gpu>,
    /// The process that reads the driver, and so is one of its processes.
    pub(crate) recorder: Pid,
    /// The first nanosecond since boot.
    pub(crate) begin: u64,
    last_pid: i32,
    jobs: u32,
}

/// A GPU.
#[derive(Debug)]
pub(crate) struct Gpu {
    pub(crate) id: GpuId,
    pub(crate) unique_id: u64,
    /// How many resets there were.
    pub(crate) resets: u32,
    /// How many thermal interrupts there were.
    pub(crate) interrupts: u64,
}

/// A process with queues on every GPU.
#[derive(Debug)]
pub(crate) struct Task {
    pub(crate) pid: Pid,
    /// The thread that set up the address spaces, often the main one.
    pub(crate) tid: Pid,
    pub(crate) comm: &'static Name,
    /// The number of its job, for its control group.
    pub(crate) job: u32,
    /// Whether the GPUs retry its faults.
    pub(crate) xnack: bool,
    pub(crate) ranges: Vec<Range>,
    /// How many times it will be busy before it exits.
    pub(crate) phases: u64,
}

/// Memory of a process.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Range {
    pub(crate) pages: PageRange,
    /// The GPU it is on, by its place in the list; `None` is system memory.
    pub(crate) place: Option<usize>,
}

/// The most memory ranges of a process: what is never ended is bounded by the keys there can be.
const RANGES: u64 = 12;

/// Linux counts pids up to here on large machines, then from [`FIRST_PID`] on again.
const MOST_PIDS: i32 = 4_194_304;

/// No pid below is made up, so those in names are nobody's.
const FIRST_PID: i32 = 4096;

impl World {
    pub(crate) fn new(seed: u64, kernel: Kernel, gpus: usize) -> Self {
        let mut rng = Rng::new(seed);
        let begin = rng.range(1_000_000_000_000, 99_000_000_000_000);
        let mut world = Self { rng, kernel, gpus: vec![], recorder: Pid(0), begin, last_pid: 0, jobs: 0 };
        while world.gpus.len() < gpus {
            // 16 bits of a checksum, made unique.
            let id = GpuId(world.rng.range(0x100, 0xffff) as u32);
            if world.gpus.iter().all(|gpu| gpu.id != id) {
                let unique_id = world.rng.next() | 1 << 63;
                world.gpus.push(Gpu { id, unique_id, resets: 0, interrupts: 0 });
            }
        }
        world.last_pid = FIRST_PID + world.rng.below(200_000) as i32;
        world.recorder = world.new_pid();
        world
    }

    pub(crate) fn any_gpu(&mut self) -> usize {
        self.rng.index(self.gpus.len())
    }

    /// The next pid that the kernel gives.
    pub(crate) fn new_pid(&mut self) -> Pid {
        self.last_pid += self.rng.range(1, 9) as i32;
        if self.last_pid >= MOST_PIDS {
            self.last_pid = FIRST_PID;
        }
        Pid(self.last_pid)
    }

    /// A process that begins.
    pub(crate) fn new_task(&mut self) -> Task {
        let pid = self.new_pid();
        let tid = if self.rng.once_in(4) { self.new_pid() } else { pid };
        self.jobs += 1;
        let comm = &ORDINARY[self.rng.index(ORDINARY.len())];
        let mut start = 0x7_f000_0000 + self.rng.below(0x800_0000);
        let mut ranges = vec![];
        for _ in 0..self.rng.range(4, RANGES) {
            // Blocks of 2 MiB most of the time, single pages, and everything between.
            let pages = match self.rng.below(8) {
                0 => 1,
                1..=4 => 0x200,
                5 => self.rng.range(2, 0x1ff),
                _ => 0x200 * self.rng.range(2, 64),
            };
            let range = PageRange { start: PageNumber(start), count: PageCount(pages) };
            ranges.push(Range { pages: range, place: None });
            start += pages + self.rng.range(1, 0x1000);
        }
        // Most are short; some run for long.
        let phases = if self.rng.once_in(3) { self.rng.range(40, 200) } else { self.rng.range(3, 15) };
        let xnack = self.rng.once_in(2);
        Task { pid, tid, comm, job: self.jobs, xnack, ranges, phases }
    }
}
