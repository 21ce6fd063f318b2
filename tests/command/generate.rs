//! `kfd-smi generate`: the same bytes for the same options, as the kernel of that version would print them.

mod forms;

use std::io::Read as _;
use std::process::{Command, Stdio};
use std::{env, fs};

use kfd_smi_testkit::corpus;
use serde_json::Value;

use crate::folder::Folder;
use crate::process::peak_memory;
use crate::run::{Ran, command, head, replay};

const KERNELS: [&str; 10] = ["5.8", "5.10", "5.15", "6.0", "6.11", "6.12", "6.12.66", "6.13", "6.16", "6.19"];

const SCENARIOS: [&str; 9] =
    ["faults", "thrash", "churn", "reset", "throttle", "vmfault", "overflow", "hostile", "mixed"];

/// Whether the kernel has what the scenario is about.
fn exists(scenario: &str, kernel: &str) -> bool {
    let since = match scenario {
        "faults" | "thrash" | "churn" => 3,
        "reset" | "throttle" => 1,
        _ => 0,
    };
    KERNELS.iter().position(|one| *one == kernel) >= Some(since)
}

fn generate(args: &[&str]) -> Ran {
    command(&[&["generate"], args].concat()).output().unwrap().into()
}

/// What is generated without a complaint.
fn generated(args: &[&str]) -> Vec<u8> {
    let ran = generate(args);
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""), "{args:?}");
    ran.stdout
}

/// Every kernel with every scenario that it has.
pub(crate) fn combinations() -> impl Iterator<Item = (&'static str, &'static str)> {
    let all = KERNELS.into_iter().flat_map(|kernel| SCENARIOS.map(|scenario| (kernel, scenario)));
    all.filter(|(kernel, scenario)| exists(scenario, kernel))
}

/// FNV-1a.
fn checksum(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |sum, byte| (sum ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

/// On every machine, in every build: what others made of a seed can be made again.
#[test]
fn the_same_options_give_the_same_bytes_as_before() {
    let folder = Folder::new();
    let mut sums = String::new();
    for (kernel, scenario) in combinations() {
        for format in ["raw", "capture"] {
            let truth = folder.file(&format!("{kernel}-{scenario}-{format}"));
            let args = ["--kernel", kernel, "--scenario", scenario, "--format", format, "--truth", &truth];
            let log = generated(&[&args[..], &["--seed", "7", "--events", "400"]].concat());
            let (log, truth) = (checksum(&log), checksum(&fs::read(truth).unwrap()));
            sums.push_str(&format!("{kernel} {scenario} {format} {log:016x} {truth:016x}\n"));
        }
    }
    let path = corpus::folder().join("generated.sums");
    if env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, &sums).unwrap();
    }
    let expected = fs::read_to_string(&path).unwrap();
    for (expected, actual) in expected.lines().zip(sums.lines()) {
        assert_eq!(expected, actual, "UPDATE_GOLDEN=1 writes them anew");
    }
    assert_eq!(expected.lines().count(), sums.lines().count());
    assert!(expected.lines().count() >= 150);
}

#[test]
fn another_seed_gives_other_bytes() {
    let of = |seed| generated(&["--seed", seed]);
    assert!(of("1") == of("1") && of("1") != of("2") && of("1") != of("18446744073709551615"));
}

#[test]
fn captures_replay_without_a_complaint() {
    for (kernel, scenario) in combinations().filter(|(_, scenario)| !matches!(*scenario, "hostile" | "mixed"))
    {
        let log = generated(&["--kernel", kernel, "--scenario", scenario, "--gpus", "3", "--events", "600"]);
        let ran = replay(&["--strict"], &log);
        assert_eq!((ran.status, ran.stderr.as_str()), (0, ""), "{kernel} {scenario}");
        let lines = ran.lines().into_iter().filter(|line| !line.starts_with('#')).count();
        assert_eq!(lines, 600, "{kernel} {scenario}");
        // Copied as a capture, it is the same: its marks and seams are those that its records need.
        assert!(replay(&["--format", "capture"], &log).stdout == log, "{kernel} {scenario}");
    }
}

/// A capture of hostile names is sound as well: only lines of the driver's are no events.
#[test]
fn hostile_captures_hold_what_the_names_forge_and_mark_it() {
    let folder = Folder::new();
    for (number, (kernel, scenario)) in
        combinations().filter(|(_, scenario)| matches!(*scenario, "hostile" | "mixed")).enumerate()
    {
        let truth = folder.file(&number.to_string());
        let log =
            generated(&["--kernel", kernel, "--scenario", scenario, "--events", "6000", "--truth", &truth]);
        let truth: Value = serde_json::from_slice(&fs::read(truth).unwrap()).unwrap();
        let ran = replay(&["--format", "json"], &log);
        assert!(!ran.stderr.contains("of line"), "{}", ran.stderr);
        let records: Vec<Value> =
            ran.lines().into_iter().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(truth["lines"], records.len());
        let forged =
            truth["findings"].as_array().unwrap().iter().find(|finding| finding["rule"] == "forged_lines");
        let forged = &forged.unwrap_or_else(|| panic!("{kernel} {scenario}: nothing is forged"));
        let marked: Vec<_> = records.iter().filter(|record| record["trust"] == "forgeable").collect();
        assert_eq!(truth["forgeable"], marked.len());
        assert!(forged["count"].as_u64() <= Some(marked.len() as u64));
        // Every line that is no event, and every number that no process has, is a name's.
        let is_forged = |record: &&Value| {
            record["event"] == "malformed" || record["event"] == "unknown" || record["pid"].as_u64() < Some(6)
        };
        let unmarked = records.iter().filter(|record| {
            record["event"] != "thermal_throttle" && record["pid"] != Value::Null
                || record["event"] == "malformed"
        });
        for record in unmarked.filter(is_forged) {
            assert_eq!(record["trust"], "forgeable", "{kernel} {scenario}: {record}");
        }
        assert_eq!(replay(&["--format", "capture"], &log).stdout, log);
    }
}

#[test]
fn limits_are_kept() {
    for format in ["raw", "capture"] {
        for events in ["0", "1", "17", "5000"] {
            let log = generated(&["--scenario", "faults", "--format", format, "--events", events]);
            let lines = log.split(|byte| *byte == b'\n').filter(|line| !line.is_empty() && line[0] != b'#');
            assert_eq!(lines.count().to_string(), events, "{format}");
        }
        for (text, size) in [("8K", 8 << 10), ("1M", 1 << 20), ("3000000", 3_000_000)] {
            let log = generated(&["--format", format, "--size", text]);
            assert!(log.len() <= size && log.len() + 1500 > size, "{format}: {} of {size}", log.len());
            assert!(log.ends_with(b"\n"));
        }
        let folder = Folder::new();
        let mut before = 0;
        for seconds in [1_u64, 5, 20] {
            let (truth, duration) = (folder.file(&seconds.to_string()), format!("{seconds}s"));
            let log = generated(&[
                "--format",
                format,
                "--scenario",
                "faults",
                "--duration",
                &duration,
                "--truth",
                &truth,
            ]);
            let truth: Value = serde_json::from_slice(&fs::read(truth).unwrap()).unwrap();
            let span: u64 = truth["span_ns"].as_str().unwrap().parse().unwrap();
            // The first process needs a moment, and so does the last event.
            assert!(span <= seconds * 1_000_000_000 && log.len() > before, "{span}");
            assert!(seconds < 5 || span >= (seconds - 1) * 1_000_000_000, "{span}");
            before = log.len();
        }
    }
}

#[test]
fn memory_does_not_grow_with_the_output() {
    let folder = Folder::new();
    let memory = |mebibytes: usize| {
        let size = format!("{mebibytes}M");
        let mut child = command(&["generate", "--size", &size, "--truth", &folder.file(&size)])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdout = child.stdout.take().unwrap();
        // A pipe holds less than the rest, so it is still there.
        let mut most = vec![0; mebibytes << 19];
        stdout.read_exact(&mut most).unwrap();
        stdout.read_exact(&mut most[..(mebibytes << 18) + (mebibytes << 17)]).unwrap();
        let memory = peak_memory(&child);
        stdout.read_to_end(&mut most).unwrap();
        assert!(child.wait().unwrap().success());
        memory
    };
    let (little, much) = (memory(1), memory(100));
    assert!(little > 0 && much < little + 4096, "{little} KiB for 1 MiB, {much} KiB for 100 MiB");
}

#[test]
fn what_cannot_be_is_said() {
    for (args, expected) in [
        (&["--scenario", "faults", "--kernel", "5.15"][..], "the events of faults exist since Linux 6.0"),
        (
            &["--scenario", "vmfault,throttle", "--kernel", "5.8"],
            "the events of throttle exist since Linux 5.10",
        ),
        (
            &["--format", "raw", "--gpus", "2"],
            "a raw log is of one GPU: choose --format capture, or --gpus 1",
        ),
        (&["--truth", "-"], "--output and --truth are the same"),
        (&["--events", "1", "--size", "1K"], "cannot be used with"),
        (&["--kernel", "6.14"], "possible values: 5.8, 5.10"),
        (&["--gpus", "0"], "0 is not in 1..=64"),
    ] {
        let ran = generate(args);
        assert_eq!((ran.status, ran.text()), (2, ""), "{args:?}");
        assert!(ran.stderr.contains(expected) && ran.stderr.contains("--help"), "{args:?}: {}", ran.stderr);
    }
    let ran = generate(&["--size", "10"]);
    assert_eq!(ran.status, 2);
    assert!(ran.stderr.contains("the header alone has"), "{}", ran.stderr);
}

#[test]
fn a_file_that_exists_is_left_alone() {
    let folder = Folder::new();
    let (log, truth) = (folder.file("log"), folder.file("truth"));
    let args = ["-o", &log, "--truth", &truth, "--events", "10"];
    assert_eq!(generated(&args), b"");
    let first = fs::read(&log).unwrap();
    assert_eq!(first, generated(&["--events", "10"]));
    let ran = generate(&args);
    assert_eq!((ran.status, ran.text()), (2, ""));
    assert!(ran.stderr.contains("log: the file exists: choose another name"), "{}", ran.stderr);
    let ran = generate(&["-o", &folder.file("other"), "--truth", &truth]);
    assert!(ran.stderr.contains("truth: the file exists"), "{}", ran.stderr);
    assert_eq!(fs::read(&log).unwrap(), first);
    // With the log elsewhere, the truth can go to standard output.
    let ran = generate(&["-o", "/dev/null", "--truth", "-", "--events", "10"]);
    assert_eq!(ran.stdout, fs::read(&truth).unwrap());
}

#[test]
fn a_full_disk_ends_the_log_with_a_whole_line() {
    let folder = Folder::new();
    let ran = generate(&["-o", "/dev/full", "--truth", &folder.file("truth")]);
    assert!(!fs::exists(folder.file("truth")).unwrap(), "half a log has a truth");
    assert_eq!(
        (ran.status, ran.stderr.as_str()),
        (2, "kfd-smi: cannot write /dev/full: No space left on device (os error 28)\n")
    );
    for format in ["raw", "capture"] {
        let file = folder.file(format);
        let whole = generated(&["--format", format, "--events", "3000"]);
        // The shell lets the file grow to 100 KiB and no further.
        let script =
            "trap '' XFSZ; ulimit -f 200; exec \"$0\" generate --format \"$1\" --events 3000 -o \"$2\"";
        let mut shell = Command::new("sh");
        shell.args(["-c", script, env!("CARGO_BIN_EXE_kfd-smi"), format, &file]);
        let ran: Ran = shell.output().unwrap().into();
        assert_eq!(ran.status, 2, "{}", ran.stderr);
        assert!(ran.stderr.contains("File too large"), "{}", ran.stderr);
        let log = fs::read(&file).unwrap();
        assert!(log.len() > 50_000 && log.ends_with(b"\n") && whole.starts_with(&log), "{}", log.len());
    }
}

#[test]
fn a_reader_that_has_seen_enough_ends_it_quietly() {
    for format in ["raw", "capture"] {
        let mut generate = command(&["generate", "--format", format, "--size", "1G"]);
        head(generate.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap());
    }
}

/// A signal ends it between two lines, whatever it is about.
#[test]
fn a_signal_ends_it_behind_a_whole_line() {
    let mut child =
        command(&["generate", "--format", "raw", "--size", "1G"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdout = child.stdout.take().unwrap();
    let mut log = vec![0; 100_000];
    stdout.read_exact(&mut log).unwrap();
    crate::run::signal(&child, "TERM");
    stdout.read_to_end(&mut log).unwrap();
    assert_eq!(child.wait().unwrap().code(), None);
    assert!(log.ends_with(b"\n") && log.len() < 1 << 30);
}
