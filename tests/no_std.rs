//! The program in `no_std/`, which has no library of an operating system, against this host.
//!
//! `.ci/run` builds it and says in `KFD_SMI_NO_STD` where it is.

use std::env;
use std::fs::File;
use std::process::Command;

use kfd_smi_testkit::{corpus, skip};

#[path = "no_std/src/fold.rs"]
#[expect(unreachable_pub, reason = "the program has it as it is")]
mod fold;

fn fold_all(mut bytes: &[u8]) -> fold::Totals {
    fold::fold(|buffer| std::io::Read::read(&mut bytes, buffer).unwrap())
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

#[test]
fn a_program_without_library_decodes_the_same() {
    let Some(program) = env::var_os("KFD_SMI_NO_STD") else {
        skip("a_program_without_library_decodes_the_same", &"KFD_SMI_NO_STD is not set");
        return;
    };
    for log in corpus::logs() {
        let output = Command::new(&program).stdin(File::open(&log.path).unwrap()).output().unwrap();
        assert!(output.status.success());
        let fold::Totals { lines, events, malformed, checksum } = fold_all(&log.bytes);
        let expected: String =
            [lines, events, malformed, checksum].map(|number| format!("{number:016x}\n")).concat();
        assert_eq!(str::from_utf8(&output.stdout).unwrap(), expected, "{}", log.path.display());
    }
}
