//! Pairing and statistics: against a model, for lines in any order; and over the corpus.

use core::time::Duration;
use std::collections::BTreeSet;

use kfd_smi_proto::{BootNanos, GpuId, Paired, Pairer, SpanKind, lines};
use kfd_smi_testkit::corpus;
use kfd_smi_testkit::pair_law;
use kfd_smi_testkit::pair_model::{Model, Step};
use proptest::collection::vec;
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn pairing_is_as_the_model_says(data in vec(any::<u8>(), 0..1500)) {
        pair_law::pair(&data);
    }

    #[test]
    fn statistics_of_parts_are_those_of_the_whole(data in vec(any::<u8>(), 0..1000), cut in 0_usize..200) {
        pair_law::statistics_add_up(&pair_law::steps(&data), cut);
    }

    #[test]
    fn percentiles_are_less_than_one_percent_off(
        numbers in vec((any::<u64>(), 0..64_u32).prop_map(|(value, width)| value >> width), 0..300),
        cut in 0_usize..300,
    ) {
        pair_law::quantiles_are_near(&numbers, cut);
    }
}

/// Bytes that look random and are always the same.
fn bytes(seed: u64, count: usize) -> Vec<u8> {
    let mut state = seed;
    let next = || {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (state >> 56) as u8
    };
    core::iter::repeat_with(next).take(count).collect()
}

/// What the laws are tried on reaches every result of every kind that there can be.
#[test]
fn the_steps_reach_every_result() {
    let mut seen = BTreeSet::new();
    for seed in 0..100 {
        let mut pairer = Pairer::<4>::new();
        let mut roomy = Pairer::<64>::new();
        for step in pair_law::steps(&bytes(seed, 3000)) {
            let mut note = |paired: Paired| {
                seen.insert(match paired {
                    Paired::Interval(interval) => {
                        let span = interval.span;
                        let merged = if span.merged > 0 { " merged" } else { "" };
                        let forged = if span.forgeable { " forgeable" } else { "" };
                        format!("{:?}{merged}{forged}", span.activity.kind())
                    }
                    Paired::Abandoned(span, reason) => format!("{:?} {reason:?}", span.activity.kind()),
                    other => format!("{other:?}"),
                });
            };
            match &step {
                Step::Expire(now) => {
                    pairer.expire(*now, &mut note);
                    roomy.expire(*now, &mut note);
                }
                Step::Line { bytes, forgeable, gpu, arrival } => {
                    let line = Step::line(bytes, *forgeable);
                    pairer.pair(&line, *gpu, *arrival, &mut note);
                    roomy.pair(&line, *gpu, *arrival, &mut note);
                }
            }
        }
    }
    let mut expected = BTreeSet::from(["Rescheduled", "NestedEnd(Queue)"].map(String::from));
    for kind in SpanKind::ALL {
        expected.insert(format!("Merged({kind:?})"));
        expected.insert(format!("OrphanEnd({kind:?})"));
        expected.insert(format!("{kind:?}"));
        expected.insert(format!("{kind:?} forgeable"));
        expected.insert(format!("{kind:?} PushedOut"));
        if kind != SpanKind::Reset {
            // A reset that comes again gives up the earlier one.
            expected.insert(format!("{kind:?} merged"));
        }
        if kind != SpanKind::Process {
            expected.insert(format!("{kind:?} Reset"));
        }
        if !matches!(kind, SpanKind::Process | SpanKind::Reset) {
            expected.insert(format!("{kind:?} ProcessEnd"));
        }
    }
    expected.extend(["Migrate Expired", "PageFault Expired"].map(String::from));
    assert_eq!(seen, expected);
}

fn step(line: &str) -> Step {
    Step::Line { bytes: line.into(), forgeable: false, gpu: Some(GpuId(1)), arrival: None }
}

/// The law can fail: the model has other rules than the pairer.
#[test]
#[should_panic(expected = "at step 1 of")]
fn the_law_notices_another_expiry() {
    let steps = [step("7 0 -1 @1(1) R"), step("7 5000000000 -1 @1(1) R")];
    pair_law::agree(&steps, Pairer::<4>::new(), Model::new(4, Duration::from_secs(1)));
}

#[test]
#[should_panic(expected = "at step 2 of")]
fn the_law_notices_another_bound() {
    let steps = [step("9 0 -1 1 0"), step("9 0 -2 1 0"), step("9 0 -3 1 0")];
    pair_law::agree(&steps, Pairer::<2>::new(), Model::new(4, Duration::from_secs(10)));
}

#[test]
fn an_expiry_can_be_any_time() {
    let steps = [step("7 0 -1 @1(1) R"), step("7 9223372036854775807 -1 @1(1) R"), step("8 0 -1 @1(1) U")];
    pair_law::agree(
        &steps,
        Pairer::<4>::with_expiry(Duration::MAX),
        Model::new(4, Duration::from_secs(1 << 34)),
    );
}

/// A process that floods the pairer with faults that never end leaves the suspension of another alone.
#[test]
fn a_flood_of_one_process_hides_no_other() {
    let mut pairer: Box<Pairer> = Box::default();
    let mut put = |line: &str| {
        let mut intervals = vec![];
        pairer.pair(&kfd_smi_proto::parse_line(line.as_bytes()), None, None, |paired| {
            if let Paired::Interval(interval) = paired {
                intervals.push(interval);
            }
        });
        intervals
    };
    put("9 1000 -1 1ea0 2");
    for page in 0..100_000 {
        put(&format!("7 {page} -2 @{page:x}(1ea0) R"));
    }
    let intervals = put("a 5000 -1 1ea0 0");
    assert_eq!(intervals[0].duration(), Some(4000));
    assert_eq!(pairer.open().count(), 256);
    assert_eq!(pairer.counts().page_fault.pushed_out, 100_000 - 256);
}

/// The corpus adds up, too; its logs were printed by kernels' formats.
#[test]
fn the_corpus_adds_up() {
    let mut intervals = 0;
    for log in corpus::logs() {
        let steps: Vec<Step> = lines(&log.bytes)
            .map(|line| Step::Line {
                bytes: line.bytes.to_vec(),
                forgeable: line.trust.is_forgeable(),
                gpu: None,
                arrival: BootNanos::new(line.offset),
            })
            .collect();
        let steps = &steps[..steps.len().min(1000)];
        pair_law::agree(steps, Pairer::<16>::new(), Model::new(16, Duration::from_secs(10)));
        pair_law::statistics_add_up(steps, steps.len() / 2);
        let mut pairer = Pairer::<16>::new();
        for line in lines(&log.bytes) {
            pairer.pair(&line, None, None, |paired| {
                intervals += usize::from(matches!(paired, Paired::Interval(_)));
            });
        }
    }
    assert!(intervals > 0);
}
