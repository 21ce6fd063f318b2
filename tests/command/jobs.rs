//! The number of threads does not show.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::Stdio;

use kfd_smi_testkit::corpus;

use crate::folder::Folder;
use crate::run::{Ran, command, head, signal};

/// What is printed of these files with so many threads.
fn ran(jobs: usize, args: &[&str], files: &[&str]) -> Ran {
    let jobs = format!("--jobs={jobs}");
    command(&[&["replay", &jobs], args, files].concat()).output().unwrap().into()
}

fn check(args: &[&str], files: &[&str]) {
    let one = ran(1, args, files);
    for jobs in [2, 7] {
        let several = ran(jobs, args, files);
        assert!(several.stdout == one.stdout, "{jobs} threads: {args:?} {files:?}");
        assert_eq!((several.stderr, several.status), (one.stderr.clone(), one.status), "{args:?}");
    }
}

const FORMATS: [&str; 4] = ["human", "json", "csv", "raw"];

/// Names that forge lines, everywhere: wherever the log is cut for the threads, a budget is open.
fn hostile() -> Vec<u8> {
    let mut log = vec![];
    for number in 0..12_000 {
        match number % 9 {
            0 => log.extend(format!("1 {number:x}:a\n9 1 -2 3 4\n").bytes()),
            1 => log.extend(format!("c {number:x} \n\n\n\x1b[2J\u{e9}\n").bytes()),
            2 => log.extend(format!("d {number:x} \n3 1\n4 1 \n").bytes()),
            3 => log.extend(
                format!("7 {} -{number} @7f0f15200(1ea0) W\n", 14_601_738_586_508_u64 + number).bytes(),
            ),
            4 => log.extend(format!("6 1460173858 -{number} @7f(200) 0->1ea0 1 -12 more\n").bytes()),
            5 => log.extend(b"a 14601738586508 -152990 1ea0 \0\n"),
            6 => log.extend(b"what is this\r\n\n"),
            7 if number % 500 == 7 => log.extend([b'x'; 20_000]),
            7 => log.extend(format!("ff {number}\n").bytes()),
            _ => log.extend(format!("2 {number:x}:{number:x}\n").bytes()),
        }
    }
    log.extend(b"9 14601738586508 -152990 1ea0 2");
    log
}

#[test]
fn a_hostile_log_is_the_same_with_any_number_of_threads() {
    let folder = Folder::with(&[("log", &hostile())]);
    let files = [&folder.file("log")[..]];
    for format in FORMATS {
        check(&["--format", format], &files);
    }
    check(&["--strict", "--trusted-only", "--event", "vmfault,malformed,gpu_pre_reset"], &files);
    check(&["--format=json", "--last=9000"], &files);
    check(&["--from=14000", "--to=14601.738590000"], &files);
    check(&["--page-size=64K", "--clock=mono"], &[files[0], files[0], "/nonexistent"]);
}

#[test]
fn captures_are_the_same_with_any_number_of_threads() {
    let mut joined = vec![];
    for _ in 0..20 {
        for capture in corpus::captures() {
            joined.extend(capture.bytes);
        }
    }
    let folder = Folder::with(&[("a", &joined), ("b", &corpus::captures()[3].bytes.repeat(20))]);
    let (capture, other) = (&folder.file("a")[..], &folder.file("b")[..]);
    for format in FORMATS.iter().chain(&["capture"]) {
        check(&["--format", format], &[capture]);
        check(&["--format", format], &[capture, other]);
    }
    check(&["--format=json", "--speed=max", "--gpu=0x1f4b,0xfc7d"], &[capture]);
}

#[test]
fn a_reader_that_has_seen_enough_ends_it() {
    let folder = Folder::with(&[("log", &hostile().repeat(3))]);
    let log = folder.file("log");
    let mut replay = command(&["replay", "--jobs=4", "--format=json", &log]);
    let first = head(replay.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap());
    assert!(first.starts_with("{\"v\":1,\"seq\":1,"));
}

#[test]
fn a_signal_ends_it_between_two_lines() {
    // It cannot end by itself: standard input is a pipe that stays open, and nobody reads at first.
    let folder = Folder::with(&[("log", &hostile().repeat(4))]);
    let log = folder.file("log");
    let mut child = command(&["replay", "--jobs=3", "--format=json", &log, "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut reader = BufReader::new(child.stdout.take().unwrap());
    let mut first = String::new();
    reader.read_line(&mut first).unwrap();
    signal(&child, "TERM");
    let mut rest = vec![];
    reader.read_to_end(&mut rest).unwrap();
    assert!(rest.is_empty() || rest.ends_with(b"}\n"));
    assert_eq!(child.wait().unwrap().code(), None);
}
