//! What each part costs, and its rivals beside it: one file per subject.
//!
//! `cargo bench -p benches --bench benches -- decoder` measures one of them.

use criterion::Criterion;

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
    let mut criterion = Criterion::default().configure_from_args();
    line::define(&mut criterion);
    decoder::define(&mut criterion);
    reader::define(&mut criterion);
    encoder::define(&mut criterion);
    replay::define(&mut criterion);
    criterion.final_summary();
}
