extern crate std;
use super::*;
use crate::{
    Access, EvictionTrigger, FaultOutcome, Location, MigrateTrigger, TrustTracker, lines, parse_line,
};
use std::format;
use std::string::{String, ToString as _};
use std::vec::Vec;

const SECOND: u64 = 1_000_000_000;

/// A pairer, and where its next line comes from.
struct Bench<const K: usize> {
    pairer: Pairer<K>,
    gpu: Option<GpuId>,
    arrival: Option<BootNanos>,
}

impl<const K: usize> Bench<K> {
    fn new() -> Self {
        Self { pairer: Pairer::new(), gpu: None, arrival: None }
    }

    fn on(&mut self, gpu: u32) -> &mut Self {
        self.gpu = Some(GpuId(gpu));
        self
    }

    fn at(&mut self, nanos: u64) -> &mut Self {
        self.arrival = BootNanos::new(nanos);
        self
    }

    fn take(&mut self, line: &str, forgeable: bool) -> Vec<Paired> {
        let mut line = parse_line(line.as_bytes());
        assert!(line.event.is_ok(), "{line:?}");
        if forgeable {
            line.trust = forged();
        }
        let mut all = Vec::new();
        self.pairer.pair(&line, self.gpu, self.arrival, |paired| all.push(paired));
        self.check();
        all
    }

    /// What becomes of a line, in short.
    fn line(&mut self, line: &str) -> Vec<String> {
        self.take(line, false).iter().map(short).collect()
    }

    fn forged(&mut self, line: &str) -> Vec<String> {
        self.take(line, true).iter().map(short).collect()
    }

    fn interval(&mut self, line: &str) -> Interval {
        match self.take(line, false)[..] {
            [Paired::Interval(interval)] => interval,
            ref other => panic!("{line}: {other:?}"),
        }
    }

    fn open(&self) -> Vec<String> {
        self.pairer.open().map(span).collect()
    }

    /// Law 7.
    fn check(&self) {
        for kind in SpanKind::ALL {
            let count = self.pairer.counts.of(kind);
            let open = self.pairer.open().filter(|span| span.activity.kind() == kind).count() as u64;
            assert_eq!(count.starts, count.intervals + open + count.abandoned() + count.merged);
            assert_eq!(count.ends, count.intervals + count.nested_ends + count.orphan_ends);
            assert_eq!(count.open(), open);
        }
    }
}

/// As the tracker marks a line behind a short name.
fn forged() -> crate::Trust {
    let mut tracker = TrustTracker::new();
    tracker.judge(b"1 5:", &parse_line(b"1 5:").event);
    tracker.judge(b"", &parse_line(b"").event)
}

fn time(time: Option<BootNanos>) -> String {
    time.map_or_else(|| "?".to_string(), |time| time.nanos().to_string())
}

fn span(span: &Span) -> String {
    let merged = if span.merged > 0 { format!(" +{}", span.merged) } else { String::new() };
    format!("{:?} {}/{}{merged}", span.activity.kind(), time(span.first_start), time(span.start))
}

fn short(paired: &Paired) -> String {
    match paired {
        Paired::Interval(interval) => format!("{} to {}", span(&interval.span), time(interval.end)),
        Paired::Abandoned(abandoned, reason) => format!("{} {reason:?}", span(abandoned)),
        other => format!("{other:?}"),
    }
}

const NOTHING: [&str; 0] = [];

#[test]
fn a_migration_keeps_what_both_lines_say() {
    let mut bench = Bench::<4>::new();
    assert_eq!(bench.on(0x1ea0).line("5 100 -7 @10(20) 0->1ea0 1ea0:ffffffff 1"), NOTHING);
    let interval = bench.interval("6 350 -7 @10(20) 0->1ea0 1 -12");
    let Activity::Migrate { migration, prefetch_loc, preferred_loc, error_code } = interval.span.activity
    else {
        panic!()
    };
    assert_eq!((migration.pid, migration.range.count.0, migration.to), (Pid(7), 0x20, Location(0x1ea0)));
    assert_eq!(migration.trigger, MigrateTrigger::PAGEFAULT_GPU);
    assert_eq!((prefetch_loc, preferred_loc), (Location(0x1ea0), Location::UNDEFINED));
    assert_eq!(error_code, Some(-12));
    assert_eq!((interval.span.gpu, interval.span.merged), (Some(GpuId(0x1ea0)), 0));
    assert_eq!((interval.duration(), interval.elapsed()), (Some(250), Some(250)));

    bench.line("5 100 -7 @10(20) 0->1ea0 0:0 1");
    let old = bench.interval("6 350 -7 @10(20) 0->1ea0 1").span.activity;
    assert!(matches!(old, Activity::Migrate { error_code: None, .. }));
}

#[test]
fn every_field_of_a_key_and_the_gpu_tell_spans_apart() {
    for (start, ends) in [
        (
            "5 1 -7 @10(20) 0->1ea0 0:0 1",
            &[
                "6 2 -8 @10(20) 0->1ea0 1",
                "6 2 -7 @11(20) 0->1ea0 1",
                "6 2 -7 @10(21) 0->1ea0 1",
                "6 2 -7 @10(20) 1->1ea0 1",
                "6 2 -7 @10(20) 0->1ea1 1",
                "6 2 -7 @10(20) 0->1ea0 2",
                "6 2 -7 @10(20) 0->1ea0 1",
            ][..],
        ),
        (
            "7 1 -7 @10(1ea0) R",
            &["8 2 -8 @10(1ea0) M", "8 2 -7 @11(1ea0) M", "8 2 -7 @10(1) M", "8 2 -7 @10(1ea0) M"],
        ),
        ("9 1 -7 1ea0 2", &["a 2 -8 1ea0", "a 2 -7 1ea1", "a 2 -7 1ea0"]),
        ("3 1 job hang", &["4 2 ", "4 1 "]),
        ("c 7 name", &["d 8 name", "d 7 other name"]),
    ] {
        let mut bench = Bench::<4>::new();
        bench.on(1).line(start);
        let (last, others) = ends.split_last().unwrap();
        for end in others {
            let said = bench.line(end);
            assert!(said.len() == 1 && said[0].starts_with("OrphanEnd"), "{end}: {said:?}");
        }
        assert!(bench.on(2).line(last)[0].starts_with("OrphanEnd"));
        bench.gpu = None;
        assert!(bench.line(last)[0].starts_with("OrphanEnd"));
        bench.on(1).interval(last);
        assert_eq!(bench.pairer.open().count(), 0);
    }
}

#[test]
fn a_retry_moves_the_start_and_takes_the_newer_fields() {
    let mut bench = Bench::<4>::new();
    bench.line("7 100 -7 @10(1) R");
    assert_eq!(bench.line("7 300 -7 @10(1) W"), ["Merged(PageFault)"]);
    let interval = bench.interval("8 450 -7 @10(1) M");
    assert_eq!((interval.duration(), interval.elapsed(), interval.span.merged), (Some(150), Some(350), 1));
    let Activity::PageFault { access, outcome, .. } = interval.span.activity else { panic!() };
    assert_eq!((access, outcome), (Access::WRITE, Some(FaultOutcome::MIGRATED)));
}

#[test]
fn a_fault_that_never_ended_and_came_again_an_hour_later_has_no_hour_of_latency() {
    let mut bench = Bench::<4>::new();
    bench.line("7 100 -7 @10(1) R");
    let hour = 3600 * SECOND;
    assert_eq!(bench.line(&format!("7 {hour} -7 @10(1) R")), ["PageFault 100/100 Expired"]);
    let interval = bench.interval(&format!("8 {} -7 @10(1) U", hour + 50));
    assert_eq!((interval.elapsed(), interval.span.merged), (Some(50), 0));

    bench.line("7 100 -7 @10(1) R");
    assert_eq!(
        bench.line(&format!("8 {hour} -7 @10(1) R")),
        ["PageFault 100/100 Expired", "OrphanEnd(PageFault)"]
    );
}

#[test]
fn the_expiry_is_counted_from_the_last_start_and_not_reached_when_it_is_just_as_long() {
    let mut bench = Bench::<4>::new();
    bench.line("5 0 -7 @10(1) 0->1 0:0 0");
    assert_eq!(bench.line("5 10000000000 -7 @10(1) 0->1 0:0 0"), ["Merged(Migrate)"]);
    assert_eq!(bench.interval("6 20000000000 -7 @10(1) 0->1 0").elapsed(), Some(20 * SECOND));
    bench.line("5 0 -7 @10(1) 0->1 0:0 0");
    assert_eq!(bench.line("5 10000000001 -7 @10(1) 0->1 0:0 0"), ["Migrate 0/0 Expired"]);
    // Other keys are left alone.
    bench.line("5 90000000000 -8 @10(1) 0->1 0:0 0");
    assert_eq!(bench.open(), ["Migrate 10000000001/10000000001", "Migrate 90000000000/90000000000"]);
}

#[test]
fn queues_resets_and_processes_do_not_expire() {
    let mut bench = Bench::<16>::new();
    bench.pairer = Pairer::with_expiry(Duration::ZERO);
    for line in ["3 1", "9 0 -7 1 2", "c 7 name", "7 0 -7 @1(1) R"] {
        bench.at(0).line(line);
    }
    let mut expired = Vec::new();
    bench.pairer.expire(BootNanos::MAX, |paired| expired.push(short(&paired)));
    assert_eq!(expired, ["PageFault 0/0 Expired"]);
    bench.check();
    for (line, took) in [("a 999 -7 1", 999), ("d 7 name", 50), ("4 1", 50)] {
        assert_eq!(bench.at(50).interval(line).duration(), Some(took));
    }
}

#[test]
fn a_sweep_gives_up_what_is_too_old_wherever_it_stands() {
    let mut bench = Bench::<16>::new();
    for line in ["7 20000000000 -7 @1(1) R", "7 0 -7 @2(1) R", "9 0 -7 1 2", "7 1 -8 @3(1) R"] {
        bench.line(line);
    }
    let mut expired = Vec::new();
    bench.pairer.expire(BootNanos::new(20 * SECOND).unwrap(), |paired| expired.push(short(&paired)));
    assert_eq!(expired, ["PageFault 0/0 Expired", "PageFault 1/1 Expired"]);
    assert_eq!(bench.open(), ["PageFault 20000000000/20000000000", "Queue 0/0"]);
    bench.check();
}

#[test]
fn times_that_run_backwards_give_zero() {
    let mut bench = Bench::<4>::new();
    bench.line("7 100 -7 @10(1) R");
    let interval = bench.interval("8 99 -7 @10(1) U");
    assert_eq!((interval.duration(), interval.elapsed()), (Some(0), Some(0)));
    assert_eq!(interval.end, BootNanos::new(99));
}

#[test]
fn resets_and_processes_last_as_their_arrivals_say_if_they_are_known() {
    let mut bench = Bench::<4>::new();
    bench.at(100).line("3 1 HWS hang");
    assert_eq!(bench.at(400).interval("4 1 ").duration(), Some(300));
    bench.at(100).line("c 7 name");
    bench.arrival = None;
    let interval = bench.interval("d 7 name");
    assert_eq!((interval.duration(), interval.elapsed(), interval.end), (None, None, None));
    assert_eq!(interval.span.start, BootNanos::new(100));
}

#[test]
fn suspensions_run_from_the_first_eviction_to_the_last_restore() {
    let mut bench = Bench::<4>::new();
    bench.line("9 100 -7 1 2");
    assert_eq!(bench.line("9 200 -7 1 0"), ["Merged(Queue)"]);
    assert_eq!(bench.line("a 250 -7 1 R"), ["Rescheduled"]);
    assert_eq!(bench.line("a 300 -7 1 \0"), ["NestedEnd(Queue)"]);
    let interval = bench.interval("a 400 -7 1 0");
    assert_eq!((interval.duration(), interval.span.merged), (Some(300), 1));
    let Activity::Queue { trigger, .. } = interval.span.activity else { panic!() };
    assert_eq!(trigger, EvictionTrigger::TTM);
    assert_eq!(bench.line("a 500 -7 1"), ["OrphanEnd(Queue)"]);
    let counts = bench.pairer.counts();
    assert_eq!((counts.queue.starts, counts.queue.ends, counts.rescheduled), (2, 3, 1));
}

#[test]
fn the_end_of_a_process_gives_up_its_own_on_its_gpu() {
    let mut bench = Bench::<32>::new();
    bench.on(1);
    for line in ["c 7 a", "7 1 -7 @1(1) R", "9 2 -7 1 2", "7 3 -8 @1(1) R", "3 1", "5 4 -7 @1(1) 0->1 0:0 0"]
    {
        bench.line(line);
    }
    bench.on(2).line("7 5 -7 @1(2) R");
    assert_eq!(bench.on(2).line("d 9 a"), ["OrphanEnd(Process)"]);
    bench.on(1).line("7 6 -7 @1(1) R");
    assert_eq!(
        bench.on(1).at(9).line("d 7 a"),
        ["Migrate 4/4 ProcessEnd", "PageFault 6/6 ProcessEnd", "Process ?/? to 9"],
    );
    assert_eq!(bench.open(), ["Reset ?/?", "PageFault 5/5"]);
}

#[test]
fn a_reset_gives_up_all_on_its_gpu_but_processes() {
    let mut bench = Bench::<32>::new();
    bench.on(1);
    for line in ["c 7 a", "7 1 -7 @1(1) R", "9 2 -8 1 2"] {
        bench.line(line);
    }
    bench.on(2).line("9 3 -8 2 2");
    assert_eq!(bench.on(1).at(5).line("3 1"), ["PageFault 1/1 Reset", "Queue 2/2 Reset"]);
    // What begins within a reset is given up by the next one, as the reset itself, were it the same again.
    bench.line("9 6 -8 1 3");
    assert_eq!(bench.at(7).line("3 2"), ["Reset 5/5 Reset", "Queue 6/6 Reset"]);
    assert_eq!(bench.at(8).line("3 2"), ["Reset 7/7 Reset"]);
    assert_eq!(bench.line("4 1"), ["OrphanEnd(Reset)"]);
    assert_eq!(bench.line("4 2"), ["Reset 8/8 to 8"]);
    assert_eq!(bench.open(), ["Process ?/?", "Queue 3/3"]);
}

#[test]
fn a_line_that_could_be_forged_ends_nothing() {
    let mut bench = Bench::<32>::new();
    let opened = ["7 1 -7 @1(1) R", "9 1 -7 1 2", "9 1 -7 1 2", "5 1 -7 @1(1) 0->1 0:0 0", "c 7 a"];
    bench.at(1).line("3 1");
    for line in opened {
        bench.line(line);
    }
    let open = bench.open();
    for (line, orphan) in [
        ("8 2 -7 @1(1) U", "PageFault"),
        ("a 2 -7 1", "Queue"),
        ("6 2 -7 @1(1) 0->1 0", "Migrate"),
        ("4 1", "Reset"),
        ("d 7 a", "Process"),
    ] {
        assert_eq!(bench.forged(line), [format!("OrphanEnd({orphan})")]);
    }
    assert_eq!(bench.forged("a 2 -7 1 R"), ["Rescheduled"]);
    for line in opened {
        assert_eq!(bench.forged(line).len(), 1);
    }
    assert_eq!(bench.forged("7 999999999999 -7 @1(1) R"), ["Merged(PageFault)"]);
    assert_eq!(bench.forged("3 1"), ["Merged(Reset)"]);
    assert_eq!(bench.open(), open);
    assert_eq!(bench.forged("3 2"), NOTHING);
    assert_eq!(bench.open().len(), open.len() + 1);
    // The depth of the queue is still 2.
    assert_eq!(bench.line("a 5 -7 1"), ["NestedEnd(Queue)"]);
    assert_eq!(bench.line("a 5 -7 1"), ["Queue 1/1 +1 to 5"]);
}

#[test]
fn the_first_genuine_start_takes_the_place_of_a_forged_one() {
    let mut bench = Bench::<32>::new();
    bench.forged("9 1 -7 1 2");
    assert_eq!(bench.line("9 500 -7 1 0"), ["Merged(Queue)"]);
    let interval = bench.interval("a 700 -7 1");
    assert_eq!((interval.duration(), interval.elapsed()), (Some(200), Some(200)));
    assert!(!interval.span.forgeable && interval.span.merged == 0);
    bench.forged("9 1 -7 1 2");
    assert!(bench.interval("a 700 -7 1").span.forgeable);
}

#[test]
fn a_line_that_could_be_forged_pushes_nothing_out() {
    let mut bench = Bench::<4>::new();
    for line in ["9 1 -1 1 2", "9 2 -2 1 2"] {
        bench.line(line);
    }
    assert_eq!(bench.forged("9 3 -1 2 2"), ["Queue 3/3 PushedOut"], "beyond its share");
    assert_eq!(bench.forged("9 3 -3 1 2"), NOTHING);
    assert_eq!(bench.forged("3 1"), NOTHING);
    assert_eq!(bench.forged("9 4 -5 1 2"), ["Queue 4/4 PushedOut"], "no room");
    assert_eq!(bench.open(), ["Queue 1/1", "Queue 2/2", "Queue 3/3", "Reset ?/?"]);
}

#[test]
fn the_oldest_start_goes_first() {
    let mut bench = Bench::<4>::new();
    for line in ["9 1 -1 1 2", "7 2 -2 @1(1) R", "9 3 -3 1 2", "9 4 -4 1 2"] {
        bench.line(line);
    }
    // Older by its time, newer by its place. The fault is renewed, the suspension is not.
    assert_eq!(bench.line("7 0 -2 @1(1) R"), ["Merged(PageFault)"]);
    assert_eq!(bench.line("9 5 -1 1 2"), ["Merged(Queue)"]);
    assert_eq!(bench.line("9 6 -5 1 2"), ["Queue 1/1 +1 PushedOut"]);
    assert_eq!(bench.line("9 7 -6 1 2"), ["Queue 3/3 PushedOut"]);
    assert_eq!(bench.line("9 8 -7 1 2"), ["Queue 4/4 PushedOut"]);
    assert_eq!(bench.line("9 9 -8 1 2"), ["PageFault 2/0 +1 PushedOut"]);
    assert_eq!(bench.pairer.counts().queue.pushed_out, 3);
}

#[test]
fn a_process_beyond_its_share_pushes_out_its_own_oldest() {
    let mut bench = Bench::<16>::new();
    bench.line("9 1 -1 1 2");
    for page in 0..4 {
        assert_eq!(bench.on(page).line(&format!("7 2 -7 @{page}(1) R")), NOTHING);
    }
    assert_eq!(bench.line("7 3 -7 @0(1) R"), ["PageFault 2/2 PushedOut"]);
    assert_eq!(bench.line("9 4 -1 9 2"), NOTHING);
    assert_eq!(bench.open()[0], "Queue 1/1");
    let open = bench.open().len();
    // An interpreter takes minutes for all of them.
    let pages = if cfg!(miri) { 40 } else { 1000 };
    for page in 4..pages {
        assert_eq!(bench.line(&format!("7 5 -7 @{page:x}(1) R")).len(), 1);
    }
    assert_eq!(bench.open().len(), open);
}

#[test]
fn one_span_is_enough_for_a_pairer() {
    let mut bench = Bench::<1>::new();
    bench.line("9 1 -1 1 2");
    assert_eq!(bench.line("9 2 -2 1 2"), ["Queue 1/1 PushedOut"]);
    assert_eq!(bench.line("3 1"), ["Queue 2/2 Reset"]);
    assert_eq!(bench.line("a 3 -1 1"), ["OrphanEnd(Queue)"]);
}

#[test]
fn other_lines_have_no_result() {
    let mut pairer: Pairer<4> = Pairer::default();
    for line in lines(b"1 5:a\n\xff\n2 1:2\nb 1 -2 @3(4) 5 6\nf x\nc 100000000 -2 5\n5 1 -2 @3") {
        pairer.pair(&line, None, None, |paired| panic!("{paired:?}"));
    }
    assert_eq!(pairer.counts(), &PairCounts::default());
    assert!(format!("{pairer:?}").starts_with("Pairer { open: []"));
}

#[test]
fn counts_add_up_over_pairers() {
    let mut bench = Bench::<4>::new();
    for line in ["9 1 -1 1 2", "a 2 -1 1", "a 2 -1 1 R", "8 1 -2 @3(4) M", "3 1", "3 2"] {
        bench.line(line);
    }
    let mut sum = *bench.pairer.counts();
    sum.merge(bench.pairer.counts());
    assert_eq!((sum.queue.intervals, sum.rescheduled, sum.page_fault.orphan_ends), (2, 2, 2));
    assert_eq!(
        (sum.reset.starts, sum.reset.reset, sum.reset.open(), sum.reset.unpaired_starts()),
        (4, 2, 2, 4)
    );
}

mod join {
    use super::*;

    fn leg(gpu: Option<u32>, start: &str, end: &str) -> Interval {
        let mut bench = Bench::<4>::new();
        bench.gpu = gpu.map(GpuId);
        bench.line(start);
        bench.interval(end)
    }

    fn first() -> Interval {
        leg(Some(0xa), "5 100 -7 @10(20) a->0 0:0 1", "6 200 -7 @10(20) a->0 1 -5")
    }

    const WITHIN: Duration = Duration::from_nanos(50);

    #[test]
    fn two_legs_are_one_way() {
        for gpu in [Some(0xb), None] {
            let second = leg(gpu, "5 250 -7 @10(20) 0->b 0:0 1", "6 300 -7 @10(20) 0->b 1 0");
            let joined = first().join(&second, WITHIN).unwrap();
            assert_eq!((joined.from, joined.to, joined.pid), (GpuId(0xa), GpuId(0xb), Pid(7)));
            assert_eq!((joined.start.nanos(), joined.end.nanos()), (100, 300));
            assert_eq!((joined.first_error_code, joined.second_error_code), (Some(-5), Some(0)));
            assert_eq!(second.join(&first(), WITHIN), None);
        }
    }

    #[test]
    fn what_differs_is_not_joined() {
        let b = Some(0xb);
        for (gpu, start, end) in [
            (b, "5 250 -8 @10(20) 0->b 0:0 1", "6 300 -8 @10(20) 0->b 1"),
            (b, "5 250 -7 @11(20) 0->b 0:0 1", "6 300 -7 @11(20) 0->b 1"),
            (b, "5 250 -7 @10(21) 0->b 0:0 1", "6 300 -7 @10(21) 0->b 1"),
            (b, "5 250 -7 @10(20) 0->b 0:0 0", "6 300 -7 @10(20) 0->b 0"),
            (b, "5 250 -7 @10(20) c->b 0:0 1", "6 300 -7 @10(20) c->b 1"),
            (b, "5 250 -7 @10(20) 0->0 0:0 1", "6 300 -7 @10(20) 0->0 1"),
            (Some(0xa), "5 250 -7 @10(20) 0->a 0:0 1", "6 300 -7 @10(20) 0->a 1"),
            (Some(0xc), "5 250 -7 @10(20) 0->b 0:0 1", "6 300 -7 @10(20) 0->b 1"),
            (b, "5 251 -7 @10(20) 0->b 0:0 1", "6 300 -7 @10(20) 0->b 1"),
            (b, "5 199 -7 @10(20) 0->b 0:0 1", "6 300 -7 @10(20) 0->b 1"),
            (b, "9 250 -7 b 1", "a 300 -7 b"),
        ] {
            assert_eq!(first().join(&leg(gpu, start, end), WITHIN), None, "{start}");
        }
    }
}
