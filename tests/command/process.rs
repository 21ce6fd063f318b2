//! The command as a process: pipes, signals, memory, terminals.

use std::fs::{self, File, OpenOptions};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Stdio};
use std::thread;
use std::time::Duration;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::folder::Folder;
use crate::run::{Ran, command, head, signal};

fn spawn(args: &[&str]) -> Child {
    command(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// `| head -1`: the reader goes away, and that is no error.
#[test]
fn a_reader_that_has_seen_enough_ends_the_program_quietly() {
    let log = b"3 1 job hang on ring:gfx_0.0.0\n".repeat(200_000);
    for format in ["human", "json", "csv", "raw"] {
        let mut child = spawn(&["replay", "--format", format]);
        let mut stdin = child.stdin.take().unwrap();
        let log = log.clone();
        let writer = thread::spawn(move || stdin.write_all(&log));
        head(child);
        assert!(writer.join().unwrap().is_err(), "the program read on");
    }
}

/// What was read is printed before the program waits for more.
#[test]
fn events_do_not_wait_for_the_end_of_the_input() {
    for format in ["human", "json", "csv", "raw"] {
        let mut child = spawn(&["replay", "--format", format, "-"]);
        let mut stdin = child.stdin.take().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        for seq in 1..=3 {
            writeln!(stdin, "3 {seq}").unwrap();
            let mut line = String::new();
            if format == "csv" && seq == 1 {
                stdout.read_line(&mut line).unwrap();
            }
            line.clear();
            stdout.read_line(&mut line).unwrap();
            assert!(line.contains(&seq.to_string()), "{line}");
        }
        drop(stdin);
        assert!(child.wait().unwrap().success());
    }
}

#[test]
fn a_signal_ends_the_program_between_two_lines() {
    for (name, number) in [("INT", 2), ("TERM", 15)] {
        // While it waits for input: at once.
        let mut child = spawn(&["replay", "--format", "json"]);
        let mut stdin = child.stdin.take().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        stdin.write_all(b"3 1\n3 2").unwrap();
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        signal(&child, name);
        assert_eq!(child.wait().unwrap().signal(), Some(number));
        drop(stdin);

        // While it works: with whole lines written.
        let mut child = spawn(&["replay", "--format", "json"]);
        let mut stdin = child.stdin.take().unwrap();
        let writer = thread::spawn(move || {
            let log = b"3 1 job hang on ring:gfx_0.0.0\n".repeat(100_000);
            while stdin.write_all(&log).is_ok() {}
        });
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut text = String::new();
        for _ in 0..1000 {
            stdout.read_line(&mut text).unwrap();
        }
        signal(&child, name);
        stdout.read_to_string(&mut text).unwrap();
        assert_eq!(child.wait().unwrap().signal(), Some(number));
        assert!(text.ends_with("}\n"), "{:?}", text.lines().last());
        writer.join().unwrap();
    }
}

/// The largest amount of memory that a running process has had, in KiB.
pub(crate) fn peak_memory(child: &Child) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// Feeds so many MiB of this and tells how much memory that took, and how many lines came out.
fn memory_for(piece: &[u8], mebibytes: usize, args: &[&str]) -> (u64, usize) {
    let mut child = spawn(args);
    let mut stdin = child.stdin.take().unwrap();
    let stdout = child.stdout.take().unwrap();
    let reader = thread::spawn(move || BufReader::new(stdout).split(b'\n').count());
    let block = piece.repeat((1_usize << 20).div_ceil(piece.len()));
    for _ in 0..(mebibytes << 20).div_ceil(block.len()) {
        stdin.write_all(&block).unwrap();
    }
    let memory = peak_memory(&child);
    drop(stdin);
    assert!(child.wait().unwrap().success());
    (memory, reader.join().unwrap())
}

#[test]
fn memory_does_not_grow_with_the_input() {
    // Mostly events that are not chosen, so that the test is about reading.
    let args = ["replay", "--format", "json", "--event", "gpu_pre_reset,malformed,process_start"];
    let realistic = [b"9 14601738586508 -152990 1ea0 2\n".repeat(2000), b"3 1\n".to_vec()].concat();
    for (what, piece) in [
        ("events", &realistic[..]),
        ("one line", b"x"),
        ("long lines", &[vec![b'x'; 300_000], b"\n".to_vec()].concat()),
        ("names", &[b"c 5 ".to_vec(), vec![b'n'; 4000], b"\n".to_vec()].concat()),
    ] {
        let (little, _) = memory_for(piece, 2, &args);
        let (much, lines) = memory_for(piece, 100, &args);
        assert!(lines > 0);
        assert!(much < little + 2048, "{what}: {little} KiB for 2 MiB, {much} KiB for 100 MiB");
    }
}

/// Ever new processes, GPUs, pages, ranges and names: what is told apart has its limits.
#[test]
fn memory_of_statistics_does_not_grow_with_what_they_tell_apart() {
    let mut varied = vec![];
    for n in 0..6000_u64 {
        let (pid, gpu) = (n * 7 + 1, n * 13 + 1);
        varied.extend(
            format!(
                "7 {n} -{pid} @{n:x}({gpu:x}) W\n7 {n} -{pid} @{n:x}({gpu:x}) W\n9 {n} -{pid} {gpu:x} 2\n\
                 5 {n} -{pid} @{n:x}(1) 0->{gpu:x} 0:0 1\n6 {n} -{pid} @{n:x}(1) 0->{gpu:x} 1 -{n}\n\
                 1 {pid:x}:name {n}\n3 {n:x} job hang\n2 {n:x}:{n:x}\nbad\n"
            )
            .bytes(),
        );
    }
    for args in [&["stat"][..], &["check", "--fail-on", "dropped_events"]] {
        let (little, _) = memory_for(&varied, 4, args);
        let (much, lines) = memory_for(&varied, 40, args);
        assert!(lines > 0);
        assert!(much < little + 2048, "{args:?}: {little} KiB for 4 MiB, {much} KiB for 40 MiB");
    }
}

#[test]
fn standard_input_that_is_a_terminal_is_a_usage_error() {
    let controller = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&controller).unwrap();
    unlockpt(&controller).unwrap();
    let path = ptsname(&controller, vec![]).unwrap().into_string().unwrap();
    let terminal = || OpenOptions::new().read(true).write(true).open(&path).unwrap();
    let ran: Ran = command(&["replay"]).stdin(terminal()).output().unwrap().into();
    assert_eq!(ran.status, 2);
    assert!(
        ran.stderr.contains("expected a FILE") && ran.stderr.contains("Usage: kfd-smi replay"),
        "{}",
        ran.stderr
    );
    let ran: Ran = command(&["replay", "-"]).stdin(terminal()).output().unwrap().into();
    assert_eq!(ran.status, 2);

    // On a terminal, colours are there by themselves.
    let log = File::open(kfd_smi_testkit::corpus::folder().join("forms/linux-5.8.smi")).unwrap();
    let mut child = command(&["replay"])
        .stdin(log)
        .stdout(terminal())
        .env("TERM", "xterm")
        .spawn()
        .expect("the command runs");
    assert!(child.wait().unwrap().success());
    let mut shown = vec![0; 4096];
    let n = File::from(controller).read(&mut shown).unwrap();
    assert!(shown[..n].contains(&0x1b), "{}", shown[..n].escape_ascii());
}

/// A signal ends it also where it waits for something else than input: for the other end of a pipe.
#[test]
fn a_signal_ends_the_program_wherever_it_waits() {
    // Nobody reads, and the pipe is full.
    let log = b"3 1 job hang on ring:gfx_0.0.0\n".repeat(20_000);
    let mut child = spawn(&["replay", "--format", "json"]);
    let mut stdin = child.stdin.take().unwrap();
    let writer = thread::spawn(move || stdin.write_all(&log));
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    stdout.read_line(&mut line).unwrap();
    signal(&child, "TERM");
    assert_eq!(child.wait().unwrap().signal(), Some(15));
    let mut rest = String::new();
    stdout.read_to_string(&mut rest).unwrap();
    assert!(rest.ends_with("}\n"), "{:?}", rest.lines().last());
    assert!(writer.join().unwrap().is_err());

    // Nobody writes to the named pipe that it opens.
    let folder = Folder::new();
    let fifo = folder.file("fifo");
    rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    let mut child = spawn(&["replay", &fifo]);
    let opens = || {
        fs::read_to_string(format!("/proc/{}/wchan", child.id()))
            .is_ok_and(|wait| wait.contains("wait_for_partner"))
    };
    for _ in 0..1000 {
        if opens() {
            break;
        }
        thread::sleep(Duration::from_millis(1));
    }
    signal(&child, "TERM");
    assert_eq!(child.wait().unwrap().signal(), Some(15));
}

/// What cannot be said is no reason to crash.
#[test]
fn a_standard_error_that_cannot_be_written_changes_nothing() {
    let full = || OpenOptions::new().write(true).open("/dev/full").unwrap();
    for (args, status) in
        [(&["replay", "missing"][..], 2), (&["replay", "--strict", "-"], 1), (&["nonsense"], 2)]
    {
        let mut child =
            command(args).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(full()).spawn().unwrap();
        _ = child.stdin.take().unwrap().write_all(b"bad\n");
        assert_eq!(child.wait().unwrap().code(), Some(status), "{args:?}");
    }
}

/// A full disk is an error that says so.
#[test]
fn output_that_cannot_be_written_is_an_error() {
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut child = command(&["replay", "--format", "json"])
        .stdin(Stdio::piped())
        .stdout(full)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"3 1\n").unwrap();
    let ran: Ran = child.wait_with_output().unwrap().into();
    assert_eq!(ran.status, 2);
    assert!(ran.stderr.starts_with("kfd-smi: cannot write to standard output: "), "{}", ran.stderr);
}
