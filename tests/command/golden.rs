//! What the command prints for the logs and captures in `tests/data`, to the byte.

use std::path::Path;
use std::{env, fs};

use kfd_smi_testkit::corpus::{self, Log};

use crate::run::{Ran, command};

/// Compares with the file, or writes it if `UPDATE_GOLDEN` is set.
fn check(path: &Path, actual: &str, wrong: &mut Vec<String>) {
    if env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(path, actual).unwrap();
    }
    let expected = fs::read_to_string(path).unwrap_or_default();
    if expected != actual {
        let at = expected.lines().zip(actual.lines()).position(|(expected, actual)| expected != actual);
        let at = at.unwrap_or_else(|| expected.lines().count().min(actual.lines().count()));
        wrong.push(format!(
            "{}, line {}:\n  expected {:?}\n  got      {:?}",
            path.display(),
            at + 1,
            expected.lines().nth(at).unwrap_or("(the end)"),
            actual.lines().nth(at).unwrap_or("(the end)"),
        ));
    }
}

/// Compares what is printed for a log as JSON and for people, whose file has this extension.
fn check_all(log: &Log, people: &str, wrong: &mut Vec<String>) {
    let json = replay(log, &["--format", "json"]);
    assert_eq!(json.status, 0);
    check(&log.path.with_extension("json"), json.text(), wrong);
    let human = replay(log, &[]);
    let text = format!("{}-- stderr\n{}", human.text(), human.stderr);
    check(&log.path.with_extension(people), &text, wrong);
    let json = run("stat", log, &["--format", "json"]);
    assert_eq!(json.status, 0);
    check(&log.path.with_extension("stat.json"), json.text(), wrong);
    check(&log.path.with_extension("stat.txt"), run("stat", log, &[]).text(), wrong);
}

fn replay(log: &Log, args: &[&str]) -> Ran {
    run("replay", log, args)
}

fn run(subcommand: &str, log: &Log, args: &[&str]) -> Ran {
    let name = log.path.strip_prefix(corpus::folder()).unwrap().to_str().unwrap();
    let args = [&[subcommand, name], args].concat();
    command(&args).current_dir(corpus::folder()).output().unwrap().into()
}

#[test]
fn every_log_is_printed_as_before() {
    let mut wrong = vec![];
    let mut checked = 0;
    for log in corpus::logs() {
        if log.path.parent().is_some_and(|folder| folder.ends_with("speed")) {
            continue;
        }
        check_all(&log, "txt", &mut wrong);
        assert_eq!(replay(&log, &["--format", "raw"]).stdout, log.bytes, "{}", log.path.display());
        checked += 1;
    }
    assert!(checked >= 20, "only {checked} logs");
    assert!(wrong.is_empty(), "UPDATE_GOLDEN=1 writes them anew\n{}", wrong.join("\n"));
}

#[test]
fn every_capture_is_printed_as_before() {
    let mut wrong = vec![];
    let captures = corpus::captures();
    for capture in &captures {
        check_all(capture, "human", &mut wrong);
    }
    assert!(captures.len() >= 7, "only {} captures", captures.len());
    assert!(wrong.is_empty(), "UPDATE_GOLDEN=1 writes them anew\n{}", wrong.join("\n"));
}
