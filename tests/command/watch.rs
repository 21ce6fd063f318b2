//! `stat --live` and `check --live` on the fake kernel.

use std::io::{BufRead as _, BufReader};

use kfd_smi_testkit::fake_kernel::{End, Errno};
use serde_json::Value;

use crate::live::{FIRST, SECOND, end, machine, start};
use crate::run::Ran;

#[test]
fn statistics_are_printed_again_and_again_and_at_the_end() {
    let name = "statistics_are_printed_again_and_again_and_at_the_end";
    let Some(mut kernel) = machine().build_or_skip(name) else { return };
    let args = ["stat", "--live", "--interval", "50ms", "--format", "json"];
    let mut child = start(&mut kernel, &args);
    kernel.wait_for_clients(2).unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut next = || {
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        (!line.is_empty()).then(|| serde_json::from_str::<Value>(&line).unwrap())
    };
    assert_eq!(next().unwrap()["lines"], 0);
    assert_eq!(kernel.emit(FIRST, b"3 1 job hang\n").taken, 1);
    assert_eq!(kernel.emit(SECOND, b"9 14601738586508 -152990 fc7d 2\n").taken, 1);
    let counted = std::iter::from_fn(&mut next).find(|object| object["lines"] == 2).unwrap();
    assert_eq!(counted["gpus"]["0x1ea0"]["gpu_pre_reset"], 1);
    assert_eq!(counted["resets"][0]["gpu"], "0x1ea0");
    assert_eq!(counted["unpaired"]["gpu_pre_reset"], 1);
    // Whatever comes last is in the last one.
    assert_eq!(kernel.emit(FIRST, b"4 1 \n").taken, 1);
    kernel.wait_until_drained(FIRST).unwrap();
    crate::run::signal(&child, "TERM");
    let last = std::iter::from_fn(&mut next).last().unwrap();
    assert_eq!((&last["lines"], &last["resets"][0]["completed"]), (&3.into(), &true.into()));
    let status = child.wait().unwrap();
    assert_eq!(status.code(), Some(0));
}

#[test]
fn people_get_tables_without_escape_codes_in_a_pipe() {
    let name = "people_get_tables_without_escape_codes_in_a_pipe";
    let Some(mut kernel) = machine().build_or_skip(name) else { return };
    let child = start(&mut kernel, &["stat", "--live", "--interval", "1h"]);
    kernel.wait_for_clients(2).unwrap();
    assert_eq!(kernel.emit(FIRST, b"1 2559e:a\x1b[31m\n").taken, 1);
    kernel.wait_until_drained(FIRST).unwrap();
    let ran = end(child);
    assert_eq!(ran.status, 0);
    assert!(ran.text().starts_with("==> ") && ran.text().contains("a\\x1b[31m"), "{}", ran.text());
    crate::hostile::assert_harmless(&ran, "live");
}

#[test]
fn statistics_end_when_no_gpu_is_left() {
    let Some(mut kernel) = machine().build_or_skip("statistics_end_when_no_gpu_is_left") else { return };
    let child = start(&mut kernel, &["stat", "--live", "--interval", "1h", "--format", "json"]);
    kernel.wait_for_clients(2).unwrap();
    kernel.end(FIRST, End::Error(Errno::IO));
    kernel.end(SECOND, End::Eof);
    let ran: Ran = child.wait_with_output().unwrap().into();
    assert_eq!((ran.status, ran.lines().len()), (2, 1), "{}", ran.stderr);
    assert!(ran.text().contains("2 GPUs dropped out of the watch"), "{}", ran.text());
}

#[test]
fn a_check_watches_for_a_while() {
    let Some(mut kernel) = machine().build_or_skip("a_check_watches_for_a_while") else { return };
    for (line, status, said) in [
        (&b"4 1 \n"[..], 0, "ok: nothing in 1 line\n"),
        (b"3 1 job hang on ring:gfx\n", 1, "bad: 1 gpu_pre_reset on 0x1ea0\n"),
    ] {
        let child = start(&mut kernel, &["check", "--live", "--for", "1s", "--fail-on", "gpu_pre_reset"]);
        kernel.wait_for_clients(2).unwrap();
        assert_eq!(kernel.emit(FIRST, line).taken, 1);
        let ran: Ran = child.wait_with_output().unwrap().into();
        assert_eq!((ran.status, ran.text()), (status, said), "{}", ran.stderr);
        kernel.wait_for_clients(0).unwrap();
    }
    // Who stops it, or a GPU that ends, leaves it without an answer.
    let child = start(&mut kernel, &["check", "--live", "--for", "1h", "--fail-on", "gpu_pre_reset"]);
    kernel.wait_for_clients(2).unwrap();
    let ran = end(child);
    assert_eq!((ran.status, ran.text()), (2, "unknown: stopped by a signal before the time was over\n"));
    kernel.wait_for_clients(0).unwrap();
    let child = start(&mut kernel, &["check", "--live", "--for", "1s", "--fail-on", "gpu_pre_reset"]);
    kernel.wait_for_clients(2).unwrap();
    kernel.end(FIRST, End::Error(Errno::IO));
    let ran: Ran = child.wait_with_output().unwrap().into();
    assert_eq!((ran.status, ran.text()), (2, "unknown: a GPU could not be watched to the end\n"));
}
