//! Logs and captures, from memory and from a file.

use std::fs::File;
use std::hint::black_box;
use std::io::{BufRead, BufReader, Seek as _, Write as _};

use criterion::Criterion;
use kfd_smi_io::capture::{Entry, Header, RawLog, Recorder, Replay};
use kfd_smi_io::{GpuId, Record};
use kfd_smi_proto::{BootNanos, lines};
use kfd_smi_testkit::checksum::Checksum;
use kfd_smi_testkit::speed::realistic;

use crate::cpu_time::CpuTime;
use crate::line::throughput;
use crate::ours::Read;

/// More than the caches of a core hold.
const SIZE: usize = 8 << 20;

pub(crate) fn define(criterion: &mut Criterion<CpuTime>) {
    let log = realistic(1, SIZE);
    let capture = capture_of(&log.bytes);
    let mut group = criterion.benchmark_group("replay");
    group.sample_size(20).throughput(throughput(&log));

    group.bench_function("log in memory", |bencher| {
        bencher.iter(|| assert_eq!(read_log(black_box(&log.bytes[..])), log.checksum));
    });
    let file = temporary(&log.bytes);
    group.bench_function("log in a file", |bencher| {
        bencher.iter(|| assert_eq!(read_log(again(&file)), log.checksum));
    });
    group.bench_function("capture in memory", |bencher| {
        bencher.iter(|| assert_eq!(read_capture(black_box(&capture[..])), log.checksum));
    });
    let file = temporary(&capture);
    group.bench_function("capture in a file", |bencher| {
        bencher
            .iter(|| assert_eq!(read_capture(BufReader::with_capacity(1 << 17, again(&file))), log.checksum));
    });
    group.finish();
}

fn read_log(reader: impl std::io::Read) -> Checksum {
    let mut read = Read::default();
    let mut log = RawLog::new(reader);
    while let Some(record) = log.next_record().expect("it can be read") {
        read.line(&record.line);
    }
    read.fields
}

fn read_capture(reader: impl BufRead) -> Checksum {
    let mut read = Read::default();
    let mut replay = Replay::new(reader);
    while let Some(entry) = replay.next_entry().expect("it can be read") {
        match entry {
            Entry::Record(record) => read.line(&record.line),
            Entry::Segment(_) => {}
            other => panic!("{other:?}"),
        }
    }
    read.fields
}

/// The log as one GPU's: each line came a microsecond after its time.
fn capture_of(log: &[u8]) -> Vec<u8> {
    let mut recorder = Recorder::new(vec![], &Header::default());
    let mut arrival = BootNanos::MIN;
    for line in lines(log) {
        let time = line.event.ok().and_then(|event| event.time());
        arrival = time.and_then(|time| BootNanos::new(time.nanos() + 1000)).unwrap_or(arrival);
        let record = Record::new(Some(GpuId(0x3180)), Some(arrival), line);
        recorder.record(&record).expect("memory can be written");
    }
    recorder.finish().expect("memory can be written")
}

/// A file of these bytes; it is in the page cache, so the disk is not measured.
fn temporary(bytes: &[u8]) -> File {
    let mut file = tempfile::tempfile().expect("a file in the folder for temporary files");
    file.write_all(bytes).expect("room for some MB");
    file
}

fn again(mut file: &File) -> &File {
    file.rewind().expect("a file can be rewound");
    file
}
