//! Laws 1 to 3 and 6: nothing is lost, whatever the input and however it is cut.

use kfd_smi_testkit::{chunks, corpus, laws};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::generate;

#[test]
fn the_laws_hold_on_the_corpus() {
    for log in corpus::logs() {
        laws::total(&log.bytes);
        laws::bounded(&log.bytes);
        for sizes in chunks::USUAL {
            laws::chunking_is_invisible(&log.bytes, sizes);
        }
    }
}

proptest! {
    #[test]
    fn every_byte_is_accounted_for(log in generate::log()) {
        laws::total(&log);
    }

    #[test]
    fn a_line_stands_for_itself(
        before in vec(any::<u8>(), 0..40),
        line in generate::any_line(),
        behind in generate::any_line(),
    ) {
        laws::local(&before, &line, &behind);
    }

    #[test]
    fn chunks_do_not_show(log in generate::log(), sizes in vec(1..200_usize, 0..6)) {
        laws::chunking_is_invisible(&log, &sizes);
    }

    #[test]
    fn memory_is_bounded(log in generate::log()) {
        laws::bounded(&log);
    }
}
