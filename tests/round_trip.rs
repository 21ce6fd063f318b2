//! Laws 4, 5 and 9: what was read can be written.

use arbitrary::{Arbitrary as _, Unstructured};
use kfd_smi_proto::{Event, parse_line};
use kfd_smi_testkit::{corpus, laws};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;

use crate::generate;

#[test]
fn the_driver_s_own_lines_are_written_again() {
    let mut lines = 0;
    for log in corpus::logs() {
        laws::open(&log.bytes);
        let folder = log.path.parent().and_then(|folder| folder.file_name()).unwrap();
        if folder != "hostile" {
            for line in log.bytes.split_inclusive(|byte| *byte == b'\n') {
                laws::round_trip_of_line(line);
                lines += 1;
            }
        }
    }
    assert!(lines > 10_000, "only {lines} lines");
}

proptest! {
    #[test]
    fn what_a_kernel_prints_is_written_again(line in generate::kernel_line()) {
        laws::round_trip_of_line(&line);
    }

    #[test]
    fn what_is_constructed_is_read_again(bytes in vec(any::<u8>(), 0..300), appended in vec(any::<u8>(), 0..20)) {
        if let Ok(event) = Event::arbitrary(&mut Unstructured::new(&bytes)) {
            laws::round_trip_of_event(&event);
            laws::what_is_appended_is_kept(&event, &appended);
        }
    }

    #[test]
    fn what_a_newer_kernel_appends_is_kept(line in generate::kernel_line(), appended in vec(any::<u8>(), 0..20)) {
        laws::what_is_appended_is_kept(&parse_line(&line).event.unwrap(), &appended);
    }

    #[test]
    fn nothing_unknown_is_lost(log in generate::log()) {
        laws::open(&log);
    }

    /// A line that is no event is never mistaken for one by a byte more or less than the kernel prints.
    #[test]
    fn what_is_read_is_what_was_printed(form in generate::form(), values in generate::values()) {
        let line = form.print(&values);
        let event = parse_line(&line).event.unwrap();
        let id = format!("{:x} ", event.id().0);
        prop_assert!(line.starts_with(id.as_bytes()));
        prop_assert!(event.name() != "unknown");
        prop_assert_eq!(event.trailing(), None);
    }
}

/// The generator makes every event, and texts that are not empty: else the laws above say little.
#[test]
fn the_generator_reaches_every_event() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let strategy = vec(any::<u8>(), 300);
    let mut seen = std::collections::BTreeMap::<&str, u32>::new();
    for _ in 0..3000 {
        let bytes = strategy.new_tree(&mut runner).unwrap().current();
        let event = Event::arbitrary(&mut Unstructured::new(&bytes)).unwrap();
        *seen.entry(event.name()).or_default() += 1;
        let has_text = event.task_name().is_some_and(|name| !name.as_bytes().is_empty());
        *seen.entry("with a name").or_default() += u32::from(has_text);
        *seen.entry("with trailing bytes").or_default() += u32::from(event.trailing().is_some());
    }
    assert_eq!(seen.len(), 17, "{seen:?}");
    assert!(seen.values().all(|count| *count > 20), "{seen:?}");
}
