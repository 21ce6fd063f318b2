//! What each part costs, and its rivals beside it: one file per subject.
//!
//! `cargo bench -p benches --bench benches -- decoder` measures one of them.

use criterion::Criterion;
use criterion::measurement::WallTime;

use crate::cpu_time::CpuTime;

mod clock;
mod cpu_time;
mod decoder;
mod encoder;
mod formatter;
mod line;
mod logs;
mod ours;
mod reader;
mod replay;
mod rivals;

fn main() {
    for rival in rivals::native::MISSING {
        println!("left out: {rival}");
    }
    let mut criterion = Criterion::default().with_measurement(CpuTime(WallTime)).configure_from_args();
    line::define(&mut criterion);
    decoder::define(&mut criterion);
    reader::define(&mut criterion);
    encoder::define(&mut criterion);
    replay::define(&mut criterion);
    criterion.final_summary();
}
