//! A whole log in memory: line → event, and all the rivals.

use std::hint::black_box;

use criterion::{BenchmarkGroup, Criterion, Throughput};
use kfd_smi_testkit::speed::SpeedLog;

use crate::cpu_time::CpuTime;
use crate::{logs, ours, rivals};

pub(crate) fn define(criterion: &mut Criterion<CpuTime>) {
    for log in [logs::of_corpus("realistic"), logs::of_corpus("uniform")] {
        let mut group = criterion.benchmark_group(format!("line/{}", log.name));
        group.throughput(throughput(&log));
        one_log(&mut group, &log);
        group.finish();
    }
}

/// Both: how many lines are a second's worth depends on their length.
pub(crate) fn throughput(log: &SpeedLog) -> Throughput {
    Throughput::ElementsAndBytes { elements: log.lines(), bytes: log.bytes.len() as u64 }
}

fn one_log(group: &mut BenchmarkGroup<'_, CpuTime>, log: &SpeedLog) {
    group.bench_function("ours", |bencher| {
        bencher.iter(|| assert_eq!(ours::whole(black_box(&log.bytes)).fields, log.checksum));
    });
    for (name, read) in rivals::all() {
        group.bench_function(name, |bencher| {
            bencher.iter(|| assert_eq!(read(black_box(&log.bytes)), log.checksum));
        });
    }
    let without_newlines = log.bytes.len() as u64 - log.lines();
    group.bench_function("memchr split", |bencher| {
        bencher.iter(|| {
            assert_eq!(rivals::floors::split(black_box(&log.bytes)), (log.lines(), without_newlines));
        });
    });
    let mut to = vec![0; log.bytes.len()];
    group.bench_function("memcpy", |bencher| {
        bencher.iter(|| {
            rivals::floors::copy(black_box(&log.bytes), &mut to);
            assert_eq!(black_box(&to).last(), Some(&b'\n'));
        });
    });
}
