//! `kfd-smi replay` on captures: what it prints of them, what it cuts out of them, and how it puts several in order.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::PathBuf;
use std::process::Stdio;
use std::{env, fs, process};

use kfd_smi_testkit::corpus;
use serde_json::{Value, json};

use crate::hostile::assert_harmless;
use crate::run::{Ran, command, replay};

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

/// A folder with files, gone at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str, files: &[(&str, &[u8])]) -> Self {
        let folder = env::temp_dir().join(format!("kfd-smi-{name}-{}", process::id()));
        fs::create_dir(&folder).unwrap();
        for (file, bytes) in files {
            fs::write(folder.join(file), bytes).unwrap();
        }
        Self(folder)
    }

    fn replay(&self, args: &[&str]) -> Ran {
        let args = [&["replay"], args].concat();
        command(&args).current_dir(&self.0).output().unwrap().into()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        _ = fs::remove_dir_all(&self.0);
    }
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
    let folder =
        Folder::new("damaged", &[("day.capture", &damaged), ("sound.capture", &capture("1 1 : 3 1\n"))]);
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

/// A capture of one boot: the clock it gives to a record at 0, its page size, and its records.
fn boot(id: &str, realtime: u64, page_size: u32, records: &str) -> Vec<u8> {
    capture(&format!("# page-size {page_size}\n# boot-id {id}\n# clock 0 {realtime} 0\n{records}"))
}

#[test]
fn captures_of_one_boot_are_merged_by_arrival() {
    // Their clocks disagree, for the time was set; that does not matter.
    let folder = Folder::new(
        "one-boot",
        &[
            ("a", &boot("x", 5_000_000_000, 4096, "10 1 : 3 1\n30 1 : 3 3\n30 1 : 3 4\n50 1 : 3 6\n")),
            ("b", &boot("x", 1_000_000_000, 4096, "20 2 : 3 2\n30 2 : bad\n30 2 : 3 5\n")),
            ("c", &capture("# boot-id x\n")),
        ],
    );
    let records = objects(&folder.replay(&["--format", "json", "a", "b", "c"]));
    let place: Vec<_> = records
        .iter()
        .map(|record| format!("{}{}", record["input"].as_str().unwrap(), record["seq"]))
        .collect();
    assert_eq!(place, ["a1", "b1", "a2", "a3", "b2", "b3", "a4"]);
    assert_eq!(each("gpu", &records)[..2], ["0x1", "0x2"]);
    // Each has the clock of its own file.
    assert_eq!(
        each("time", &records)[..2],
        ["1970-01-01T00:00:05.000000010Z", "1970-01-01T00:00:01.000000020Z"]
    );
    // Trust is that of its GPU, whatever stands between.
    let names = Folder::new(
        "merged-trust",
        &[
            ("a", &boot("x", 0, 4096, "10 1 : 1 5:a\n30 1 + 3 1\n")),
            ("b", &boot("x", 0, 4096, "20 1 + 3 2\n40 1 : 1 5:b\n")),
        ],
    );
    let records = objects(&names.replay(&["--format", "json", "a", "b"]));
    assert_eq!(each("trust", &records), ["null", "null", "forgeable", "null"]);
    // What is wrong is said of the file it is in.
    let ran = folder.replay(&["--strict", "a", "b", "c"]);
    assert!(
        ran.stderr.starts_with("kfd-smi: b: 1 of 3 lines malformed, the first is line 2: "),
        "{}",
        ran.stderr
    );
    assert_eq!((ran.stderr.lines().count(), ran.status), (1, 1));
    // A missing one does not stop the others.
    let ran = folder.replay(&["--format", "raw", "a", "missing", "b"]);
    assert_eq!(ran.status, 2);
    assert_eq!(ran.text().lines().count(), 7);
}

#[test]
fn captures_of_different_boots_are_merged_by_the_wall_clock() {
    let folder = Folder::new(
        "two-boots",
        &[
            (
                "a",
                &boot("x", 1_000_000_000_000, 4096, "10 1 : b 10 -2 @10(1) 1 0\n40 1 : b 40 -2 @10(1) 1 0\n"),
            ),
            ("b", &boot("y", 1_000_000_000_000 - 1000, 65536, "1020 1 : b 1020 -2 @10(1) 1 0\n")),
            ("no clock", &capture("# boot-id z\n7 1 : 3 1\n")),
            ("raw", b"3 9\n"),
        ],
    );
    for files in [["a", "b"], ["b", "a"]] {
        let ran = folder.replay(&["--format", "json", files[0], files[1]]);
        let records = objects(&ran);
        assert_eq!(each("input", &records), ["a", "b", "a"]);
        assert_eq!(each("arrival_ns", &records), ["10", "1020", "40"]);
        assert!(each("time", &records).is_sorted());
        // Each counts in the pages of its own machine, unless the user knows better.
        let sizes = |args: &[&str]| {
            let ran = folder.replay(&[args, &files].concat());
            ran.lines()
                .into_iter()
                .filter(|line| !line.starts_with('#'))
                .map(|line| line.rsplit_once(") ").unwrap().1.to_owned())
                .collect::<Vec<_>>()
        };
        assert_eq!(sizes(&[]), ["4 KiB", "64 KiB", "4 KiB"]);
        assert_eq!(sizes(&["--page-size", "2M"]), ["2 MiB"; 3]);
    }
    // Without a clock the time since boot is all there is: it is early.
    let records = objects(&folder.replay(&["--format", "json", "a", "no clock"]));
    assert_eq!(each("input", &records), ["no clock", "a", "a"]);
    // A raw log has no times: one after the other.
    let ran = folder.replay(&["--format", "json", "b", "raw", "a"]);
    assert_eq!(each("input", &objects(&ran)), ["b", "raw", "a", "a"]);
    let human = folder.replay(&["b", "raw"]);
    let heads: Vec<_> = human.lines().into_iter().filter(|line| line.starts_with("==>")).collect();
    assert_eq!(heads, ["==> b <==", "==> raw <=="]);
}

/// What a capture says of its pages holds for its own records alone.
#[test]
fn the_page_size_is_that_of_the_capture() {
    let line = "1 1 : b 1 -2 @10(1) 1 0\n";
    let folder = Folder::new(
        "pages",
        &[
            ("64k", &capture(&format!("# page-size 65536\n{line}"))),
            ("none", &capture(line)),
            ("raw", b"b 1 -2 @10(1) 1 0\n"),
        ],
    );
    let memory = |args: &[&str]| {
        let ran = folder.replay(args);
        let lines = ran.lines().into_iter().filter_map(|line| line.split_once("mmu_notify, "));
        lines.map(|(_, memory)| memory.to_owned()).collect::<Vec<_>>()
    };
    let (four, large) = ("[0x10000,0x11000) 4 KiB", "[0x100000,0x110000) 64 KiB");
    assert_eq!(memory(&["64k"]), [large]);
    assert_eq!(memory(&["none"]), [four]);
    assert_eq!(memory(&["64k", "--page-size", "4K"]), [four]);
    assert_eq!(memory(&["64k", "raw"]), [large, four]);
    assert_eq!(memory(&["64k", "none"]), [large, four]);
}

/// Records at 1 to 9 seconds after boot, the first of them at 09:27:04 UTC.
fn seconds() -> Vec<u8> {
    let records: String = (1..10).map(|n| format!("{n}000000000 1 : 3 {n}\n# lost {n}\n")).collect();
    capture(&format!("# gpu 1 a - -\n# clock 0 1764581223000000000 0\n{records}"))
}

fn resets(args: &[&str], capture: &[u8]) -> String {
    each("reset_seq", &json_of(args, capture)).concat()
}

#[test]
fn a_span_of_time_begins_with_from_and_ends_before_to() {
    let resets = |args: &[&str]| resets(args, &seconds());
    assert_eq!(resets(&["--from", "3"]), "3456789");
    assert_eq!(resets(&["--from", "3.000000001"]), "456789");
    assert_eq!(resets(&["--to", "3"]), "12");
    assert_eq!(resets(&["--to", "3.000000001"]), "123");
    assert_eq!(resets(&["--from", "2025-12-01T09:27:05Z", "--to", "2025-12-01T09:27:08Z"]), "234");
    assert_eq!(resets(&["--from", "2025-12-01T10:27:05+01:00", "--to", "2025-12-01 09:27:08"]), "234");
    assert_eq!(resets(&["--from", "2025-12-01T09:27:04.5Z", "--to", "5"]), "234");
    assert_eq!(resets(&["--from", "5", "--to", "5"]), "");
    assert_eq!(replay(&["--from", "yesterday"], &seconds()).status, 2);
    // Numbers are those in the file, and what the capture says is left out with the records around it.
    let ran = replay(&["--from", "3", "--to", "5"], &seconds());
    assert_eq!(
        facts(&ran),
        [
            "# capture",
            "# gpu 0x1 \"a\" at ",
            "# begins at 2025-12-01T09:27:03.000000000Z",
            "# 3 records are missing here: the recorder had no room",
            "# 4 records are missing here: the recorder had no room",
        ]
    );
    assert_eq!(each("seq", &json_of(&["--from", "8"], &seconds())), ["8", "9"]);
    // Without clock, no record is known to be in a span of the day.
    assert_eq!(json_of(&["--from", "2020-01-01T00:00:00Z"], &capture("1 1 : 3 1\n")).len(), 0);
    // In a raw log, the driver's own times count; a line without has that of the one before.
    let raw = b"3 1\n9 2000000000 -2 3 4\n3 2\n9 3000000000 -2 3 4\n3 3\n";
    assert_eq!(each("seq", &json_of(&["--from", "2", "--to", "3"], raw)), ["2", "3"]);
}

#[test]
fn the_last_of_those_that_were_chosen() {
    let folder = Folder::new(
        "last",
        &[
            ("day", &seconds()),
            ("raw", b"3 1\n3 2\n4 1\n"),
            ("a", &boot("x", 0, 4096, "1 1 : 3 1\n3 1 : 3 3\n")),
            ("b", &boot("x", 0, 4096, "2 1 : 3 2\n4 1 : 4 4\n")),
            // Not what the name says to the command.
            ("-", b"3 7\n"),
        ],
    );
    let resets = |args: &[&str]| {
        let ran = folder.replay(&[&["--format", "json"], args].concat());
        assert_eq!(ran.status, 0, "{}", ran.stderr);
        each("reset_seq", &objects(&ran)).concat()
    };
    assert_eq!(resets(&["day", "--last", "2"]), "89");
    assert_eq!(resets(&["day", "--last", "0"]), "");
    assert_eq!(resets(&["day", "--last", "1000"]), "123456789");
    assert_eq!(resets(&["day", "--last", "2", "--to", "5"]), "34");
    assert_eq!(resets(&["raw", "--last", "1", "--event", "gpu_pre_reset"]), "2");
    assert_eq!(resets(&["a", "b", "--last", "3"]), "234");
    assert_eq!(resets(&["a", "b", "--last", "2", "--event", "gpu_pre_reset"]), "23");
    // What the capture says goes with the records around it.
    assert_eq!(
        folder.replay(&["day", "--last", "1", "--format", "capture"]).text(),
        "# kfd-smi capture 1\n# gpu 1 a - -\n# clock 0 1764581223000000000 0\n9000000000 1 : 3 9\n# lost 9\n"
    );
    // What cannot be read twice has no last lines.
    for args in
        [&["--last", "1"][..], &["--last", "1", "-"], &["--last", "1", "day", "-"], &["--last", "1", "."]]
    {
        let ran = folder.replay(args);
        assert_eq!((ran.status, ran.text()), (2, ""), "{args:?}");
        assert!(ran.stderr.contains("--last needs a file, which is read twice"), "{}", ran.stderr);
    }
    let missing = folder.replay(&["--format", "raw", "--last", "1", "missing", "raw"]);
    assert_eq!((missing.status, missing.lines().len()), (2, 1));
    assert!(missing.stderr.contains("missing: No such file"), "{}", missing.stderr);
    assert_eq!(missing.stderr.lines().count(), 1);
}

#[test]
fn speed_changes_nothing_but_the_time_it_takes() {
    let capture = seconds();
    for format in ["human", "json", "csv", "raw", "capture"] {
        let shown = |args: &[&str]| {
            let ran = replay(&[&["--format", format], args].concat(), &capture);
            assert_eq!(ran.status, 0);
            (ran.stdout, ran.stderr)
        };
        let max = shown(&["--speed", "max"]);
        assert_eq!(shown(&["--speed", "1000000"]), max);
        assert_eq!(shown(&[]), max);
    }
    let folder = Folder::new(
        "speed",
        &[
            ("a", &boot("x", 0, 4096, "1 1 : 3 1\n3 1 : 3 3\n")),
            ("b", &boot("x", 0, 4096, "2 1 : 3 2\n")),
            ("raw", b"3 1\n"),
        ],
    );
    assert_eq!(folder.replay(&["a", "b", "--format", "raw", "--speed", "0.5"]).text(), "3 1\n3 2\n3 3\n");
    for wrong in ["0", "-1", "fast", "nan", ""] {
        assert_eq!(folder.replay(&["a", &format!("--speed={wrong}")]).status, 2, "{wrong}");
    }
    for speed in ["1", "max"] {
        let ran = folder.replay(&["raw", "a", "--speed", speed, "--format", "raw"]);
        assert_eq!((ran.status, ran.text()), (2, "3 1\n3 3\n"));
        assert!(ran.stderr.contains("raw: expected a capture"), "{}", ran.stderr);
    }
}

/// Captures that a recorder wrote are copied byte by byte. Of the others, what has several spellings gets the recorder's:
/// carriage returns, numbers with zeros in front, pieces of lines that were joined, a last line that was cut off.
/// Comments and what is malformed are left out.
#[test]
fn a_whole_capture_is_copied_byte_by_byte() {
    let mut identical = 0;
    for log in corpus::captures() {
        let name = log.path.file_stem().unwrap().to_str().unwrap();
        let copy = replay(&["--format", "capture"], &log.bytes);
        match name {
            "cut" => {
                let whole = [&log.bytes[..], b"\\\n"].concat();
                assert_eq!(copy.stdout, whole);
            }
            "dos" => assert_eq!(copy.stdout, EXAMPLE),
            "damaged" => {}
            _ => {
                assert_eq!(copy.text(), str::from_utf8(&log.bytes).unwrap(), "{name}");
                identical += 1;
            }
        }
        assert_eq!(replay(&["--format", "capture"], &copy.stdout).stdout, copy.stdout, "{name}");
    }
    assert!(identical >= 4, "only {identical}");
    let facts = FACTS.replace("# something a newer version says\n", "");
    assert_eq!(replay(&["--format", "capture"], &capture(&facts)).stdout, capture(&facts));
    // Several stand one behind the other.
    let folder = Folder::new("copies", &[("a", EXAMPLE), ("b", &seconds())]);
    assert_eq!(folder.replay(&["a", "b", "--format", "capture"]).stdout, [EXAMPLE, &seconds()].concat());
}

/// What is cut out of a capture says of every record what the whole one said: a line that a process can have forged
/// stays one, with the line with the name gone, and the rest of a line does not become one.
#[test]
fn what_is_left_out_does_not_change_what_is_said_of_the_rest() {
    let tricky = capture(&format!(
        "1 1 : 1 5:a\n2 1 + 3 1\n3 1 + 9 4 -2 1 2\n4 2 + 1 6:\n4 1 + 3 1\n5 2 + 4 1\n6 2 + 9 1 -2 3 4\n7 1 : {}\\\n7 2 : \
         9 7 -6 1 2\n8 1 + {}\n9 1 + 3 3 cut\\\n",
        "x".repeat(16000),
        "y".repeat(5)
    ));
    let captures = corpus::captures().into_iter().map(|log| log.bytes).chain([
        tricky,
        EXAMPLE.to_vec(),
        capture(CLOCKS),
    ]);
    let mut kept = 0;
    let mut seams = 0;
    for bytes in captures {
        for filter in [
            &[][..],
            &["--event", "gpu_pre_reset,queue_eviction"],
            &["--event", "gpu_post_reset,malformed"],
            &["--event", "vmfault"],
            &["--pid", "2,6,124,4242"],
            &["--gpu", "0x1f4b,2"],
            &["--gpu", "0xfc7d,0xa895"],
            &["--trusted-only"],
            &["--from", "0.000000003"],
            &["--from", "9.327408399"],
            &["--to", "0.000000008"],
        ] {
            let cut = replay(&[filter, &["--format", "capture"]].concat(), &bytes);
            let expected = unnumbered(json_of(filter, &bytes));
            kept += expected.len();
            seams += cut.text().matches("# seam").count();
            assert_eq!(unnumbered(json_of(&[], &cut.stdout)), expected, "{filter:?} gave {}", cut.text());
            // Redaction changes texts alone.
            let redacted = replay(&[filter, &["--format", "capture", "--redact"]].concat(), &bytes);
            let redacted = json_of(&[], &redacted.stdout);
            for key in ["event", "trust", "gpu", "arrival_ns", "time", "pid", "boot_ns", "unterminated"] {
                assert_eq!(each(key, &redacted), each(key, &expected), "{key} with {filter:?}");
            }
        }
    }
    assert!(kept > 200 && seams > 10, "{kept} records and {seams} seams test little");
    // The budget of a name that is gone.
    let cut =
        replay(&["--format", "capture", "--event", "gpu_pre_reset"], &capture("1 1 : 1 5:a\n2 1 + 3 1\n"));
    assert_eq!(cut.text(), "# kfd-smi capture 1\n# seam 1 15\n2 1 + 3 1\n");
}

#[test]
fn nothing_chosen_leaves_the_capture_that_says_where_it_is_from() {
    let ran = replay(&["--format", "capture", "--event", "thermal_throttle", "--from", "99"], EXAMPLE);
    let header: Vec<_> = EXAMPLE.split_inclusive(|byte| *byte == b'\n').take(14).collect();
    assert_eq!(ran.stdout, header.concat());
}

#[test]
fn redaction_leaves_no_name() {
    let secrets = capture(
        "# release 6.1\n# host SECRET-host\n# gpu 1 aldebaran 0000:c1:00.0 5ec4e7\n1 1 : 1 5:SECRET-task\n\
         # process 5 SECRET-comm /SECRET.slice\n2 1 : c 5 SECRET\n3 1 + SECRET\n4 1 : 9 4 -5 1 2 SECRET\n\
         5 1 : ff SECRET\n6 1 : 3 1 job hang\n",
    );
    let ran = replay(&["--format", "capture", "--redact"], &secrets);
    assert_eq!(
        ran.text(),
        "# kfd-smi capture 1\n# release 6.1\n# redacted yes\n# gpu 1 aldebaran 0000:c1:00.0 -\n\
         1 1 : 1 5:xxxxxxxxxxx\n# process 5 - -\n2 1 : c 5 xxxxxx\n3 1 + xxxxxx\n4 1 : 9 4 -5 1 2 xxxxxx\n\
         5 1 : ff xxxxxx\n6 1 : 3 1 job hang\n"
    );
    assert!(facts(&replay(&[], &ran.stdout))[0].ends_with(", redacted"));
    // Twice is once.
    assert_eq!(replay(&["--format", "capture", "--redact"], &ran.stdout).text(), ran.text());
    assert_eq!(replay(&["--format", "capture"], &ran.stdout).text(), ran.text());
    // In the other formats names would stay.
    for format in ["human", "json", "csv", "raw"] {
        let ran = replay(&["--redact", "--format", format], &secrets);
        assert_eq!((ran.status, ran.text()), (2, ""), "{format}");
        assert!(ran.stderr.contains("--redact goes with --format capture"), "{}", ran.stderr);
    }
}

#[test]
fn no_capture_can_be_made_of_a_raw_log() {
    let folder = Folder::new("raw", &[("raw", b"3 1\n"), ("day", &capture("1 1 : 3 1\n"))]);
    let ran = replay(&["--format", "capture"], b"3 1\n");
    assert_eq!((ran.status, ran.text()), (2, ""));
    assert_eq!(
        ran.stderr,
        "kfd-smi: standard input: expected a capture: a raw log has neither times nor GPUs\n"
    );
    let ran = folder.replay(&["--format", "capture", "raw", "day"]);
    assert_eq!((ran.status, ran.stdout), (2, capture("1 1 : 3 1\n")));
}

#[test]
fn a_capture_can_come_through_a_pipe() {
    let folder = corpus::folder().join("captures");
    for format in ["human", "json", "csv", "raw", "capture"] {
        let file: Ran = command(&["replay", "example.capture", "--format", format])
            .current_dir(&folder)
            .output()
            .unwrap()
            .into();
        for args in [&["--format", format][..], &["--format", format, "-"]] {
            assert_eq!(replay(args, EXAMPLE).stdout, file.stdout, "{format}");
        }
    }
    // Standard input is read as it comes, so it is not merged.
    let args = ["replay", "example.capture", "-", "--format", "raw"];
    let mut command = command(&args);
    command.current_dir(&folder).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(&capture("1 1 : 3 ff\n")).unwrap();
    let ran: Ran = child.wait_with_output().unwrap().into();
    assert_eq!(ran.lines().last(), Some(&"3 ff"));
}

/// Records are shown when they came, not at the end of the input.
#[test]
fn records_do_not_wait_for_the_end_of_the_capture() {
    for format in ["human", "json", "csv", "raw", "capture"] {
        let mut child = command(&["replay", "--format", format])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        stdin.write_all(&capture("")).unwrap();
        for seq in 1..=3 {
            writeln!(stdin, "{seq} 1 : 3 1 cause {seq}").unwrap();
            let mut line = String::new();
            while !line.contains(&format!("cause {seq}")) {
                line.clear();
                assert!(stdout.read_line(&mut line).unwrap() > 0);
            }
        }
        drop(stdin);
        assert!(child.wait().unwrap().success());
    }
}

#[test]
fn the_two_hundred_and_fifty_seventh_gpu_is_reported() {
    let lines: String = (1..=300).map(|gpu| format!("{gpu} {gpu:x} : 3 {gpu:x}\n")).collect();
    let ran = replay(&["--format", "json", "--strict"], &capture(&lines));
    assert_eq!(each("gpu", &objects(&ran)), (1..=256).map(|gpu| format!("{gpu:#x}")).collect::<Vec<_>>());
    assert_eq!((ran.stderr.lines().count(), ran.status), (44, 1));
    assert_eq!(
        ran.stderr.lines().next().unwrap(),
        "kfd-smi: standard input: expected at most 256 GPUs, there is one more at byte 4 of line 258"
    );
    // An end makes room.
    let mut lines: Vec<_> = (1..=256).map(|gpu| format!("{gpu} {gpu:x} : 3 {gpu:x}\n")).collect();
    lines.push("# end 7 closed\n257 101 : 3 101\n".to_owned());
    let ran = replay(&["--format", "raw", "--strict"], &capture(&lines.concat()));
    assert_eq!((ran.lines().len(), ran.status), (257, 0));
}

/// Whatever bytes a host, a chip or a process has in its name, escaped as they should be or not.
#[test]
fn no_byte_of_a_capture_reaches_a_terminal() {
    let mut escaped = String::new();
    for bytes in (0..=u8::MAX).collect::<Vec<_>>().chunks(32) {
        let text: String = bytes.iter().map(|byte| format!("a\\x{byte:02x}[2J\"")).collect();
        escaped += &format!(
            "# kfd-smi capture 1\n# program {text}\n# machine {text}\n# release {text}\n# boot-id {text}\n# host {text}\n\
             # gpu 1 {text} {text} 5\n# clock 1 2 3\n2 1 : 9 1 -5 1 2\n# process 5 {text} {text}\n# end 1 {text}\n"
        );
    }
    let words = [
        "host ",
        "release ",
        "gpu 1 ",
        "gpu 1 a ",
        "gpu 1 a b ",
        "process 5 ",
        "process 5 a ",
        "end 1 ",
        "",
        "lost ",
    ];
    let mut plain = capture("");
    // Those of the header come first.
    for word in words {
        for byte in (0..=u8::MAX).filter(|byte| *byte != b'\n') {
            plain.extend([b"# ", word.as_bytes(), b"a", &[byte], b"[2J", &[byte], b" -\n"].concat());
        }
        if word == "release " {
            plain.extend(b"1 1 : 9 1 -5 1 2\n");
        }
    }
    for capture in [escaped.as_bytes(), &plain] {
        for format in ["human", "json", "csv", "capture"] {
            assert_harmless(&replay(&["--format", format], capture), format);
        }
        assert!(
            replay(&["--format", "raw"], capture)
                .stderr
                .bytes()
                .all(|byte| matches!(byte, b' '..=b'~' | b'\n'))
        );
    }
    let ran = replay(&[], escaped.as_bytes());
    assert!(ran.stderr.is_empty(), "{}", ran.stderr);
    assert_eq!(facts(&ran).len(), 5 * 8, "no text makes a line of its own");
    for shown in [
        "# capture of host \"a\\x00[2J",
        "# gpu 0x1 \"a\\x00[2J",
        "# pid 5 was \"a\\x00[2J",
        "ended: a\\x00[2J",
    ] {
        assert!(ran.text().contains(shown), "{shown}");
    }
}

#[test]
fn csv_has_a_column_for_each() {
    let csv = replay(&["--format", "csv"], &capture(CLOCKS));
    let mut reader = csv::Reader::from_reader(csv.text().as_bytes());
    let header = reader.headers().unwrap().clone();
    let records = json_of(&[], &capture(CLOCKS));
    let rows: Vec<_> = reader.records().map(Result::unwrap).collect();
    assert_eq!(rows.len(), records.len());
    for (row, record) in rows.iter().zip(&records) {
        for key in ["arrival_ns", "time", "gpu", "trust"] {
            let column = header.iter().position(|column| column == key).unwrap();
            assert_eq!(&row[column], record.get(key).and_then(Value::as_str).unwrap_or(""), "{key}");
        }
    }
    let columns: Vec<_> = rows[2].iter().take(8).collect();
    assert_eq!(
        columns,
        [
            "1",
            "3",
            "queue_eviction",
            "9",
            "2500000000",
            "2025-12-01T09:27:03.500000000Z",
            "0x1f4b",
            "foreign_gpu"
        ]
    );
}

/// The rest of a line whose beginning is in the file before counts as a line, and each by itself.
#[test]
fn the_rest_of_a_line_is_a_line() {
    let rotated = capture("# seam 1 open\n1 1 + rest\n2 1 : 3 1\n# seam 1 open\n3 1 + more\n4 1 : 3 2\n");
    let records = json_of(&[], &rotated);
    assert_eq!(each("seq", &records), ["1", "2", "3", "4"]);
    assert_eq!(each("raw", &records), ["rest", "null", "more", "null"]);
    assert_eq!(each("length", &records), ["4", "null", "4", "null"]);
}

/// `| head -1`, of one capture and of several.
#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let records: String = (0..100_000)
        .map(|n| format!("{n} 1 : 3 1 job hang on ring:gfx_0.0.0\n# process {n} a -\n"))
        .collect();
    let folder =
        Folder::new("head", &[("a", &boot("x", 0, 4096, &records)), ("b", &boot("x", 0, 4096, &records))]);
    for format in ["human", "json", "csv", "raw", "capture"] {
        for files in [&["a"][..], &["a", "b"]] {
            let mut child = command(&[&["replay", "--format", format], files].concat())
                .current_dir(&folder.0)
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap();
            let mut first = String::new();
            BufReader::new(child.stdout.take().unwrap()).read_line(&mut first).unwrap();
            assert!(first.ends_with('\n'));
            let mut stderr = String::new();
            child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
            assert_eq!((child.wait().unwrap().code(), stderr.as_str()), (Some(0), ""), "{format} {files:?}");
        }
    }
}
