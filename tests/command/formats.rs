//! The formats, key by key and byte by byte.

use serde_json::{Value, json};

use crate::run::replay;

fn json_of(input: &[u8]) -> Vec<Value> {
    replay(&["--format", "json"], input)
        .lines()
        .iter()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// The one record of a line.
fn record(line: &[u8]) -> Value {
    let records = json_of(&[line, b"\n"].concat());
    let [record] = &records[..] else { panic!("{} records", records.len()) };
    record.clone()
}

/// Checks that a line gives these keys, besides `v` and `seq`, and no others.
fn check(line: &[u8], expected: Value) {
    let mut expected = expected;
    expected["v"] = json!(1);
    expected["seq"] = json!(1);
    assert_eq!(record(line), expected, "{}", line.escape_ascii());
}

#[test]
fn vm_fault_and_processes() {
    check(b"1 2559e:my app:1", json!({"event": "vmfault", "id": 1, "pid": 152990, "comm": "my app:1"}));
    check(b"1 ffffffff:", json!({"event": "vmfault", "id": 1, "pid": u32::MAX, "comm": ""}));
    check(b"1 5:a\xff", json!({"event": "vmfault", "id": 1, "pid": 5, "comm_hex": "61ff"}));
    check(b"c 2559e -1 5", json!({"event": "process_start", "id": 12, "pid": 152990, "comm": "-1 5"}));
    check(b"d 7 \xff", json!({"event": "process_end", "id": 13, "pid": 7, "comm_hex": "ff"}));
}

#[test]
fn thermal_throttle() {
    check(
        b"2 1400000000:1a",
        json!({
            "event": "thermal_throttle", "id": 2, "status": "0x1400000000",
            "throttlers": ["TEMP_MEM", "TEMP_HOTSPOT"], "count": 26,
        }),
    );
    check(
        b"2 0:ffffffffffffffff x",
        json!({
            "event": "thermal_throttle", "id": 2, "status": "0x0", "throttlers": [], "count": u64::MAX,
            "trailing": "x",
        }),
    );
    assert_eq!(record(b"2 8000000000000001:0")["throttlers"], json!(["PPT0", "bit63"]));
}

#[test]
fn resets() {
    check(b"3 ff", json!({"event": "gpu_pre_reset", "id": 3, "reset_seq": 255}));
    check(b"4 1 ", json!({"event": "gpu_post_reset", "id": 4, "reset_seq": 1, "cause": ""}));
    check(b"3 1 job hang", json!({"event": "gpu_pre_reset", "id": 3, "reset_seq": 1, "cause": "job hang"}));
    check(b"3 1 \xfe", json!({"event": "gpu_pre_reset", "id": 3, "reset_seq": 1, "cause_hex": "fe"}));
}

#[test]
fn migrations() {
    check(
        b"5 14601738586508 -152990 @7f0f15200(2c02) 0->1ea0 1ea0:ffffffff 1",
        json!({
            "event": "migrate_start", "id": 5, "boot_ns": "14601738586508", "pid": 152990, "page": "0x7f0f15200",
            "pages": 11266, "from": "system", "to": "0x1ea0", "prefetch": "0x1ea0", "preferred": "undefined",
            "trigger": "pagefault_gpu", "trigger_id": 1,
        }),
    );
    let end = |trigger: &str, trigger_id: i32| {
        json!({
            "event": "migrate_end", "id": 6, "boot_ns": "1", "pid": -2, "page": "0x3", "pages": u64::MAX,
            "from": "0x5", "to": "system", "trigger": trigger, "trigger_id": trigger_id,
        })
    };
    check(b"6 1 --2 @3(ffffffffffffffff) 5->0 3", end("ttm_eviction", 3));
    let mut failed = end("other", -7);
    failed["error_code"] = json!(-12);
    check(b"6 1 --2 @3(ffffffffffffffff) 5->0 -7 -12", failed.clone());
    failed["trailing_hex"] = json!("ff");
    check(b"6 1 --2 @3(ffffffffffffffff) 5->0 -7 -12 \xff", failed);
}

/// What stands behind the end of a migration is no error code, whatever line follows.
#[test]
fn an_error_code_is_never_taken_from_the_next_line() {
    for next in ["7 1 -2 @3(4) W", "12", "-5", " 5", ""] {
        let log = format!("6 1 -2 @3(4) 0->1ea0 1\n{next}\n");
        assert_eq!(json_of(log.as_bytes())[0].get("error_code"), None, "{next}");
    }
}

#[test]
fn page_faults() {
    let start = |access: &str| {
        json!({
            "event": "page_fault_start", "id": 7, "boot_ns": "1", "pid": 2, "page": "0x3", "node": "0x4",
            "access": access,
        })
    };
    check(b"7 1 -2 @3(4) R", start("read"));
    check(b"7 1 -2 @3(4) W", start("write"));
    let mut other = start("other");
    other["byte"] = json!(255);
    check(b"7 1 -2 @3(4) \xff", other);
    for (letter, outcome) in [("M", "migrated"), ("U", "updated")] {
        let line = format!("8 1 -2 @3(4) {letter}");
        check(
            line.as_bytes(),
            json!({
                "event": "page_fault_end", "id": 8, "boot_ns": "1", "pid": 2, "page": "0x3", "node": "0x4",
                "outcome": outcome,
            }),
        );
    }
}

#[test]
fn evictions_and_unmaps() {
    check(
        b"9 1 -2 1ea0 2",
        json!({
            "event": "queue_eviction", "id": 9, "boot_ns": "1", "pid": 2, "node": "0x1ea0", "trigger": "ttm",
            "trigger_id": 2,
        }),
    );
    check(
        b"b 1 -2 @3(200) 1ea0 1 ",
        json!({
            "event": "unmap_from_gpu", "id": 11, "boot_ns": "1", "pid": 2, "page": "0x3", "pages": 512,
            "node": "0x1ea0", "trigger": "mmu_notify_migrate", "trigger_id": 1, "trailing": "",
        }),
    );
}

#[test]
fn every_form_of_a_restore_is_told_apart() {
    for (tail, restore, rescheduled) in [
        (&b""[..], "absent", false),
        (b" \0", "nul", false),
        (b" 0", "zero", false),
        (b" R", "rescheduled", true),
    ] {
        check(
            &[b"a 38652512365099 -131057 fc7d", tail].concat(),
            json!({
                "event": "queue_restore", "id": 10, "boot_ns": "38652512365099", "pid": 131057, "node": "0xfc7d",
                "restore": restore, "rescheduled": rescheduled,
            }),
        );
    }
    let other = record(b"a 1 -2 3 X more");
    assert_eq!(
        (&other["restore"], &other["byte"], &other["trailing"]),
        (&json!("other"), &json!(88), &json!("more"))
    );
}

#[test]
fn dropped_unknown_and_malformed() {
    let dropped = json!({"event": "dropped_events", "id": 14, "boot_ns": "1", "pid": 2, "count": 3});
    check(b"e 1 -2 3", dropped);
    check(b"1f  some\xc3\xa9", json!({"event": "unknown", "id": 31, "raw": "1f  some\u{e9}"}));
    check(b"f \xff", json!({"event": "unknown", "id": 15, "raw_hex": "6620ff"}));
    check(
        b"9 1 -2 3",
        json!({
            "event": "malformed", "id": 9, "raw": "9 1 -2 3", "offset": 8,
            "error": "expected \" \" at byte 8 of a QUEUE_EVICTION line, where the line ends",
        }),
    );
    check(
        b"",
        json!({
            "event": "malformed", "raw": "", "offset": 0, "error": "expected an event, the line is empty",
        }),
    );
}

#[test]
fn a_long_line_shows_its_beginning_and_its_length() {
    for length in [4097, 200_000, 1 << 20] {
        let record = record(&[b"5 ".as_slice(), &vec![b'x'; length - 2]].concat());
        assert_eq!((&record["event"], &record["length"]), (&json!("malformed"), &json!(length)));
        assert_eq!(record["raw"].as_str().unwrap().len(), 256);
        assert_eq!(record["id"], 5);
    }
    assert_eq!(record(&[b"c 5 ".as_slice(), &[b'x'; 4092]].concat())["event"], "process_start");
    let two = [vec![b'x'; 200_000], b"\n".to_vec(), vec![b'y'; 300_000], b"\n".to_vec()].concat();
    let records = json_of(&two);
    assert_eq!((&records[0]["length"], &records[1]["length"]), (&json!(200_000), &json!(300_000)));
    assert_eq!(records[1]["raw"], "y".repeat(256));
}

#[test]
fn a_last_line_without_newline_is_marked() {
    let records = json_of(b"3 1\n3 2");
    assert_eq!(records[0].get("unterminated"), None);
    assert_eq!((&records[1]["unterminated"], &records[1]["reset_seq"]), (&json!(true), &json!(2)));
    let long = json_of(&[b'x'; 300_000]);
    assert_eq!((&long[0]["unterminated"], &long[0]["length"]), (&json!(true), &json!(300_000)));
}

#[test]
fn forgeable_lines_are_marked() {
    let records = json_of(b"1 2559e:a\n9 1 -2 3 4\n9 14601738586508 -152990 1ea0 2\n");
    let trust: Vec<_> = records.iter().map(|record| record.get("trust").and_then(Value::as_str)).collect();
    assert_eq!(trust, [None, Some("forgeable"), None]);
}

/// The keys of the header, and the rows, are those of the JSON form.
#[test]
fn csv_says_what_json_says() {
    for log in kfd_smi_testkit::corpus::logs() {
        let records = json_of(&log.bytes);
        let csv = replay(&["--format", "csv"], &log.bytes);
        let text = csv.text();
        assert_eq!(text.matches('\n').count(), text.matches("\r\n").count());
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        let header = reader.headers().unwrap().clone();
        let rows: Vec<_> = reader.records().map(Result::unwrap).collect();
        assert_eq!(rows.len(), records.len(), "{}", log.path.display());
        for (row, record) in rows.iter().zip(&records) {
            for (key, cell) in header.iter().zip(row) {
                let expected = match record.get(key) {
                    None => String::new(),
                    // The escapes of a JSON string, the quotation mark aside.
                    Some(Value::String(text)) => escaped(text),
                    Some(Value::Array(names)) => {
                        names.iter().map(|name| name.as_str().unwrap()).collect::<Vec<_>>().join(" ")
                    }
                    Some(other) => other.to_string(),
                };
                assert_eq!(cell, expected, "{key} of {record}");
            }
            for key in record.as_object().unwrap().keys() {
                assert!(header.iter().any(|column| column == key), "no column for {key}");
            }
        }
    }
}

fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for c in text.chars() {
        match c {
            '\\' => escaped.push_str("\\\\"),
            ' '..='~' => escaped.push(c),
            _ => c
                .encode_utf16(&mut [0; 2])
                .iter()
                .for_each(|unit| escaped.push_str(&format!("\\u{unit:04x}"))),
        }
    }
    escaped
}

#[test]
fn the_header_is_fixed() {
    let header = "v,seq,event,id,arrival_ns,time,gpu,trust,trailing,pid,comm,status,throttlers,count,reset_seq,cause,\
                  boot_ns,page,pages,from,to,prefetch,preferred,trigger,trigger_id,error_code,node,access,outcome,\
                  restore,rescheduled,raw,error,offset,unterminated,length,comm_hex,cause_hex,raw_hex,trailing_hex,\
                  byte,input\r\n";
    assert_eq!(replay(&["--format", "csv"], b"").text(), header);
}

#[test]
fn people_get_one_aligned_line_an_event() {
    let ran = replay(&[], b"5 14601738586508 -152990 @7f0f15200(2c02) 0->1ea0 1ea0:ffffffff 1\n6 14601738586508 -152990 @7f0f15200(80) 0->1ea0 1 -12\n1 5:a\n9 1 -2 3 4\n");
    assert_eq!(
        ran.lines(),
        [
            "  14601.738586508  migrate_start     pid 152990    gpu 0x1ea0  system -> 0x1ea0, pagefault_gpu, \
             [0x7f0f15200000,0x7f0f17e02000) 44.0 MiB, prefetch 0x1ea0, preferred undefined",
            "  14601.738586508  migrate_end       pid 152990    gpu 0x1ea0  system -> 0x1ea0, pagefault_gpu, \
             [0x7f0f15200000,0x7f0f15280000) 512 KiB, failed: -12 ENOMEM",
            "                -  vmfault           pid 5                     \"a\"",
            "      0.000000001  queue_eviction    pid 2         gpu 0x3     criu_checkpoint  (could be forged)",
        ]
    );
}
