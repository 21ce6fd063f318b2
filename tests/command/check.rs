//! `kfd-smi check`: one line, one exit status, and the programs that ask for them.

use std::fs::{self, OpenOptions};
use std::path::PathBuf;
use std::process::Stdio;

use serde_json::Value;

use crate::folder::Folder;
use crate::run::{Ran, command, feed};

fn check(args: &[&str], log: &str) -> (i32, String) {
    let ran = feed(&[&["check"], args].concat(), log.as_bytes());
    let [line] = &ran.lines()[..] else { panic!("{:?}: {}", ran.text(), ran.stderr) };
    assert!(line.len() < 80 && line.bytes().all(|byte| (b' '..=b'~').contains(&byte)), "{line}");
    (ran.status, (*line).to_owned())
}

fn is(status: i32, line: &str) -> (i32, String) {
    (status, line.to_owned())
}

#[test]
fn the_status_says_whether_something_was_seen() {
    assert_eq!(check(&[], ""), is(0, "ok: nothing in 0 lines"));
    assert_eq!(check(&[], "9 1 -7 1ea0 2\nnonsense\n"), is(0, "ok: nothing in 2 lines, 1 malformed"));
    assert_eq!(check(&[], "1 5:a name of 15 by\n1 5:a name of 15 by\n"), is(1, "bad: 2 vmfault"));
    assert_eq!(
        check(&["--fail-on", "queue_eviction"], "9 1 -7 1ea0 2\n"),
        is(1, "bad: 1 queue_eviction on 0x1ea0")
    );
    assert_eq!(check(&["--fail-on", "malformed"], "x\n"), is(1, "bad: 1 malformed"));
    assert_eq!(check(&["--strict"], "x\n"), is(1, "bad: malformed lines"));
    assert_eq!(
        check(&[], "# kfd-smi capture 1\n5 1 : 3 1\n5 2 : 3 1\n5 2 : 3 2\n"),
        is(1, "bad: 3 gpu_pre_reset on 2 GPUs")
    );
    // Rules have their thresholds.
    let storm = "7 5 -7 @1(2) W\n8 6 -7 @1(2) M\n".repeat(20);
    assert_eq!(check(&["--fail-on", "fault_storm"], &storm), is(1, "bad: 20 fault_storm on 0x2"));
    assert_eq!(check(&["--fail-on", "fault_storm", "--threshold", "fault_storm=21"], &storm).0, 0);
    assert_eq!(check(&["--fail-on", "vmfault", "--threshold", "vmfault=2"], "1 5:a\n").0, 0);
}

/// A health check that could not read its log does not say that all is well.
#[test]
fn what_was_not_understood_is_unknown() {
    assert_eq!(check(&[], "3 1\r\n"), is(2, "unknown: no line is an event, 1 malformed"));
    let headless = "# program x\n5 1 : 3 1\n";
    assert_eq!(check(&[], headless), is(2, "unknown: no line is an event, 2 malformed"));
    let garbled = "# kfd-smi capture 1\n5 1 ; 3 1\n";
    assert_eq!(check(&[], garbled), is(2, "unknown: no line is an event, 1 malformed"));
    // Raw logs know no time of day, and some lines no time.
    let log = "1 5:a name of 15 by\n9 1000 -7 1ea0 2\n";
    let unknown = is(2, "unknown: the time of 2 lines is not known");
    assert_eq!(check(&["--from", "2020-01-01T00:00:00Z"], log), unknown);
    assert_eq!(check(&["--to", "5"], log), is(2, "unknown: the time of 1 line is not known"));
    assert_eq!(check(&["--to", "5"], &log[20..]), is(0, "ok: nothing in 1 line"));
    // What was seen is seen.
    assert_eq!(check(&["--to", "5"], &format!("{log}3 1\n")), is(1, "bad: 1 gpu_pre_reset"));
}

#[test]
fn events_that_may_be_missing_are_admitted() {
    for sign in ["# full 1", "# lost 120", "# end 1 closed", "1 1 ; 3 1"] {
        let log = format!("# kfd-smi capture 1\n1 1 : 4 1 \n{sign}\n");
        let malformed = if sign.contains(';') { ", 1 malformed" } else { "" };
        assert_eq!(check(&[], &log), (0, format!("ok: nothing in 1 line{malformed}, some may be missing")));
    }
}

/// A check of the last minutes is not about what was wrong before.
#[test]
fn a_bad_line_outside_of_the_window_is_none() {
    let log = "9 1000000000 -7 1ea0 2\nbad\n9 9000000000 -7 1ea0 2\n";
    assert_eq!(check(&["--strict", "--from", "5"], log), is(0, "ok: nothing in 1 line"));
    assert_eq!(check(&["--strict", "--to", "5"], log), is(1, "bad: malformed lines"));
}

#[test]
fn a_kind_is_not_hidden_by_the_gpus_of_another() {
    let log = |end: &str| {
        let name = "1 5:a name of 15 by";
        let of =
            |gpu: u32| format!("1 {gpu} : {name}\n2 {gpu} + 1 5:a\n3 {gpu} + 1 5:\n4 {gpu} : 3 1\n{end}");
        format!("# kfd-smi capture 1\n{}", (1..5).map(of).collect::<String>())
    };
    assert_eq!(
        check(&[], &log("")),
        is(1, "bad: 12 vmfault on 4 GPUs (4 could be forged), 4 gpu_pre_reset on 4 GPUs")
    );
    let failed = "5 9 : 5 1 -7 @10(1) 0->1ea0 0:0 0\n6 9 : 6 2 -7 @10(1) 0->1ea0 0 -12\n";
    assert_eq!(
        check(&[], &log(failed)),
        is(1, "bad: 12 vmfault (4 could be forged), 4 gpu_pre_reset, 4 failed_migrations")
    );
}

#[test]
fn what_could_be_forged_is_said_to_be() {
    let log = "1 5:a\n3 1\n";
    assert_eq!(check(&["--fail-on", "gpu_pre_reset"], log), is(1, "bad: 1 gpu_pre_reset (could be forged)"));
    assert_eq!(check(&["--fail-on", "gpu_reset"], log), is(1, "bad: 1 gpu_reset (could be forged)"));
    assert_eq!(check(&["--fail-on", "gpu_pre_reset", "--trusted-only"], log).0, 0);
    let both = format!("3 1\n{log}");
    let some = is(1, "bad: 2 gpu_pre_reset (1 could be forged)");
    assert_eq!(check(&["--fail-on", "gpu_pre_reset"], &both), some);
}

#[test]
fn the_line_tells_no_secret_and_stays_short() {
    let everything = "1 5:secret name her\n2 1:1\n3 1 secret cause\n4 1 \n5 1 -7 @10(1) 0->1ea0 0:0 0\n\
                      6 2 -7 @10(1) 0->1ea0 0 -12\n9 1 -7 1ea0 2\nc 5 secret name her\nd 5 secret name her\nx\n"
        .repeat(1000);
    let all = "vmfault,thermal_throttle,gpu_pre_reset,gpu_post_reset,migrate_start,migrate_end,queue_eviction,\
               process_start,process_end,malformed,failed_migrations,lost_events";
    let (status, line) = check(&["--fail-on", all], &everything);
    assert_eq!(
        (status, line.as_str()),
        (1, "bad: 1000 vmfault, 1000 thermal_throttle, 1000 gpu_pre_reset, and 9 more kinds")
    );
    assert!(!line.contains("secret"));
}

#[test]
fn what_could_not_be_looked_at_is_not_well() {
    let run = |args: &[&str]| -> Ran { command(&[&["check"], args].concat()).output().unwrap().into() };
    let ran = run(&["/no/such/file"]);
    assert_eq!((ran.status, ran.text()), (2, "unknown: not all logs could be read\n"));
    assert!(ran.stderr.contains("/no/such/file"));
    let ran = run(&["--live", "--for", "1s", "--kfd-path", "/no/such", "--sysfs-root", "/no/such"]);
    assert_eq!((ran.status, ran.text()), (2, "unknown: the driver cannot be watched\n"), "{}", ran.stderr);
    assert_eq!(run(&["--fail-on", "nothing"]).status, 2);
    assert_eq!(run(&["--for", "5s"]).status, 2);
    // Nobody reads the line.
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    let ran: Ran = command(&["check"]).stdin(Stdio::null()).stdout(full).output().unwrap().into();
    assert_eq!(ran.status, 2);
}

/// The files in `contrib` name options that there are.
#[test]
fn the_example_configurations_are_right() {
    let contrib = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("contrib");
    let json = fs::read_to_string(contrib.join("node-problem-detector/kfd-smi.json")).unwrap();
    let config: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(config["plugin"], "custom");
    let reasons: Vec<_> = config["conditions"].as_array().unwrap().iter().map(|one| &one["type"]).collect();
    let mut runs = 0;
    for rule in config["rules"].as_array().unwrap() {
        assert_eq!(rule["path"], "/usr/bin/kfd-smi");
        assert!(rule["type"] == "temporary" || reasons.contains(&&rule["condition"]));
        let args: Vec<_> = rule["args"].as_array().unwrap().iter().map(|arg| arg.as_str().unwrap()).collect();
        run_example(&args);
        runs += 1;
        let seconds = |key: &str| {
            let text = rule.get(key).or_else(|| config["pluginConfig"].get(key)).unwrap().as_str().unwrap();
            text.strip_suffix('s').unwrap().parse::<u64>().unwrap()
        };
        let time = args.iter().position(|arg| *arg == "--for").map(|at| args[at + 1]).unwrap();
        assert!(time.strip_suffix('s').unwrap().parse::<u64>().unwrap() < seconds("timeout"), "{args:?}");
    }
    let slurm = fs::read_to_string(contrib.join("slurm/kfd-smi-health")).unwrap();
    for line in slurm.lines().filter(|line| line.starts_with("line=$(kfd-smi check")) {
        let (_, args) = line.split_once("kfd-smi check").unwrap();
        let args = args.trim_end_matches(['"', ')']).split_whitespace();
        run_example(&["check"].into_iter().chain(args).collect::<Vec<_>>());
        runs += 1;
    }
    assert!(runs >= 3, "only {runs}");
}

/// Runs it where there is no driver: it must come that far.
fn run_example(args: &[&str]) {
    let args = [args, &["--kfd-path", "/no/such", "--sysfs-root", "/no/such"]].concat();
    let ran: Ran = command(&args).output().unwrap().into();
    assert_eq!(
        (ran.status, ran.text()),
        (2, "unknown: the driver cannot be watched\n"),
        "{args:?}: {}",
        ran.stderr
    );
    // The control: an option that is none does not come that far.
    let ran: Ran = command(&[&args[..], &["--no-such"]].concat()).output().unwrap().into();
    assert_eq!((ran.status, ran.text()), (2, ""));
}

/// The health check of Slurm drains the node for a reset and for nothing else.
#[test]
fn the_slurm_script_drains_a_node_that_is_bad() {
    let folder = Folder::new();
    let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("contrib/slurm/kfd-smi-health");
    for (status, line, drained) in [
        (0, "ok: nothing in 5 lines", false),
        (1, "bad: 1 gpu_pre_reset on 0x1ea0", true),
        (2, "unknown: x", false),
    ] {
        let program = |name: &str, text: &str| {
            use std::os::unix::fs::PermissionsExt as _;
            fs::write(folder.file(name), text).unwrap();
            fs::set_permissions(folder.file(name), fs::Permissions::from_mode(0o755)).unwrap();
        };
        program("kfd-smi", &format!("#!/bin/sh\necho '{line}'\nexit {status}\n"));
        program("scontrol", &format!("#!/bin/sh\nprintf '%s\\n' \"$@\" > {}\n", folder.file("drained")));
        program("logger", "#!/bin/sh\n");
        _ = fs::remove_file(folder.file("drained"));
        let path = format!("{}:{}", folder.path().display(), std::env::var("PATH").unwrap());
        let output = std::process::Command::new("sh")
            .arg(&script)
            .env("PATH", path)
            .env("SLURMD_NODENAME", "n1")
            .output();
        let output = output.unwrap();
        assert!(output.status.success(), "{output:?}");
        let said = fs::read_to_string(folder.file("drained")).unwrap_or_default();
        assert_eq!(!said.is_empty(), drained, "{status}");
        if drained {
            assert_eq!(said, format!("update\nNodeName=n1\nState=DRAIN\nReason=kfd-smi: {line}\n"));
        }
    }
}
