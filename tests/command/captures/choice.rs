//! Several captures, and parts of one: merged, cut out, copied, redacted.

use super::*;

#[test]
fn captures_of_one_boot_are_merged_by_arrival() {
    // Their clocks disagree, for the time was set; that does not matter.
    let folder = Folder::with(&[
        ("a", &boot("x", 5_000_000_000, 4096, "10 1 : 3 1\n30 1 : 3 3\n30 1 : 3 4\n50 1 : 3 6\n")),
        ("b", &boot("x", 1_000_000_000, 4096, "20 2 : 3 2\n30 2 : bad\n30 2 : 3 5\n")),
        ("c", &capture("# boot-id x\n")),
    ]);
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
    let names = Folder::with(&[
        ("a", &boot("x", 0, 4096, "10 1 : 1 5:a\n30 1 + 3 1\n")),
        ("b", &boot("x", 0, 4096, "20 1 + 3 2\n40 1 : 1 5:b\n")),
    ]);
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
    let folder = Folder::with(&[
        ("a", &boot("x", 1_000_000_000_000, 4096, "10 1 : b 10 -2 @10(1) 1 0\n40 1 : b 40 -2 @10(1) 1 0\n")),
        ("b", &boot("y", 1_000_000_000_000 - 1000, 65536, "1020 1 : b 1020 -2 @10(1) 1 0\n")),
        ("no clock", &capture("# boot-id z\n7 1 : 3 1\n")),
        ("raw", b"3 9\n"),
    ]);
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
    let folder = Folder::with(&[
        ("64k", &capture(&format!("# page-size 65536\n{line}"))),
        ("none", &capture(line)),
        ("raw", b"b 1 -2 @10(1) 1 0\n"),
    ]);
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
    let folder = Folder::with(&[
        ("day", &seconds()),
        ("raw", b"3 1\n3 2\n4 1\n"),
        ("a", &boot("x", 0, 4096, "1 1 : 3 1\n3 1 : 3 3\n")),
        ("b", &boot("x", 0, 4096, "2 1 : 3 2\n4 1 : 4 4\n")),
        // Not what the name says to the command.
        ("-", b"3 7\n"),
    ]);
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
    let folder = Folder::with(&[
        ("a", &boot("x", 0, 4096, "1 1 : 3 1\n3 1 : 3 3\n")),
        ("b", &boot("x", 0, 4096, "2 1 : 3 2\n")),
        ("raw", b"3 1\n"),
    ]);
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
    let folder = Folder::with(&[("a", EXAMPLE), ("b", &seconds())]);
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
    let folder = Folder::with(&[("raw", b"3 1\n"), ("day", &capture("1 1 : 3 1\n"))]);
    let ran = replay(&["--format", "capture"], b"3 1\n");
    assert_eq!((ran.status, ran.text()), (2, ""));
    assert_eq!(
        ran.stderr,
        "kfd-smi: standard input: expected a capture: a raw log has neither times nor GPUs\n"
    );
    let ran = folder.replay(&["--format", "capture", "raw", "day"]);
    assert_eq!((ran.status, ran.stdout), (2, capture("1 1 : 3 1\n")));
}
