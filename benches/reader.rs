//! [`EventReader`] with its system calls: `poll` and `read` on socket pairs, which stand for the driver's file descriptors.
//!
//! Filling the sockets is not measured. A socket holds 8 KiB, as the driver's buffer does, so one wake-up has that much to
//! read.

use std::io::Write as _;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use criterion::{Criterion, Throughput};
use kfd_smi_io::{EventReader, GpuId, Next, SmiClient};
use kfd_smi_testkit::speed::{SpeedLog, realistic};

use crate::clock::cpu_time;
use crate::cpu_time::CpuTime;
use crate::ours::Read;

/// What the driver's buffer holds.
const FIFO: usize = 8192;

pub(crate) fn define(criterion: &mut Criterion<CpuTime>) {
    let mut group = criterion.benchmark_group("reader");
    for (gpus, size) in [(1, FIFO - 256), (8, FIFO - 256), (8, 96)] {
        // The generator ends its last cycle, which may be longer than so many bytes.
        let log = realistic(1, size);
        let (lines, bytes) = (log.lines() * gpus, log.bytes.len() as u64 * gpus);
        group.throughput(Throughput::ElementsAndBytes { elements: lines, bytes });
        let mut node = Node::new(gpus as u32);
        group.bench_function(format!("{gpus} GPUs, {} bytes each", log.bytes.len()), |bencher| {
            bencher.iter_custom(|rounds| (0..rounds).map(|_| node.round(&log)).sum());
        });
    }
    group.finish();
}

struct Node {
    reader: EventReader,
    ends: Vec<UnixStream>,
}

impl Node {
    fn new(gpus: u32) -> Self {
        let mut reader = EventReader::new().expect("an eventfd");
        let ends = (1..=gpus).map(|gpu| {
            let (ours, theirs) = UnixStream::pair().expect("a socket pair");
            theirs.set_nonblocking(true).expect("a socket that does not block");
            reader.add(SmiClient::from_fd(GpuId(gpu), OwnedFd::from(theirs)));
            ours
        });
        let ends = ends.collect();
        Self { reader, ends }
    }

    /// Everything that was written, until nothing more is there.
    fn round(&mut self, log: &SpeedLog) -> Duration {
        for end in &mut self.ends {
            end.write_all(&log.bytes).expect("the socket holds it");
        }
        let begin = cpu_time();
        let mut read = Read::default();
        loop {
            match self.reader.try_next().expect("poll") {
                Next::Record(record) => read.line(&record.line),
                Next::TimedOut => break,
                // The socket is not the driver's buffer; how full it is means nothing.
                Next::Full(_) => {}
                other => panic!("{other:?}"),
            }
        }
        let took = cpu_time() - begin;
        assert_eq!(read.fields.lines(), log.lines() * self.ends.len() as u64);
        if let [_] = self.ends[..] {
            assert_eq!(read.fields, log.checksum);
        }
        took
    }
}
