//! `kfd-smi stat` on logs and captures: every key of its JSON form, and what people read.

use std::collections::BTreeMap;

use kfd_smi_testkit::corpus;
use serde_json::{Value, json};

use crate::folder::Folder;
use crate::hostile::assert_harmless;
use crate::run::{Ran, command, feed};

/// The object of a log.
pub(crate) fn object(args: &[&str], log: &[u8]) -> Value {
    let ran = feed(&[&["stat", "--format", "json"], args].concat(), log);
    one(&ran)
}

/// The one object that was printed.
fn one(ran: &Ran) -> Value {
    let [line] = &ran.lines()[..] else { panic!("{} lines: {}", ran.lines().len(), ran.stderr) };
    assert!(ran.text().ends_with("}\n"));
    serde_json::from_str(line).unwrap()
}

fn human(log: &[u8]) -> String {
    feed(&["stat"], log).text().to_owned()
}

#[test]
fn nothing_has_all_that_is_always_there_and_no_more() {
    let direction = json!({"count": 0, "failed": 0, "total_bytes": 0, "total_ns": "0"});
    let expected = json!({
        "v": 1, "lines": 0, "events": 0, "malformed": 0, "unknown": 0, "forgeable": 0,
        "kinds": {}, "gpus": {}, "pids": {},
        "migrations": {"host_to_device": direction, "device_to_host": direction, "other": direction},
        "migration_triggers": {},
        "faults": {"read": 0, "write": 0, "migrated": 0, "updated": 0, "duration_ns": {"count": 0}},
        "queues": {"evictions": {}, "restores": 0, "rescheduled": 0, "suspended_ns": {"count": 0}},
        "resets": [],
        "unpaired": {
            "migrate_start": 0, "migrate_end": 0, "page_fault_start": 0, "page_fault_end": 0,
            "queue_eviction": 0, "queue_restore": 0, "gpu_pre_reset": 0, "gpu_post_reset": 0,
            "process_start": 0, "process_end": 0,
        },
        "findings": [],
    });
    assert_eq!(object(&[], b""), expected);
    assert_eq!(human(b""), "0 lines: 0 events, 0 malformed\n");
}

#[test]
fn every_key_says_what_it_should() {
    let log = b"\
5 1000 -7 @10(200) 0->1ea0 1ea0:ffffffff 1
6 1700 -7 @10(200) 0->1ea0 1 0
5 2000 -7 @10(201) 0->1ea0 1ea0:ffffffff 0
6 2300 -7 @10(201) 0->1ea0 0
5 3000 -7 @10(1) 1ea0->0 1ea0:ffffffff 9
6 3000 -7 @10(1) 1ea0->0 9 0
5 4000 -7 @10(8) 0->1ea0 1ea0:ffffffff 1
6 4100 -7 @10(8) 0->1ea0 1 -12
5 5000 -7 @10(1) 1ea0->fc7d 0:0 2
6 5001 -7 @10(1) 1ea0->fc7d 2 0
5 5000 -7 @99(1) 1ea0->0 0:0 2
6 5001 -7 @98(1) 1ea0->0 2 0
7 6000 -7 @10(1ea0) R
7 6100 -7 @10(1ea0) W
8 6400 -7 @10(1ea0) M
8 6400 -7 @11(1ea0) U
7 6000 -7 @12(1ea0) x
9 7000 -7 fc7d 2
9 7010 -7 fc7d 77
a 7020 -7 fc7d R
a 7030 -7 fc7d
a 7050 -7 fc7d 0
a 7060 -7 fc7d 0
3 1 job hang
4 1 \n3 2
3 3 \xff
4 9
c 2559e python3 3
d 2559f python3 4
f future
nonsense
";
    let got = object(&[], log);
    let mut expected = json!({
        "v": 1, "lines": 32, "events": 31, "malformed": 1, "unknown": 1, "forgeable": 0, "span_ns": "6060",
        "kinds": {
            "migrate_start": 6, "migrate_end": 6, "page_fault_start": 3, "page_fault_end": 2, "queue_eviction": 2,
            "queue_restore": 4, "gpu_pre_reset": 3, "gpu_post_reset": 2, "process_start": 1, "process_end": 1,
            "unknown": 1,
        },
        "gpus": {
            "0x1ea0": {"migrate_start": 5, "migrate_end": 5, "page_fault_start": 3, "page_fault_end": 2},
            "0xfc7d": {"queue_eviction": 2, "queue_restore": 4, "migrate_start": 1, "migrate_end": 1},
            "unknown": {
                "gpu_pre_reset": 3, "gpu_post_reset": 2, "process_start": 1, "process_end": 1, "unknown": 1,
            },
        },
        "pids": {
            "7": {
                "migrate_start": 6, "migrate_end": 6, "page_fault_start": 3, "page_fault_end": 2,
                "queue_eviction": 2, "queue_restore": 4,
            },
            "152990": {"process_start": 1},
            "152991": {"process_end": 1},
        },
        "migrations": {
            "host_to_device": {
                "count": 2, "failed": 1, "min_bytes": 2097152, "avg_bytes": 2099200, "max_bytes": 2101248,
                "total_bytes": 4198400, "total_ns": "1000", "bytes_per_second": 4_198_400_000_000_u64,
            },
            "device_to_host": {
                "count": 1, "failed": 0, "min_bytes": 4096, "avg_bytes": 4096, "max_bytes": 4096,
                "total_bytes": 4096, "total_ns": "0",
            },
            "other": {
                "count": 1, "failed": 0, "min_bytes": 4096, "avg_bytes": 4096, "max_bytes": 4096,
                "total_bytes": 4096, "total_ns": "1", "bytes_per_second": 4_096_000_000_000_u64,
            },
        },
        "migration_triggers": {"prefetch": 1, "pagefault_gpu": 1, "pagefault_cpu": 1, "other": 1},
        "faults": {
            "read": 1, "write": 1, "migrated": 1, "updated": 1,
            "duration_ns": {"count": 1, "p50": "300", "p90": "300", "p99": "300", "max": "300"},
        },
        "queues": {
            "evictions": {"ttm": 1, "other": 1}, "restores": 3, "rescheduled": 1,
            "suspended_ns": {"count": 1, "p50": "50", "p90": "50", "p99": "50", "max": "50"},
        },
        "resets": [
            {"reset_seq": 1, "cause": "job hang", "completed": true},
            {"reset_seq": 2, "completed": false},
            {"reset_seq": 3, "cause_hex": "ff", "completed": false},
        ],
        "unpaired": {
            "migrate_start": 1, "migrate_end": 1, "page_fault_start": 1, "page_fault_end": 1,
            "queue_eviction": 0, "queue_restore": 1, "gpu_pre_reset": 2, "gpu_post_reset": 1,
            "process_start": 1, "process_end": 1,
        },
    });
    expected["findings"] = got["findings"].clone();
    assert_eq!(got, expected);
    for finding in got["findings"].as_array().unwrap() {
        let keys: Vec<_> = finding.as_object().unwrap().keys().map(String::as_str).collect();
        for key in ["rule", "text", "count", "first_seq", "last_seq"] {
            assert!(keys.contains(&key), "{finding}");
        }
        assert!(keys.iter().all(|key| {
            ["rule", "text", "count", "first_seq", "last_seq", "first_ns", "last_ns", "gpu", "pid"]
                .contains(key)
        }));
    }
}

/// The counts are those of the records that `replay` prints, for every log and capture there is.
#[test]
fn the_counts_are_those_of_the_records() {
    type Counts = BTreeMap<String, u64>;
    let mut checked = 0;
    for log in corpus::logs().into_iter().chain(corpus::captures()) {
        if log.path.parent().is_some_and(|folder| folder.ends_with("speed")) {
            continue;
        }
        let path = log.path.to_str().unwrap();
        let replayed: Ran = command(&["replay", "--format", "json", path]).output().unwrap().into();
        let (mut kinds, mut gpus, mut pids) =
            (Counts::new(), BTreeMap::<String, Counts>::new(), BTreeMap::<String, Counts>::new());
        let (mut lines, mut malformed, mut forgeable) = (0, 0, 0);
        for line in replayed.lines() {
            let record: Value = serde_json::from_str(line).unwrap();
            let event = record["event"].as_str().unwrap().to_owned();
            lines += 1;
            forgeable += u64::from(record.get("trust").is_some_and(|trust| trust == "forgeable"));
            if event == "malformed" {
                malformed += 1;
                continue;
            }
            let text = |key: &str| record.get(key).and_then(Value::as_str).map(str::to_owned);
            let end = |key: &str| text(key).filter(|end| end.starts_with("0x"));
            let gpu = text("gpu").or_else(|| text("node")).or_else(|| end("to")).or_else(|| end("from"));
            *kinds.entry(event.clone()).or_default() += 1;
            *gpus
                .entry(gpu.unwrap_or_else(|| "unknown".to_owned()))
                .or_default()
                .entry(event.clone())
                .or_default() += 1;
            if let Some(pid) = record.get("pid") {
                *pids.entry(pid.to_string()).or_default().entry(event).or_default() += 1;
            }
        }
        let stat: Ran = command(&["stat", "--format", "json", path]).output().unwrap().into();
        let got = one(&stat);
        assert_eq!(got["lines"], lines, "{path}");
        assert_eq!((&got["malformed"], &got["forgeable"]), (&json!(malformed), &json!(forgeable)), "{path}");
        for (key, expected) in [("kinds", json!(kinds)), ("gpus", json!(gpus)), ("pids", json!(pids))] {
            assert_eq!(got[key], expected, "{path}: {key}");
        }
        assert_eq!(stat.stderr, replayed_errors(&replayed), "{path}: the same is wrong with it");
        checked += 1;
    }
    assert!(checked >= 28, "only {checked}");
}

/// What `replay` says on standard error of the input itself, not of what is missing in it: `stat` counts that.
fn replayed_errors(ran: &Ran) -> String {
    let is_fact = |line: &&str| {
        line.contains("the recorder had no room") || line.contains("was full") || line.contains(" ended: ")
    };
    ran.stderr.lines().filter(|line| !is_fact(line)).map(|line| format!("{line}\n")).collect()
}

/// Migrations of these sizes, in pages, that together take this long.
fn migrations(direction: &str, pages: &[u64], nanos: u64) -> String {
    let mut log = String::new();
    let each = nanos / pages.len() as u64;
    for (number, count) in pages.iter().enumerate() {
        let number = number as u64;
        let last = number + 1 == pages.len() as u64;
        let time = if last { nanos - each * number } else { each };
        let (start, page) = (1_000_000_000 + number * 1_000_000_000, 0x10_0000 * (number + 1));
        log.push_str(&format!("5 {start} -152990 @{page:x}({count:x}) {direction} 0:0 1\n"));
        log.push_str(&format!("6 {} -152990 @{page:x}({count:x}) {direction} 1 0\n", start + time));
    }
    log
}

/// A report that was published: 36 migrations of 432,865,280 bytes to the device, 32 of 65,011,712 bytes back.
#[test]
fn the_figures_of_a_published_report() {
    // Whole pages give these sizes exactly.
    let mut down = vec![512, 44_392];
    down.extend([1_787; 33]);
    down.push(432_865_280 / 4096 - down.iter().sum::<u64>());
    let mut up = vec![1];
    up.extend([512; 30]);
    up.push(65_011_712 / 4096 - up.iter().sum::<u64>());
    assert_eq!((down.len(), up.len()), (36, 32));
    let log = migrations("0->1ea0", &down, 827_859_200) + &migrations("1ea0->0", &up, 39_135_300);
    let json = object(&[], log.as_bytes());
    assert_eq!(
        json["migrations"]["host_to_device"],
        json!({
            "count": 36, "failed": 0, "min_bytes": 2 << 20, "avg_bytes": 12_024_035, "max_bytes": 181_829_632,
            "total_bytes": 432_865_280, "total_ns": "827859200", "bytes_per_second": 522_873_068,
        })
    );
    assert_eq!(
        json["migrations"]["device_to_host"],
        json!({
            "count": 32, "failed": 0, "min_bytes": 4096, "avg_bytes": 2_031_616, "max_bytes": 2 << 20,
            "total_bytes": 65_011_712, "total_ns": "39135300", "bytes_per_second": 1_661_203_874,
        })
    );
    let text = human(log.as_bytes());
    let row = |name: &str| -> Vec<String> {
        let row = text.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("{text}"));
        row[name.len()..]
            .split("  ")
            .map(str::trim)
            .filter(|cell| !cell.is_empty())
            .map(str::to_owned)
            .collect()
    };
    assert_eq!(
        row("host to device"),
        ["36", "0", "11.4670 MiB", "2 MiB", "173.4062 MiB", "412.8125 MiB", "827.859 ms", "0.52"]
    );
    assert_eq!(
        row("device to host"),
        ["32", "0", "1.9375 MiB", "4 KiB", "2 MiB", "62 MiB", "39.135 ms", "1.66"]
    );
}

/// MI300A: the memory is one, so there are faults and no migrations.
#[test]
fn faults_alone_are_enough() {
    let log: String = (1..=100)
        .map(|n| format!("7 {n}000000 -7 @{n:x}(1ea0) W\n8 {n}000{n:03} -7 @{n:x}(1ea0) U\n"))
        .collect();
    let json = object(&[], log.as_bytes());
    assert_eq!(json["migrations"]["host_to_device"]["count"], 0);
    assert_eq!(
        json["faults"],
        json!({
            "read": 0, "write": 100, "migrated": 0, "updated": 100,
            "duration_ns": {"count": 100, "p50": "50", "p90": "90", "p99": "99", "max": "100"},
        })
    );
    let text = human(log.as_bytes());
    assert!(text.contains("page fault    100  50 ns  90 ns  99 ns  100 ns"), "{text}");
    assert!(!text.contains("host to device"), "{text}");
}

#[test]
fn ends_before_their_starts_are_no_pair() {
    let log =
        b"6 1500 -7 @10(200) 0->1ea0 0 0\n5 1000 -7 @10(200) 0->1ea0 0:0 0\n8 9 -7 @1(2) M\n7 1 -7 @1(2) W\n\
                a 2 -7 3 0\n9 1 -7 3 2\n4 1\n3 1\n";
    let json = object(&[], log);
    for (key, count) in json["unpaired"].as_object().unwrap() {
        let expected = u64::from(!key.starts_with("process"));
        assert_eq!(count, expected, "{key}");
    }
    assert_eq!(json["migrations"]["host_to_device"]["count"], 0);
    assert_eq!(json["resets"], json!([{"reset_seq": 1, "completed": false}]));
}

const TWO: &[u8] = b"5 1000000000 -7 @10(1) 0->1ea0 0:0 0\n6 2000000000 -7 @10(1) 0->1ea0 0 0\n\
                     9 3000000000 -8 fc7d 2\na 4000000000 -8 fc7d 0\n";

#[test]
fn what_is_left_out_is_as_if_it_were_not_there() {
    let lines = |args: &[&str]| object(args, TWO)["lines"].as_u64().unwrap();
    assert_eq!(lines(&[]), 4);
    assert_eq!(lines(&["--event", "migrate_end"]), 1);
    assert_eq!(lines(&["--pid", "8"]), 2);
    assert_eq!(lines(&["--gpu", "0x1ea0"]), 2);
    // What began before the window has no start.
    let part = object(&["--from", "2", "--to", "4"], TWO);
    assert_eq!((&part["lines"], &part["unpaired"]["migrate_end"]), (&json!(2), &json!(1)));
    assert_eq!(part["unpaired"]["queue_eviction"], 1);
    assert_eq!(object(&["--trusted-only"], b"1 5:a\n3 1\n")["lines"], 1);
    let text = feed(&["stat", "--by", "gpu"], TWO);
    assert!(text.text().contains("\ngpu ") && !text.text().contains("\nevent "), "{}", text.text());
    assert!(!text.text().contains("\npid "));
    assert_eq!(feed(&["stat", "--by", "what"], TWO).status, 2);
}

#[test]
fn each_machine_has_its_own_pages() {
    let capture = |size: &str, pages: u64| {
        format!(
            "# kfd-smi capture 1\n{size}5 1ea0 : 5 1 -7 @10({pages:x}) 0->1ea0 0:0 0\n\
             6 1ea0 : 6 11 -7 @10({pages:x}) 0->1ea0 0 0\n"
        )
    };
    let folder = Folder::with(&[
        ("a", capture("# page-size 65536\n", 1).as_bytes()),
        ("b", capture("", 2).as_bytes()),
        ("c", b"5 1 -7 @10(4) 0->1ea0 0:0 0\n6 11 -7 @10(4) 0->1ea0 0 0\n"),
    ]);
    let moved = |args: &[&str]| {
        let ran = folder.run(&[&["stat", "--format", "json"], args].concat());
        one(&ran)["migrations"]["host_to_device"].clone()
    };
    assert_eq!(
        moved(&["a", "b", "c"]),
        json!({
            "count": 3, "failed": 0, "min_bytes": 8192, "avg_bytes": 30037, "max_bytes": 65536,
            "total_bytes": 90112, "total_ns": "30", "bytes_per_second": 3_003_733_333_333_u64,
        })
    );
    assert_eq!(moved(&["a", "b", "c", "--page-size", "4K"])["total_bytes"], 7 * 4096);
    // The inputs are paired each for itself.
    let halves = Folder::with(&[("a", b"3 1\n"), ("b", b"4 1\n")]);
    let json = one(&halves.run(&["stat", "--format", "json", "a", "b"]));
    assert_eq!(json["unpaired"]["gpu_pre_reset"], 1);
    assert_eq!(json["lines"], 2);
    let missing = halves.run(&["stat", "--format", "json", "a", "missing", "b"]);
    assert_eq!((missing.status, &one(&missing)["lines"]), (2, &json!(2)));
}

/// Files of one boot that were joined go on; another boot ends what is open.
#[test]
fn a_boot_ends_what_is_open_and_a_new_file_of_the_same_does_not() {
    let segment = |boot: &str, record: &str| format!("# kfd-smi capture 1\n{boot}{record}\n");
    let unpaired = |boots: [&str; 2]| {
        let log =
            segment(boots[0], "5 1ea0 : 9 1000 -7 1ea0 2") + &segment(boots[1], "6 1ea0 : a 2000 -7 1ea0 0");
        let json = object(&[], log.as_bytes());
        (
            json["unpaired"]["queue_eviction"].as_u64().unwrap(),
            json["unpaired"]["queue_restore"].as_u64().unwrap(),
        )
    };
    assert_eq!(unpaired(["# boot-id a\n", "# boot-id a\n"]), (0, 0));
    assert_eq!(unpaired(["# boot-id a\n", "# boot-id b\n"]), (1, 1));
    assert_eq!(unpaired(["", ""]), (1, 1));
}

/// What a line carries and what carried it are told apart.
#[test]
fn gpus_are_those_that_carried_the_lines() {
    let log = b"# kfd-smi capture 1\n5 1 : 3 1\n6 2 : 3 1\n7 2 : 4 1\n8 1 : 9 5 -7 2 2\n";
    let json = object(&[], log);
    assert_eq!(
        json["gpus"],
        json!({"0x1": {"gpu_pre_reset": 1, "queue_eviction": 1}, "0x2": {"gpu_pre_reset": 1, "gpu_post_reset": 1}})
    );
    assert_eq!(
        json["resets"],
        json!([
            {"gpu": "0x1", "reset_seq": 1, "completed": false},
            {"gpu": "0x2", "reset_seq": 1, "completed": true},
        ])
    );
}

#[test]
fn a_process_on_many_gpus_is_one() {
    let mut log = "# kfd-smi capture 1\n".to_owned();
    for (word, comm) in [("c", "one"), ("d", "one"), ("c", "again")] {
        for gpu in 1..=8 {
            log.push_str(&format!("5 {gpu} : {word} 2559e {comm} with a name\n"));
        }
    }
    let text = human(log.as_bytes());
    assert!(
        text.contains("2 processes began to use GPUs, each counted once for all GPUs that it uses at a time"),
        "{text}"
    );
}

#[test]
fn the_busiest_processes_are_listed_and_the_rest_is_other() {
    let mut log = String::new();
    for pid in 1..=300 {
        for _ in 0..if pid % 2 == 0 { 3 } else { 1 } {
            log.push_str(&format!("9 1 -{pid} 1ea0 2\n"));
        }
    }
    let json = object(&[], log.as_bytes());
    let pids = json["pids"].as_object().unwrap();
    assert_eq!(pids.len(), 257);
    assert!((1..=150).all(|half: u32| pids[&(half * 2).to_string()]["queue_eviction"] == 3));
    assert_eq!(pids["other"], json!({"queue_eviction": 44}));
    let text = human(log.as_bytes());
    assert!(text.lines().count() < 60, "{text}");
    // Far more of both than are told apart: nothing is lost.
    let mut log = String::new();
    for number in 1..=100_000_u32 {
        log.push_str(&format!("9 1 -{} {:x} 2\n9 1 -999999 1 2\n", number, number * 3));
    }
    let json = object(&[], log.as_bytes());
    let sum = |key: &str| -> u64 {
        json[key].as_object().unwrap().values().map(|kinds| kinds["queue_eviction"].as_u64().unwrap()).sum()
    };
    assert_eq!((sum("pids"), sum("gpus")), (200_000, 200_000));
    assert_eq!(json["pids"]["999999"]["queue_eviction"], 100_000);
    assert!(json["gpus"].as_object().unwrap().len() <= 1025);
}

#[test]
fn the_last_resets_are_listed() {
    let log: String = (1..=300).map(|seq| format!("3 {seq:x} job hang on ring:gfx\n4 {seq:x} \n")).collect();
    let resets = object(&[], log.as_bytes())["resets"].as_array().unwrap().clone();
    assert_eq!(
        (resets.len(), &resets[0]["reset_seq"], &resets[255]["reset_seq"]),
        (256, &json!(45), &json!(300))
    );
    assert!(resets.iter().all(|reset| reset["completed"] == true));
}

#[test]
fn nothing_that_a_process_chose_reaches_a_terminal() {
    let mut log = vec![];
    for byte in (0..=u8::MAX).filter(|byte| *byte != b'\n') {
        for head in [&b"1 5:"[..], b"c 5 ", b"d 6 ", b"3 1 ", b"5 1 -2 @3(4) 5->6 7:8 9 ", b"f ", b"bad "] {
            log.extend([head, &[b'a', byte, b'[', b'2', b'J'], b"\n"].concat());
        }
    }
    let folder = Folder::with(&[("a\x1b[2J\n", &log), ("b", b"3 1\n")]);
    for args in [&["stat"][..], &["stat", "--format", "json"], &["check"]] {
        assert_harmless(&feed(args, &log), "names");
        assert_harmless(&folder.run(&[args, &["a\x1b[2J\n", "b"]].concat()), "file names");
    }
    let capture = b"# kfd-smi capture 1\n5 1 : 9 1 -7 1 2\n# process 7 a\\x1b[31m /x\n";
    let text = human(capture);
    assert!(text.contains("a\\x1b[31m"), "{text}");
}

#[test]
fn colours_are_there_when_they_are_asked_for() {
    let escapes = |args: &[&str]| {
        let ran = feed(&[&["stat"], args].concat(), b"3 1\n");
        ran.stdout.iter().filter(|byte| **byte == 0x1b).count()
    };
    assert_eq!(escapes(&[]), 0);
    assert!(escapes(&["--color", "always"]) > 0);
    assert_eq!(escapes(&["--color", "always", "--format", "json"]), 0);
}

#[test]
fn bad_lines_fail_if_that_was_asked() {
    for (args, log, status) in [
        (&["stat"][..], &b"nonsense\n"[..], 0),
        (&["stat", "--strict"], b"nonsense\n", 1),
        (&["stat", "--strict"], b"3 1\nff what\n", 0),
        (&["stat", "--strict"], b"3 1", 1),
        (&["stat", "--interval", "1s"], b"", 2),
        (&["stat", "--threshold", "x=1"], b"", 2),
        (&["stat", "--live", "-"], b"", 2),
        (&["stat", "--live", "--from", "5"], b"", 2),
    ] {
        assert_eq!(feed(args, log).status, status, "{args:?}");
    }
    let lost = feed(&["stat"], b"# kfd-smi capture 1\n5 1 : 3 1\n# lost 5\n# full 1\n9 nonsense\n");
    assert!(lost.text().contains("5 records missing: the recorder had no room"), "{}", lost.text());
    assert!(lost.text().contains("1 line in captures that are no records"), "{}", lost.text());
}

#[test]
fn no_table_is_wider_than_a_terminal() {
    let log: String = (0..2000_u64)
        .map(|n| {
            let (pid, pages) = (4_000_000 + n % 30, (n + 1) * 7919);
            format!(
                "5 {n}000000000 -{pid} @7f0f15200({pages:x}) 0->1ea0 0:0 1\n\
                 6 {n}500000000 -{pid} @7f0f15200({pages:x}) 0->1ea0 1 0\n\
                 9 {n}000000000 -{pid} fc7d 2\na {n}999999999 -{pid} fc7d 0\n\
                 1 {pid:x}:\x1b\x1b\x1b\x1b\x1b\x1b\x1b\x1b\n3 {n:x} job hang on ring:gfx_0.0.0\n"
            )
        })
        .collect();
    let text = human(log.as_bytes());
    let widest =
        text.lines().filter(|line| !line.starts_with("    |")).max_by_key(|line| line.len()).unwrap();
    assert!(widest.len() <= 100, "{}: {widest}", widest.len());
}

/// The genuine start of a reset keeps its end, whatever a name says in between.
#[test]
fn a_forged_reset_takes_no_end() {
    let resets = |log: &[u8]| object(&[], log)["resets"].clone();
    let log = b"3 1 a cause of the driver\n1 5:\n3 1 forged\n4 1 xxxxxxxxxxxxxxxx\n";
    assert_eq!(
        resets(log),
        json!([
            {"reset_seq": 1, "cause": "a cause of the driver", "completed": true},
            {"reset_seq": 1, "cause": "forged", "completed": false},
        ])
    );
}

/// More at once than the command keeps: it says so.
#[test]
fn starts_that_are_given_up_are_told() {
    let starts = (0..1100).map(|page| format!("7 1000000 -5 @{page:x}(1ea0) W\n"));
    let ends = (0..1100).map(|page| format!("8 2000000 -5 @{page:x}(1ea0) M\n"));
    let log: String = starts.chain(ends).collect();
    let ran = feed(&["stat", "--format", "json"], log.as_bytes());
    assert!(ran.stderr.contains("76 starts were given up"), "{}", ran.stderr);
}
