//! The same log through a `Decoder`, in chunks as reads give them.

use std::hint::black_box;

use criterion::Criterion;

use crate::cpu_time::CpuTime;
use crate::line::throughput;
use crate::{logs, ours};

pub(crate) fn define(criterion: &mut Criterion<CpuTime>) {
    let log = logs::of_corpus("realistic");
    let mut group = criterion.benchmark_group("decoder");
    group.throughput(throughput(&log));
    group.bench_function("whole slice", |bencher| {
        bencher.iter(|| assert_eq!(ours::whole(black_box(&log.bytes)).fields, log.checksum));
    });
    for size in [8, 96, 1024, 8192] {
        group.bench_function(size.to_string(), |bencher| {
            bencher.iter(|| {
                let read = ours::decode(black_box(&log.bytes), size);
                assert_eq!(read.fields, log.checksum);
            });
        });
    }
    group.finish();
}
