//! What the command prints for the logs in `tests/data`, to the byte.

use std::path::Path;
use std::{env, fs};

use kfd_smi_testkit::corpus;

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

#[test]
fn every_log_is_printed_as_before() {
    let mut wrong = vec![];
    let mut checked = 0;
    for log in corpus::logs() {
        let name = log.path.strip_prefix(corpus::folder()).unwrap().to_str().unwrap();
        if name.starts_with("speed/") {
            continue;
        }
        let replay = |args: &[&str]| -> Ran {
            let args = [&["replay", name], args].concat();
            command(&args).current_dir(corpus::folder()).output().unwrap().into()
        };
        let json = replay(&["--format", "json"]);
        assert_eq!(json.status, 0);
        check(&log.path.with_extension("json"), json.text(), &mut wrong);
        let human = replay(&[]);
        let text = format!("{}-- stderr\n{}", human.text(), human.stderr);
        check(&log.path.with_extension("txt"), &text, &mut wrong);
        assert_eq!(replay(&["--format", "raw"]).stdout, log.bytes, "{name}");
        checked += 1;
    }
    assert!(checked >= 20, "only {checked} logs");
    assert!(wrong.is_empty(), "UPDATE_GOLDEN=1 writes them anew\n{}", wrong.join("\n"));
}
