//! `kfd-smi replay` on captures: what it prints of them, what it cuts out of them, and how it puts several in order.

mod choice;
mod streams;

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::Stdio;

use kfd_smi_testkit::corpus;
use serde_json::{Value, json};

use crate::folder::Folder;
use crate::hostile::assert_harmless;
use crate::run::{Ran, command, head, replay};

const EXAMPLE: &[u8] = include_bytes!("../data/captures/example.capture");

/// A capture of these lines.
fn capture(lines: &str) -> Vec<u8> {
    format!("# kfd-smi capture 1\n{lines}").into_bytes()
}

fn objects(ran: &Ran) -> Vec<Value> {
    ran.lines().into_iter().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The records of a capture, as JSON.
fn json_of(args: &[&str], capture: &[u8]) -> Vec<Value> {
    objects(&replay(&[&["--format", "json"], args].concat(), capture))
}

/// The same without their numbers, which count what was there before.
fn unnumbered(mut records: Vec<Value>) -> Vec<Value> {
    for record in &mut records {
        record.as_object_mut().unwrap().remove("seq");
    }
    records
}

/// One key of every record, as text.
fn each(key: &str, records: &[Value]) -> Vec<String> {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    records.iter().map(|record| text(&record[key])).collect()
}

/// The time at the beginning of a line for people.
fn times(ran: &Ran) -> Vec<String> {
    let records = ran.lines().into_iter().filter(|line| !line.starts_with('#'));
    records.map(|line| line.trim_start().split_once("  ").unwrap().0.to_owned()).collect()
}

/// The lines for people that are no records.
fn facts(ran: &Ran) -> Vec<&str> {
    ran.lines().into_iter().filter(|line| line.starts_with('#')).collect()
}

/// A capture of one boot: the clock it gives to a record at 0, its page size, and its records.
fn boot(id: &str, realtime: u64, page_size: u32, records: &str) -> Vec<u8> {
    capture(&format!("# page-size {page_size}\n# boot-id {id}\n# clock 0 {realtime} 0\n{records}"))
}

/// Two clocks, of which the second was set back by a second, and records around them.
const CLOCKS: &str = "\
10 1f4b : 3 1
# clock 1000000000 1764581223000000000 900000000
1000000001 1f4b + 3 2
# clock 2000000000 1764581223000000000 1900000000
2500000000 1f4b + 9 2499999999 -2 fc7d 2
2500000000 1f4b : 1 cf:a
2500000000 1f4b + 9 1 -2 3 4
";

#[test]
fn every_record_says_when_and_where_it_came_from_and_whether_to_believe_it() {
    let eviction = |trust, boot_ns: &str, node, trigger, trigger_id, seq| {
        json!({
            "v": 1, "seq": seq, "event": "queue_eviction", "id": 9, "arrival_ns": "2500000000",
            "time": "2025-12-01T09:27:03.500000000Z", "gpu": "0x1f4b", "trust": trust, "boot_ns": boot_ns,
            "pid": 2, "node": node, "trigger": trigger, "trigger_id": trigger_id,
        })
    };
    let expected = [
        // No clock was seen yet.
        json!({
            "v": 1, "seq": 1, "event": "gpu_pre_reset", "id": 3, "arrival_ns": "10", "gpu": "0x1f4b",
            "reset_seq": 1,
        }),
        json!({
            "v": 1, "seq": 2, "event": "gpu_pre_reset", "id": 3, "arrival_ns": "1000000001",
            "time": "2025-12-01T09:27:03.000000001Z", "gpu": "0x1f4b", "reset_seq": 2,
        }),
        // The last clock holds.
        eviction("foreign_gpu", "2499999999", "0xfc7d", "ttm", 2, 3),
        json!({
            "v": 1, "seq": 4, "event": "vmfault", "id": 1, "arrival_ns": "2500000000",
            "time": "2025-12-01T09:27:03.500000000Z", "gpu": "0x1f4b", "pid": 207, "comm": "a",
        }),
        // Both are true of it.
        eviction("forgeable", "1", "0x3", "criu_checkpoint", 4, 5),
    ];
    assert_eq!(json_of(&[], &capture(CLOCKS)), expected);
}

#[test]
fn a_capture_without_clock_has_no_time_of_day() {
    let lines: String = CLOCKS.split_inclusive('\n').filter(|line| !line.starts_with('#')).collect();
    let records = json_of(&[], &capture(&lines));
    assert_eq!(records.len(), 5);
    for record in records {
        assert_eq!(record.get("time"), None);
        assert!(record.get("arrival_ns").is_some());
    }
    // People get the time since boot, whatever they ask for.
    for clock in ["wall", "mono", "boot"] {
        assert_eq!(
            times(&replay(&["--clock", clock], &capture(&lines))),
            ["~0.000000010", "~1.000000001", "2.499999999", "~2.500000000", "0.000000001"]
        );
    }
}

#[test]
fn people_choose_the_clock() {
    let times = |args: &[&str]| times(&replay(args, &capture(CLOCKS)));
    let wall = [
        "~0.000000010",
        "~2025-12-01T09:27:03.000000001Z",
        "2025-12-01T09:27:03.499999999Z",
        "~2025-12-01T09:27:03.500000000Z",
        "2025-12-01T09:27:01.000000001Z",
    ];
    assert_eq!(times(&[]), wall);
    assert_eq!(times(&["--clock", "wall"]), wall);
    assert_eq!(
        times(&["--clock", "mono"]),
        ["~0.000000010", "~0.900000001", "2.399999999", "~2.400000000", "-0.099999999"]
    );
    assert_eq!(
        times(&["--clock", "boot"]),
        ["~0.000000010", "~1.000000001", "2.499999999", "~2.500000000", "0.000000001"]
    );
    // A raw log knows the times of the driver alone.
    for clock in ["wall", "mono", "boot"] {
        let raw = replay(&["--clock", clock], b"9 2499999999 -2 fc7d 2\n3 1\n");
        let shown: Vec<_> =
            raw.lines().into_iter().map(|line| line.split_whitespace().next().unwrap()).collect();
        assert_eq!(shown, ["2.499999999", "-"], "{clock}");
    }
}

/// Everything that a capture can say besides records.
const FACTS: &str = "\
# program kfd-smi/0.1.0
# machine x86_64
# release 6.12.95
# kfd 1.17
# host node\\x20seven
# privileged no
# gpu 1f4b aldebaran 0000:c1:00.0 2bccf316621506e7
# clock 1000 1764581223000000000 1000
# something a newer version says
2000 1f4b : 7 1500 -207 @10(1f4b) R
# process 207 python3 /user.slice/job\\x20one
# clock 3000 1764581223000001999 3000
# full 1f4b
# lost 120
# end 1f4b closed
";

#[test]
fn people_read_what_the_capture_says_where_it_says_it() {
    let ran = replay(&["--clock", "boot"], &capture(FACTS));
    assert_eq!(
        ran.lines(),
        [
            "# capture of host \"node seven\", Linux 6.12.95, x86_64, KFD 1.17, unprivileged",
            "# gpu 0x1f4b \"aldebaran\" at 0000:c1:00.0",
            "# begins at 2025-12-01T09:27:03.000000000Z",
            "      0.000001500  page_fault_start  pid 207       gpu 0x1f4b  read, [0x10000,0x11000) 4 KiB",
            "# pid 207 was \"python3\" in \"/user.slice/job one\" just after",
            "# the driver's buffer of GPU 0x1f4b was full: events may be missing here",
            "# 120 records are missing here: the recorder had no room",
            "# gpu 0x1f4b ended: closed",
        ]
    );
    assert_eq!((ran.stderr.as_str(), ran.status), ("", 0));
}

#[test]
fn programs_read_records_alone_and_people_what_is_missing() {
    let missing = "\
        kfd-smi: standard input: the driver's buffer of GPU 0x1f4b was full: events may be missing\n\
        kfd-smi: standard input: 120 records are missing: the recorder had no room for them\n\
        kfd-smi: standard input: GPU 0x1f4b ended: closed\n";
    for (format, lines) in [("json", 1), ("csv", 2), ("raw", 1)] {
        let ran = replay(&["--format", format], &capture(FACTS));
        assert_eq!((ran.lines().len(), ran.stderr.as_str(), ran.status), (lines, missing, 0), "{format}");
    }
}

/// Of a day with thousands of processes, those are described that were chosen.
#[test]
fn a_process_is_described_where_a_chosen_record_names_it() {
    let lines = "\
        1 1 : 9 1 -5 1 2\n\
        # process 5 five /\n\
        2 1 : 9 2 -6 1 2\n\
        # process 6 six /\n\
        # process 7 seven /\n\
        3 1 : 9 3 -5 1 2\n\
        4 1 : c 7 x\n";
    let described = |args: &[&str]| {
        let ran = replay(args, &capture(lines));
        let pids = |line: &str| line.strip_prefix("# pid ").map(|rest| rest[..1].to_owned());
        ran.lines().into_iter().filter_map(pids).collect::<Vec<_>>().concat()
    };
    assert_eq!(described(&[]), "567");
    assert_eq!(described(&["--pid", "5"]), "5");
    assert_eq!(described(&["--event", "process_start"]), "7");
    assert_eq!(described(&["--event", "vmfault"]), "");
    // It was described before.
    assert_eq!(described(&["--from", "0.000000003"]), "57");
    let kept = replay(&["--format", "capture", "--from", "0.000000003"], &capture(lines));
    assert_eq!(
        kept.text(),
        "# kfd-smi capture 1\n3 1 : 9 3 -5 1 2\n# process 5 five /\n4 1 : c 7 x\n# process 7 seven /\n"
    );
    // Of another machine, nothing is known.
    let joined = [capture(lines), capture("5 1 : 9 5 -5 1 2\n# process 5 other -\n")].concat();
    let kept = replay(&["--format", "capture", "--from", "0.000000005"], &joined);
    assert!(kept.text().ends_with("1\n5 1 : 9 5 -5 1 2\n# process 5 other -\n"), "{}", kept.text());
}

#[test]
fn dos_line_ends_change_nothing() {
    let dos = EXAMPLE
        .split_inclusive(|byte| *byte == b'\n')
        .flat_map(|line| [&line[..line.len() - 1], b"\r\n"].concat());
    let dos: Vec<u8> = dos.collect();
    for format in ["human", "json", "csv", "raw", "capture"] {
        let args = ["--format", format, "--strict"];
        let (ran, expected) = (replay(&args, &dos), replay(&args, EXAMPLE));
        assert_eq!(ran.text(), expected.text());
        assert_eq!((ran.stderr, ran.status), (expected.stderr, 0));
    }
}

#[test]
fn joined_captures_have_nothing_to_do_with_each_other() {
    let first = capture(
        "# page-size 65536\n# clock 0 1000000000 0\n1 1 : 1 5:a\n2 1 + 9 1 -2 1 4\n3 1 + 4 1 cut\\\n",
    );
    let second = capture("4 1 + b 3 -2 @10(1) 1 0\n");
    let ran = replay(&["--format", "json"], &[first.clone(), second.clone()].concat());
    let records = objects(&ran);
    assert_eq!(each("seq", &records), ["1", "2", "3", "4"]);
    assert_eq!(each("trust", &records), ["null", "forgeable", "null", "null"]);
    assert_eq!(each("time", &records)[3], "null");
    assert_eq!(each("unterminated", &records), ["null", "null", "true", "null"]);
    let people = replay(&[], &[first, second].concat());
    assert_eq!(facts(&people), ["# capture", "# begins at 1970-01-01T00:00:01.000000000Z", "# capture"]);
    assert!(people.text().contains("[0x10000,0x11000)"), "the page size is the second's: {}", people.text());
}

#[test]
fn lines_that_are_no_records_are_reported_with_their_place_in_the_file() {
    let damaged = capture("1 1 : 3 1\n2 1 3 2\n\n# lost many\n5 1 + 4 1\\x20\n");
    let (offset, blank) = ("expected \":\" or \"+\" at byte 4 of line 3", "at byte 0 of line 4");
    for (args, status) in [(&["--format", "json"][..], 0), (&["--format", "json", "--strict"], 1)] {
        let ran = replay(args, &damaged);
        assert_eq!(ran.status, status);
        assert_eq!(each("seq", &objects(&ran)), ["1", "2"], "they give no record");
        let stderr: Vec<_> = ran.stderr.lines().collect();
        assert_eq!(stderr.len(), 3, "{stderr:?}");
        assert_eq!(stderr[0], format!("kfd-smi: standard input: {offset}"));
        assert!(stderr[1].ends_with(blank) && stderr[2].ends_with("at byte 7 of line 5"), "{stderr:?}");
    }
    let folder = Folder::with(&[("day.capture", &damaged), ("sound.capture", &capture("1 1 : 3 1\n"))]);
    for args in [&["day.capture", "--strict"][..], &["sound.capture", "day.capture", "--strict"]] {
        let ran = folder.replay(args);
        assert!(ran.stderr.contains(&format!("kfd-smi: day.capture: {offset}\n")), "{}", ran.stderr);
        assert_eq!(ran.status, 1);
    }
    // It is said once, although the file is read twice.
    assert_eq!(folder.replay(&["day.capture", "--last", "1"]).stderr.matches(offset).count(), 1);
}

#[test]
fn a_capture_cut_anywhere_is_read_up_to_there() {
    let whole = json_of(&[], EXAMPLE);
    for cut in b"# kfd-smi capture 1".len()..EXAMPLE.len() {
        let part = &EXAMPLE[..cut];
        let ran = replay(&["--format", "json", "--strict"], part);
        let rows = part.split(|byte| *byte == b'\n').collect::<Vec<_>>();
        let is_record = |row: &&&[u8]| !row.is_empty() && !row.starts_with(b"#");
        let complete = rows[..rows.len() - 1].iter().filter(is_record).count();
        let records = objects(&ran);
        assert_eq!(records[..complete], whole[..complete], "cut at {cut}");
        for open in &records[complete..] {
            assert_eq!(open["unterminated"], true, "cut at {cut}");
        }
        assert!(records.len() <= complete + 1);
        if records.len() > complete {
            assert!(ran.stderr.contains("the last line has no newline") && ran.status == 1);
        }
    }
    let lost = replay(&["--strict"], &capture("1 1 : 3 1\n# lost 12"));
    assert_eq!((facts(&lost), lost.status), (vec!["# capture"], 1));
    assert!(lost.stderr.contains("expected a newline, the file ends at byte 9 of line 3"), "{}", lost.stderr);
}

#[test]
fn a_log_that_only_looks_like_a_capture_is_raw() {
    for first in ["# kfd-smi capture 2", "# kfd-smi capture 1 ", "#", "# kfd-smi capture"] {
        let log = format!("{first}\n3 1\n# lost 5\n");
        let records = json_of(&[], log.as_bytes());
        assert_eq!(each("event", &records), ["malformed", "gpu_pre_reset", "malformed"], "{first}");
        assert_eq!(records[1].get("gpu"), None);
        assert_eq!(replay(&["--format", "raw"], log.as_bytes()).text(), log);
    }
}
