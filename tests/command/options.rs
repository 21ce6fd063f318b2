//! What each option does.

use std::{env, process};

use crate::folder::Folder;
use crate::run::{Ran, command, replay};

/// One line of every event, an unknown one and a malformed one.
const LOG: &[u8] = b"\
1 2559e:my app
2 40:0
3 1 job hang
4 1 \n\
5 14601738586508 -152990 @7f0f15200(2c02) 0->1ea0 0:0 1
6 14601738586509 -152990 @7f0f15200(2c02) 1ea0->0 1 0
7 14601738586510 -7 @7f0f15200(1ea0) W
8 14601738586511 -7 @7f0f15200(1ea0) M
9 14601738586512 -7 fc7d 2
a 14601738586513 -7 fc7d 0
b 14601738586514 -152990 @7f0f15200(200) fc7d 2
c 2559e python3
d 2559e python3
e 14601738586515 -7 3
f future
nonsense
";

fn names(ran: &Ran) -> Vec<String> {
    let records =
        ran.lines().into_iter().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    records.map(|record| record["event"].as_str().unwrap().to_owned()).collect()
}

fn filtered(args: &[&str]) -> Vec<String> {
    names(&replay(&[&["--format", "json"], args].concat(), LOG))
}

#[test]
fn events_are_chosen_by_name() {
    assert_eq!(filtered(&[]).len(), 16);
    assert_eq!(filtered(&["--event", "gpu_post_reset,vmfault"]), ["vmfault", "gpu_post_reset"]);
    assert_eq!(filtered(&["--event", "vmfault", "--event", "unknown"]), ["vmfault", "unknown"]);
    assert_eq!(filtered(&["--event", "malformed"]), ["malformed"]);
    assert_eq!(filtered(&["--event", "dropped_events"]), ["dropped_events"]);
    let ran = replay(&["--event", "page_fault"], LOG);
    assert_eq!(ran.status, 2);
    assert!(ran.stderr.contains("page_fault_start"), "it does not say what there is: {}", ran.stderr);
}

#[test]
fn processes_are_chosen_by_number() {
    assert_eq!(
        filtered(&["--pid", "152990"]),
        ["vmfault", "migrate_start", "migrate_end", "unmap_from_gpu", "process_start", "process_end"]
    );
    assert_eq!(filtered(&["--pid", "7,8"]).len(), 5);
    assert_eq!(filtered(&["--pid", "7", "--event", "queue_restore"]), ["queue_restore"]);
    assert_eq!(replay(&["--pid", "x"], LOG).status, 2);
}

#[test]
fn gpus_are_chosen_by_either_end() {
    assert_eq!(
        filtered(&["--gpu", "0x1ea0"]),
        ["migrate_start", "migrate_end", "page_fault_start", "page_fault_end"]
    );
    let leaving =
        replay(&["--gpu", "0x1ea0"], b"5 1 -2 @3(4) 1ea0->0 0:0 1\n5 1 -2 @3(4) 0->5 1ea0:1ea0 1\n");
    assert_eq!(leaving.lines().len(), 1);
    assert_eq!(filtered(&["--gpu", "64637"]), filtered(&["--gpu", "0xfc7d"]));
    assert_eq!(filtered(&["--gpu", "0xfc7d"]).len(), 3);
    let ran = replay(&["--gpu", "1ea0"], LOG);
    assert_eq!(ran.status, 2);
    assert!(ran.stderr.contains("0x1ea0"), "{}", ran.stderr);
}

#[test]
fn lines_that_could_be_forged_can_be_left_out() {
    let log = b"1 2559e:a\n9 1 -2 3 4\n9 14601738586508 -152990 1ea0 2\n";
    let ran = replay(&["--trusted-only", "--format", "json"], log);
    assert_eq!(names(&ran), ["vmfault", "queue_eviction"]);
    assert!(ran.lines()[1].contains(r#""seq":3"#), "lines are numbered whether printed or not");
}

#[test]
fn raw_is_what_passed_byte_for_byte() {
    let log = b"3 1\n\xff\x1b\n9 1 -2 3 4 \0\r\n3 2 cut";
    assert_eq!(replay(&["--format", "raw"], log).stdout, log);
    assert_eq!(replay(&["--format", "raw", "--event", "gpu_pre_reset"], log).stdout, b"3 1\n3 2 cut");
    let long = [vec![b'x'; 1 << 20], b"\n3 1\n".to_vec()].concat();
    assert_eq!(replay(&["--format", "raw"], &long).stdout, long);
    assert_eq!(replay(&["--format", "raw", "--event", "gpu_pre_reset"], &long).stdout, b"3 1\n");
}

#[test]
fn strict_fails_on_bad_lines_and_not_on_unknown_ones() {
    for (log, status) in
        [(&b""[..], 0), (b"3 1\nff what\n", 0), (b"3 1\n\n", 1), (b"3 1\nnonsense\n", 1), (b"3 1", 1)]
    {
        assert_eq!(replay(&["--strict"], log).status, status, "{}", log.escape_ascii());
        assert_eq!(replay(&[], log).status, 0);
    }
    assert_eq!(replay(&["--strict", "--event", "vmfault"], b"nonsense\n").status, 1);
}

#[test]
fn the_page_size_is_the_user_s() {
    let memory = |args: &[&str]| {
        let ran = replay(args, b"b 1 -2 @10(3) 4 0\n");
        ran.text().trim_end().rsplit_once("mmu_notify, ").unwrap().1.to_owned()
    };
    assert_eq!(memory(&[]), "[0x10000,0x13000) 12 KiB");
    assert_eq!(memory(&["--page-size", "65536"]), "[0x100000,0x130000) 192 KiB");
    assert_eq!(memory(&["--page-size", "64K"]), memory(&["--page-size", "65536"]));
    assert_eq!(memory(&["--page-size", "2M"]), "[0x2000000,0x2600000) 6 MiB");
    assert_eq!(replay(&["--page-size", "5000"], b"").status, 2);
}

#[test]
fn colours_are_there_when_they_are_asked_for() {
    let escapes = |run: &mut process::Command| {
        let output = run.current_dir(kfd_smi_testkit::corpus::folder()).output().unwrap();
        output.stdout.iter().filter(|byte| **byte == 0x1b).count()
    };
    let file = "forms/linux-6.13.smi";
    assert_eq!(escapes(&mut command(&["replay", file])), 0);
    assert!(escapes(&mut command(&["replay", file, "--color", "always"])) > 0);
    assert!(escapes(command(&["replay", file]).env("CLICOLOR_FORCE", "1")) > 0);
    assert_eq!(escapes(command(&["replay", file, "--color", "never"]).env("CLICOLOR_FORCE", "1")), 0);
    // What went wrong stands out.
    for (line, is_alarm) in [
        (&b"6 1 -2 @3(4) 0->5 1 -12\n"[..], true),
        (b"6 1 -2 @3(4) 0->5 1 0\n", false),
        (b"1 5:name\n", true),
        (b"bad\n", true),
        (b"7 1 -2 @3(4) W\n", false),
    ] {
        let ran = replay(&["--color", "always"], line);
        assert_eq!(ran.text().contains("\x1b[31m"), is_alarm, "{}", ran.text());
    }
    for format in ["json", "csv"] {
        assert_eq!(escapes(&mut command(&["replay", file, "--color", "always", "--format", format])), 0);
    }
}

#[test]
fn several_inputs_are_numbered_each_for_itself() {
    let folder = Folder::with(&[("a", b"3 1\nbad\n3 2"), ("b", b"4 1\n")]);
    let replay = |args: &[&str]| folder.replay(args);
    let json = replay(&["a", "b", "--format", "json"]);
    let seen: Vec<_> = json
        .lines()
        .iter()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap())
        .map(|record| format!("{}{}", record["input"].as_str().unwrap(), record["seq"]))
        .collect();
    assert_eq!(seen, ["a1", "a2", "a3", "b1"]);
    assert!(!replay(&["a", "--format", "json"]).text().contains("input"));
    assert_eq!(replay(&["a", "b"]).lines()[0], "==> a <==");
    // An open line does not swallow the first of the next input.
    assert_eq!(replay(&["a", "b", "--format", "raw"]).stdout, b"3 1\nbad\n3 2\n4 1\n");
    assert_eq!(replay(&["b", "a", "--format", "raw"]).stdout, b"4 1\n3 1\nbad\n3 2");
    // What cannot be read is said, and the rest is read all the same.
    let missing = replay(&["missing", "b", "."]);
    assert_eq!(missing.status, 2);
    assert!(missing.text().contains("gpu_post_reset"));
    assert!(missing.stderr.contains("kfd-smi: cannot open missing: No such file"), "{}", missing.stderr);
    assert!(missing.stderr.contains("kfd-smi: cannot read .: Is a directory"), "{}", missing.stderr);
    assert_eq!(replay(&["a", "missing", "--strict"]).status, 2);
    assert_eq!(replay(&["missing", "a", "--strict"]).status, 2);
}

#[test]
fn the_command_explains_itself() {
    let help: Ran = command(&["replay", "--help"]).output().unwrap().into();
    assert_eq!(help.status, 0);
    for option in
        ["--format", "--event", "--pid", "--gpu", "--trusted-only", "--strict", "--page-size", "--color"]
    {
        assert!(help.text().contains(option), "{option}");
    }
    for command_name in ["replay", "record", "monitor", "stat", "check"] {
        let help: Ran = command(&[command_name, "--help"]).output().unwrap().into();
        assert!(help.text().contains("Exit status"), "{command_name}");
    }
    let version: Ran = command(&["--version"]).output().unwrap().into();
    assert_eq!(version.text(), concat!("kfd-smi ", env!("CARGO_PKG_VERSION"), "\n"));
    assert_eq!(Ran::from(command(&[]).output().unwrap()).status, 2);
}
