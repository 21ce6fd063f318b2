//! Events to lines, and `core::fmt` for the same.

use std::hint::black_box;

use criterion::Criterion;
use kfd_smi_proto::{Event, lines};

use crate::cpu_time::CpuTime;
use crate::line::throughput;
use crate::{formatter, logs};

pub(crate) fn define(criterion: &mut Criterion<CpuTime>) {
    for log in [logs::of_corpus("realistic"), logs::of_corpus("uniform")] {
        let events: Vec<Event<'_>> =
            lines(&log.bytes).map(|line| line.event.expect("the log has events only")).collect();
        let mut group = criterion.benchmark_group(format!("encoder/{}", log.name));
        group.throughput(throughput(&log));
        let mut room = vec![0; log.bytes.len()];
        type Write = fn(&[Event<'_>], &mut [u8]) -> usize;
        for (name, write) in [("ours", formatter::ours as Write), ("core::fmt", formatter::by_fmt)] {
            group.bench_function(name, |bencher| {
                bencher.iter(|| {
                    assert_eq!(write(black_box(&events), &mut room), log.bytes.len());
                    assert!(room == log.bytes);
                });
            });
        }
        group.finish();
    }
}
