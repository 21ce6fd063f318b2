//! Every event in every form that a kernel gave it, field by field, from the crate's outside.

use kfd_smi_proto::{
    Access, BootNanos, Event, EventId, EvictionTrigger, FaultOutcome, GpuId, Location, MigrateTrigger,
    PageCount, PageNumber, PageRange, Pid, RestoreFlag, Throttlers, UnmapTrigger, lines,
};
use kfd_smi_testkit::corpus;

fn event(line: &[u8]) -> Event<'_> {
    let line = kfd_smi_proto::parse_line(line);
    line.event.unwrap_or_else(|error| panic!("{}: {error}", line.bytes.escape_ascii()))
}

const TIME: Option<BootNanos> = BootNanos::new(14_601_738_586_508);
const PID: Pid = Pid(152_990);
const GPU: GpuId = GpuId(0x1ea0);
const RANGE: PageRange = PageRange { start: PageNumber(0x7_f0f1_5200), count: PageCount(0x2c02) };

#[test]
fn vm_fault() {
    let Event::VmFault(fault) = event(b"1 2559e:my app:1\n") else { panic!() };
    assert_eq!((fault.pid, fault.task_name.as_bytes()), (PID, &b"my app:1"[..]));
}

#[test]
fn thermal_throttle() {
    let Event::ThermalThrottle(throttle) = event(b"2 1400000000:1a\n") else { panic!() };
    assert_eq!((throttle.bitmask, throttle.counter), (Throttlers(0x14_0000_0000), 26));
    assert_eq!(throttle.trailing, None);
}

#[test]
fn gpu_reset() {
    for (line, seq, cause) in [
        (&b"3 1\n"[..], 1, None),
        (b"3 ff job hang on ring:gfx_0.0.0\n", 255, Some(&b"job hang on ring:gfx_0.0.0"[..])),
        (b"4 1 \n", 1, Some(b"")),
        (b"4 1\n", 1, None),
    ] {
        let (Event::GpuPreReset(reset) | Event::GpuPostReset(reset)) = event(line) else { panic!() };
        assert_eq!((reset.reset_seq, reset.cause.map(|cause| cause.as_bytes())), (seq, cause));
    }
    assert_eq!(event(b"3 1\n").id(), EventId::GPU_PRE_RESET);
    assert_eq!(event(b"4 1\n").id(), EventId::GPU_POST_RESET);
}

#[test]
fn migrate() {
    let line = b"5 14601738586508 -152990 @7f0f15200(2c02) 0->1ea0 1ea0:ffffffff 1\n";
    let Event::MigrateStart(start) = event(line) else { panic!() };
    assert_eq!((Some(start.time), start.pid, start.range), (TIME, PID, RANGE));
    assert_eq!((start.from, start.to), (Location::SYSTEM, Location(0x1ea0)));
    assert_eq!((start.prefetch_loc, start.preferred_loc), (Location(0x1ea0), Location::UNDEFINED));
    assert_eq!(start.trigger, MigrateTrigger::PAGEFAULT_GPU);
    for (tail, error_code) in [("", None), (" 0", Some(0)), (" -12", Some(-12)), (" 75", Some(75))] {
        let line = format!("6 14601738586508 -152990 @7f0f15200(2c02) 1ea0->0 3{tail}\n");
        let Event::MigrateEnd(end) = event(line.as_bytes()) else { panic!() };
        assert_eq!((Some(end.time), end.pid, end.range), (TIME, PID, RANGE));
        assert_eq!(
            (end.from, end.to, end.trigger),
            (Location(0x1ea0), Location::SYSTEM, MigrateTrigger::TTM_EVICTION)
        );
        assert_eq!((end.error_code(), end.trailing()), (error_code, None));
    }
}

#[test]
fn page_fault() {
    let Event::PageFaultStart(fault) = event(b"7 14601738586508 -152990 @7f0f15200(1ea0) W\n") else {
        panic!()
    };
    assert_eq!((Some(fault.time), fault.pid, fault.page, fault.node), (TIME, PID, RANGE.start, GPU));
    assert_eq!(fault.access, Access::WRITE);
    let Event::PageFaultEnd(fault) = event(b"8 14601738586508 -152990 @7f0f15200(1ea0) U\n") else {
        panic!()
    };
    assert_eq!((Some(fault.time), fault.pid, fault.page, fault.node), (TIME, PID, RANGE.start, GPU));
    assert_eq!(fault.outcome, FaultOutcome::UPDATED);
}

#[test]
fn queue() {
    let Event::QueueEviction(eviction) = event(b"9 14601738586508 -152990 1ea0 5\n") else { panic!() };
    assert_eq!((Some(eviction.time), eviction.pid, eviction.node), (TIME, PID, GPU));
    assert_eq!(eviction.trigger, EvictionTrigger::CRIU_RESTORE);
    for (tail, flag) in [
        (&b"\n"[..], RestoreFlag::NONE),
        (b" \0\n", RestoreFlag::NUL),
        (b" 0\n", RestoreFlag::ZERO),
        (b" R\n", RestoreFlag::RESCHEDULED),
    ] {
        let line = [b"a 14601738586508 -152990 1ea0", tail].concat();
        let Event::QueueRestore(restore) = event(&line) else { panic!() };
        assert_eq!((Some(restore.time), restore.pid, restore.node), (TIME, PID, GPU));
        assert_eq!((restore.restore(), restore.trailing()), (flag, None));
    }
}

#[test]
fn unmap_from_gpu() {
    let Event::UnmapFromGpu(unmap) = event(b"b 14601738586508 -152990 @7f0f15200(2c02) 1ea0 0\n") else {
        panic!()
    };
    assert_eq!((Some(unmap.time), unmap.pid, unmap.range, unmap.node), (TIME, PID, RANGE, GPU));
    assert_eq!(unmap.trigger, UnmapTrigger::MMU_NOTIFY);
}

#[test]
fn process() {
    for line in [&b"c 2559e python3\n"[..], b"d 2559e python3\n"] {
        let (Event::ProcessStart(process) | Event::ProcessEnd(process)) = event(line) else { panic!() };
        assert_eq!((process.pid, process.task_name.as_bytes()), (PID, &b"python3"[..]));
    }
}

#[test]
fn dropped_events() {
    for (line, id) in [(b"c 14601738586508 -152990 5\n", 12), (b"e 14601738586508 -152990 5\n", 14)] {
        let Event::DroppedEvents(dropped) = event(line) else { panic!() };
        assert_eq!((Some(dropped.time), dropped.pid, dropped.count), (TIME, PID, 5));
        assert_eq!(dropped.id(), EventId(id));
    }
}

/// The files of the forms have every event that their kernel knows, and nothing else.
#[test]
fn each_generation_has_its_events() {
    let mut generations = 0;
    for log in corpus::logs() {
        let name = log.path.file_stem().unwrap().to_str().unwrap();
        let folder = log.path.parent().unwrap().file_name().unwrap().to_str().unwrap();
        let Some(version) = name.strip_prefix("linux-").or_else(|| folder.strip_prefix("linux-")) else {
            continue;
        };
        let number = |text: &str| {
            text.split('.').map(|part| part.parse::<u32>().unwrap()).chain([0]).take(3).collect::<Vec<_>>()
        };
        let known: Vec<_> = EventId::KNOWN
            .iter()
            .filter(|id| number(id.since().unwrap()) <= number(version))
            .copied()
            .collect();
        let mut seen: Vec<_> = lines(&log.bytes).map(|line| line.event.unwrap().id()).collect();
        seen.sort();
        seen.dedup();
        assert_eq!(seen, known, "{}", log.path.display());
        generations += 1;
    }
    assert_eq!(generations, 13);
}
