//! Trust: a process that forges lines through its name is always found out.

use kfd_smi_testkit::{chunks, corpus, laws};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use crate::generate;

/// A name as a hostile process chooses it: at most 15 bytes, newlines among them, no NUL.
fn hostile_name() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![
        3 => Just(b'\n'),
        1 => 1..=u8::MAX,
        4 => select(b"0123456789abcdef :-".to_vec()),
    ];
    let forged = select(vec![
        &b"a\n9 1 -2 3 4"[..],
        b"\n3 1",
        b"\n1 5:x\n1 5:y",
        b"\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n",
        b"\nc 5 \nd 5 ",
    ]);
    prop_oneof![vec(byte, 0..=15), forged.prop_map(<[u8]>::to_vec)]
}

/// An event without its newline; those that carry a name carry a hostile one.
fn event() -> impl Strategy<Value = Vec<u8>> {
    let head = select(vec![&b"1 2559e:"[..], b"c 2559e ", b"d 7 "]);
    let named = (head, hostile_name()).prop_map(|(head, name)| [head, &name].concat());
    let other = generate::kernel_line().prop_filter_map("it carries a name", |line| {
        let line = line.strip_suffix(b"\n")?.to_vec();
        (!matches!(line[0], b'1' | b'c' | b'd')).then_some(line)
    });
    prop_oneof![named, other]
}

proptest! {
    #[test]
    fn no_forged_line_goes_unmarked(events in vec(event(), 0..12)) {
        laws::forged_lines_are_marked(&events);
    }

    #[test]
    fn what_is_marked_is_what_a_name_leaves(
        events in vec(event(), 0..12),
        log in generate::log(),
        sizes in vec(1..40_usize, 0..6),
        drained in vec(any::<bool>(), 1..6),
    ) {
        let events: Vec<u8> = events.join(&b'\n');
        laws::trust_is_what_names_leave(&events, &sizes, &drained);
        laws::trust_is_what_names_leave(&[events, log].join(&b'\n'), &sizes, &drained);
    }
}

#[test]
fn marks_in_the_corpus_are_what_names_leave() {
    for log in corpus::logs() {
        for sizes in chunks::USUAL {
            laws::trust_is_what_names_leave(&log.bytes, sizes, &[false, true, true]);
        }
    }
}

/// The law can fail: a name longer than any kernel keeps is not found out.
#[test]
#[should_panic(expected = "not marked")]
fn the_law_notices_a_line_without_mark() {
    laws::forged_lines_are_marked(&[b"1 5:a\n9 14601738586508 -2 3 4".to_vec()]);
}
