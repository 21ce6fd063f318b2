//! What holds for pairing and for statistics, whatever lines come in whatever order.

use std::collections::BTreeMap;

use arbitrary::{Result, Unstructured};
use kfd_smi_proto::{
    BootNanos, Event, GpuId, Histogram, MAX_LINE, PairCount, Paired, Pairer, SpanKind, Statistics, encode,
};

use crate::pair_model::{Model, Open, Said, Step};

/// All laws, for steps that the bytes stand for.
///
/// # Panics
///
/// If a law does not hold.
pub fn pair(data: &[u8]) {
    let steps = steps(data);
    let (usual, none) = (Pairer::<1>::EXPIRY, core::time::Duration::ZERO);
    agree(&steps, Pairer::<1>::with_expiry(usual), Model::new(1, usual));
    agree(&steps, Pairer::<2>::with_expiry(none), Model::new(2, none));
    agree(&steps, Pairer::<4>::with_expiry(usual), Model::new(4, usual));
    agree(&steps, Pairer::<16>::with_expiry(usual), Model::new(16, usual));
    agree(&steps, Pairer::<64>::with_expiry(none), Model::new(64, none));
    statistics_add_up(&steps, steps.len() / 3);
    gpus_are_apart(&steps);
}

/// Steps that the bytes stand for: few processes, pages and GPUs, so that they meet.
#[must_use]
pub fn steps(data: &[u8]) -> Vec<Step> {
    let mut u = Unstructured::new(data);
    let mut steps = vec![];
    while let Ok(step) = step(&mut u) {
        steps.push(step);
        if u.is_empty() {
            break;
        }
    }
    steps
}

fn step(u: &mut Unstructured<'_>) -> Result<Step> {
    // Seconds, with some nanoseconds between them; they run forwards and backwards as they like.
    let time = |u: &mut Unstructured<'_>| {
        let nanos =
            u64::from(u.int_in_range(0..=15_u8)?) * 1_000_000_000 + u64::from(u.int_in_range(0..=1_u8)?);
        Ok(BootNanos::new(nanos).expect("it is small"))
    };
    if u.ratio(1, 32)? {
        return Ok(Step::Expire(time(u)?));
    }
    let ns = time(u)?.nanos();
    let pid = u.int_in_range(1..=3_u8)?;
    let page = u.int_in_range(1..=2_u8)?;
    let node = u.int_in_range(1..=2_u8)?;
    let bytes = match u.int_in_range(0..=17_u8)? {
        0 | 1 => {
            format!("5 {ns} -{pid} @{page}({page}) 0->{node} 0:ffffffff {}", u.int_in_range(0..=1_u8)?).into()
        }
        2 => format!("5 {ns} -{pid} @{page}(2) {node}->0 1:0 9").into(),
        3 => format!("6 {ns} -{pid} @{page}({page}) 0->{node} {} -12", u.int_in_range(0..=1_u8)?).into(),
        4 => format!("6 {ns} -{pid} @{page}(2) {node}->0 9").into(),
        5 | 6 => format!("7 {ns} -{pid} @{page}({node}) {}", u.choose(&['R', 'W', 'x'])?).into(),
        7 => format!("8 {ns} -{pid} @{page}({node}) {}", u.choose(&['M', 'U', 'x'])?).into(),
        8 | 9 => format!("9 {ns} -{pid} {node} {}", u.int_in_range(0..=6_u8)?).into(),
        10 | 11 => format!("a {ns} -{pid} {node}{}", u.choose(&["", " \0", " 0", " R", " x"])?).into(),
        12 => format!("3 {page} HWS hang").into(),
        13 => format!("4 {page} ").into(),
        14 => format!("c {pid} name").into(),
        15 => format!("d {pid} name").into(),
        16 => {
            // Of its own few bytes: it would take all.
            let length = u.int_in_range(0..=64_u8)?.into();
            let event: Event<'_> = Unstructured::new(u.bytes(length)?).arbitrary()?;
            let mut line = [0; MAX_LINE + 1];
            let line = encode(&event, &mut line).unwrap_or_default();
            line.strip_suffix(b"\n").unwrap_or_default().to_vec()
        }
        _ => {
            let length = u.int_in_range(0..=16_u8)?.into();
            u.bytes(length)?.to_vec()
        }
    };
    let gpu = u.choose(&[None, Some(GpuId(1)), Some(GpuId(1)), Some(GpuId(1)), Some(GpuId(2))])?;
    let arrival = if u.ratio(1, 4)? { None } else { Some(time(u)?) };
    Ok(Step::Line { bytes, forgeable: u.ratio(1, 6)?, gpu: *gpu, arrival })
}

/// What a pairer says of a step.
fn said<const K: usize>(pairer: &mut Pairer<K>, step: &Step) -> Vec<Paired> {
    let mut all = vec![];
    match step {
        Step::Expire(now) => pairer.expire(*now, |paired| all.push(paired)),
        Step::Line { bytes, forgeable, gpu, arrival } => {
            pairer.pair(&Step::line(bytes, *forgeable), *gpu, *arrival, |paired| all.push(paired));
        }
    }
    all
}

/// A pairer says and keeps what the model does; laws 6 and 7: it is bounded, and it adds up.
///
/// # Panics
///
/// If a law does not hold.
pub fn agree<const K: usize>(steps: &[Step], mut pairer: Pairer<K>, mut model: Model) {
    let mut tally: BTreeMap<SpanKind, PairCount> = BTreeMap::new();
    let mut rescheduled = 0;
    for (number, step) in steps.iter().enumerate() {
        let real = said(&mut pairer, step);
        let expected = model.step(step);
        let context = || format!("at step {number} of {steps:?} with room for {K}");
        assert_eq!(real.iter().map(Said::from).collect::<Vec<_>>(), expected, "{}", context());
        let open: Vec<Open> = pairer.open().map(Open::from).collect();
        assert_eq!(open, model.open().collect::<Vec<_>>(), "what is open {}", context());
        assert!(open.len() <= K, "{}", context());

        if let Step::Line { bytes, .. } = step {
            count_line(bytes, &mut tally);
        }
        for said in expected {
            use kfd_smi_proto::AbandonReason::{Expired, ProcessEnd, PushedOut, Reset};
            let (kind, count): (_, fn(&mut PairCount) -> &mut u64) = match said {
                Said::Interval(open, _) => (open.kind(), |count| &mut count.intervals),
                Said::Abandoned(open, PushedOut) => (open.kind(), |count| &mut count.pushed_out),
                Said::Abandoned(open, Expired) => (open.kind(), |count| &mut count.expired),
                Said::Abandoned(open, ProcessEnd) => (open.kind(), |count| &mut count.process_end),
                Said::Abandoned(open, Reset) => (open.kind(), |count| &mut count.reset),
                Said::Abandoned(_, reason) => panic!("{reason:?}"),
                Said::Merged(kind) => (kind, |count| &mut count.merged),
                Said::NestedEnd(kind) => (kind, |count| &mut count.nested_ends),
                Said::OrphanEnd(kind) => (kind, |count| &mut count.orphan_ends),
                Said::Rescheduled => {
                    rescheduled += 1;
                    continue;
                }
            };
            *count(tally.entry(kind).or_default()) += 1;
        }
        assert_eq!(pairer.counts().rescheduled, rescheduled);
        for kind in SpanKind::ALL {
            let count = tally.get(&kind).copied().unwrap_or_default();
            assert_eq!(pairer.counts().of(kind), &count, "{kind:?} {}", context());
            let still = open.iter().filter(|open| open.kind() == kind).count() as u64;
            let abandoned = count.pushed_out + count.expired + count.process_end + count.reset;
            assert_eq!(count.starts, count.intervals + still + abandoned + count.merged, "{}", context());
            assert_eq!(count.ends, count.intervals + count.nested_ends + count.orphan_ends, "{}", context());
            assert_eq!((count.open(), count.unpaired_starts()), (still, still + abandoned));
        }
    }
}

/// STARTs and ENDs by the ids of their lines.
fn count_line(bytes: &[u8], tally: &mut BTreeMap<SpanKind, PairCount>) {
    let Ok(event) = kfd_smi_proto::parse_line(bytes).event else { return };
    let is_put_off = matches!(event, Event::QueueRestore(restore) if restore.restore().byte() == Some(b'R'));
    let (kind, begins) = match event.name() {
        "migrate_start" => (SpanKind::Migrate, true),
        "migrate_end" => (SpanKind::Migrate, false),
        "page_fault_start" => (SpanKind::PageFault, true),
        "page_fault_end" => (SpanKind::PageFault, false),
        "queue_eviction" => (SpanKind::Queue, true),
        "queue_restore" if !is_put_off => (SpanKind::Queue, false),
        "gpu_pre_reset" => (SpanKind::Reset, true),
        "gpu_post_reset" => (SpanKind::Reset, false),
        "process_start" => (SpanKind::Process, true),
        "process_end" => (SpanKind::Process, false),
        _ => return,
    };
    let count = tally.entry(kind).or_default();
    *(if begins { &mut count.starts } else { &mut count.ends }) += 1;
}

/// Gives a step to statistics.
fn count<const K: usize>(statistics: &mut Statistics, pairer: &mut Pairer<K>, step: &Step) {
    if let Step::Line { bytes, forgeable, .. } = step {
        statistics.line(&Step::line(bytes, *forgeable));
    }
    for paired in said(pairer, step) {
        statistics.paired(&paired);
    }
}

/// Statistics of the whole are those of its parts, and count the pairs as the pairer does.
///
/// # Panics
///
/// If the law does not hold.
pub fn statistics_add_up(steps: &[Step], cut: usize) {
    let (before, behind) = steps.split_at(cut.min(steps.len()));
    let (mut pairer, mut whole) = (Pairer::<16>::new(), Box::new(Statistics::new()));
    steps.iter().for_each(|step| count(&mut whole, &mut pairer, step));
    assert_eq!(&whole.pairs, pairer.counts());
    let lines = steps.iter().filter(|step| matches!(step, Step::Line { .. })).count() as u64;
    assert_eq!((whole.lines, whole.events + whole.malformed), (lines, lines));
    assert_eq!(whole.kinds.iter().map(|(_, count)| count).sum::<u64>(), whole.events);
    let moved = [&whole.host_to_device, &whole.device_to_host, &whole.other_migrations];
    let counted = moved.iter().map(|direction| direction.count).sum::<u64>();
    let failed = moved.iter().map(|direction| direction.failed).sum::<u64>();
    assert_eq!(counted + failed, whole.pairs.migrate.intervals);
    assert_eq!(whole.migration_triggers().map(|(_, count)| count).sum::<u64>(), counted);
    assert_eq!(whole.queues.evictions().map(|(_, count)| count).sum::<u64>(), whole.pairs.queue.starts);
    assert_eq!(whole.queues.rescheduled, whole.pairs.rescheduled);
    assert_eq!(whole.queues.restores, whole.pairs.queue.ends);

    let mut pairer = Pairer::<16>::new();
    let mut parts = [before, behind].map(|part| {
        let mut statistics = Box::new(Statistics::new());
        part.iter().for_each(|step| count(&mut statistics, &mut pairer, step));
        statistics
    });
    let [first, second] = &mut parts;
    let mut other_way = second.clone();
    other_way.merge(first);
    first.merge(second);
    assert!(*first == whole && other_way == whole, "cut at {cut}: {steps:?}");
}

/// Lines of one GPU never touch what is open on another, as long as there is room.
///
/// # Panics
///
/// If the law does not hold.
pub fn gpus_are_apart(steps: &[Step]) {
    const ROOM: usize = 512;
    let mut whole = Box::new(Statistics::new());
    let mut pairer = Box::new(Pairer::<ROOM>::new());
    let steps = &steps[..steps.len().min(ROOM / 4)];
    steps.iter().for_each(|step| count(&mut whole, &mut pairer, step));

    let mut sum = Box::new(Statistics::new());
    for wanted in [None, Some(GpuId(1)), Some(GpuId(2))] {
        let mut part = Box::new(Statistics::new());
        let mut pairer = Box::new(Pairer::<ROOM>::new());
        for step in steps {
            if matches!(step, Step::Line { gpu, .. } if *gpu != wanted) {
                continue;
            }
            count(&mut part, &mut pairer, step);
        }
        sum.merge(&part);
    }
    assert!(sum == whole, "{steps:?}");
}

/// Percentiles are those of the sorted numbers, by nearest rank, less than 1 % off; the rest is exact; and any
/// two parts make the whole.
///
/// # Panics
///
/// If the law does not hold.
pub fn quantiles_are_near(numbers: &[u64], cut: usize) {
    let of = |numbers: &[u64]| {
        let mut histogram = Box::new(Histogram::new());
        numbers.iter().for_each(|number| histogram.record(*number));
        histogram
    };
    let whole = of(numbers);
    let (before, behind) = numbers.split_at(cut.min(numbers.len()));
    let mut merged = of(before);
    merged.merge(&of(behind));
    assert_eq!(merged, whole);

    let mut sorted = numbers.to_vec();
    sorted.sort_unstable();
    assert_eq!((whole.min(), whole.max()), (sorted.first().copied(), sorted.last().copied()));
    assert_eq!(whole.count(), numbers.len() as u64);
    assert_eq!(whole.sum(), numbers.iter().map(|number| u128::from(*number)).sum::<u128>());
    for (part, parts) in
        [(0, 1), (1, 1000), (25, 100), (1, 2), (9, 10), (99, 100), (999, 1000), (1, 1), (5, 4)]
    {
        let rank = (numbers.len() as u64 * part).div_ceil(parts).clamp(1, numbers.len().max(1) as u64);
        let Some(exact) = sorted.get(rank as usize - 1) else {
            assert_eq!(whole.quantile(part, parts), None);
            continue;
        };
        let near = whole.quantile(part, parts).expect("there are numbers");
        let error = u128::from(near.abs_diff(*exact));
        assert!(error * 100 < u128::from(*exact).max(1), "{part}/{parts} of {sorted:?}: {near}, not {exact}");
    }
}
