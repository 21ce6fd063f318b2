//! Tests that this machine cannot make.

use std::env;
use std::fmt::Display;
use std::fs::OpenOptions;
use std::io::Write as _;

/// Says that a test was skipped, and why: on standard output, and in the file that `KFD_SMI_SKIPPED` names, since nobody
/// sees the output of a test that passes.
pub fn skip(test: &str, why: &dyn Display) {
    println!("SKIPPED {test}: {why}");
    if let Some(path) = env::var_os("KFD_SMI_SKIPPED") {
        // Another user may not write there; then it is on standard output alone.
        let file = OpenOptions::new().append(true).create(true).open(path);
        // In one piece: others write there at the same time.
        _ = file.and_then(|mut file| file.write_all(format!("{test}\n").as_bytes()));
    }
}
