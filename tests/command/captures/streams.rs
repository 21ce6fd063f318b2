//! Captures as they come: through pipes, from hostile hands, into tables.

use super::*;

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
    let folder = Folder::with(&[("a", &boot("x", 0, 4096, &records)), ("b", &boot("x", 0, 4096, &records))]);
    for format in ["human", "json", "csv", "raw", "capture"] {
        for files in [&["a"][..], &["a", "b"]] {
            let mut replay = command(&[&["replay", "--format", format], files].concat());
            let replay = replay.current_dir(folder.path()).stdout(Stdio::piped()).stderr(Stdio::piped());
            head(replay.spawn().unwrap());
        }
    }
}
