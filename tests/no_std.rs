//! The program in `no_std/`, which has no library of an operating system, against this host.
//!
//! `.ci/run no_std` builds it, says in `KFD_SMI_NO_STD` where it is, and runs the test that needs it.

use std::collections::BTreeSet;
use std::fs::File;
use std::process::Command;
use std::{env, fs};

use kfd_smi_testkit::corpus;

#[path = "no_std/src/fold.rs"]
#[expect(unreachable_pub, reason = "the program has it as it is")]
mod fold;

fn fold_all(mut bytes: &[u8]) -> fold::Totals {
    fold::fold(|buffer| std::io::Read::read(&mut bytes, buffer).unwrap())
}

/// What the program would print.
fn expected(bytes: &[u8]) -> String {
    let fold::Totals { lines, events, malformed, checksum } = fold_all(bytes);
    [lines, events, malformed, checksum].map(|number| format!("{number:016x}\n")).concat()
}

#[test]
fn lines_are_events_or_malformed() {
    for log in corpus::logs() {
        let totals = fold_all(&log.bytes);
        assert_eq!(totals.lines, totals.events + totals.malformed);
        assert_eq!(totals.lines, kfd_smi_proto::lines(&log.bytes).count() as u64);
        assert_eq!(totals.checksum == 0, log.bytes.is_empty());
    }
}

/// What the two print tells logs apart, down to a single byte: else that they agree says little.
#[test]
fn every_log_comes_to_something_else() {
    let logs = corpus::logs();
    let contents: BTreeSet<_> = logs.iter().map(|log| &log.bytes).collect();
    let printed: BTreeSet<_> = contents.iter().map(|bytes| expected(bytes)).collect();
    assert_eq!(printed.len(), contents.len());
    assert_ne!(expected(b"9 1 -2 3 4\n"), expected(b"9 1 -2 3 5\n"));
    assert_ne!(expected(b"9 1 -2 3 4\n"), expected(b"9 1 -2 3 4"));
}

#[test]
#[ignore = "`.ci/run no_std` builds the program and runs it"]
fn a_program_without_library_decodes_the_same() {
    let program = env::var_os("KFD_SMI_NO_STD").expect("KFD_SMI_NO_STD names the program");
    assert!(fs::metadata(&program).is_ok_and(|program| program.is_file()), "there is no {program:?}");
    for log in corpus::logs() {
        let output = Command::new(&program).stdin(File::open(&log.path).unwrap()).output().unwrap();
        assert!(output.status.success(), "{}: {}", log.path.display(), output.status);
        assert_eq!(str::from_utf8(&output.stdout).unwrap(), expected(&log.bytes), "{}", log.path.display());
    }
}
