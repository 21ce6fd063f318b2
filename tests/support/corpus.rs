//! The logs and captures in `tests/data`.

use std::fs;
use std::path::{Path, PathBuf};

/// A log and where it stands.
#[derive(Clone, Debug)]
pub struct Log {
    /// Its path.
    pub path: PathBuf,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// The folder with the logs.
#[must_use]
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("data")
}

/// The folder among them that holds captures.
const CAPTURES: &str = "captures";

/// Every capture, in the order of their paths.
///
/// # Panics
///
/// If there is none.
#[must_use]
pub fn captures() -> Vec<Log> {
    let captures = read_all(&folder().join(CAPTURES), "capture");
    assert!(!captures.is_empty(), "no capture in {CAPTURES}");
    captures
}

/// Every log, in the order of their paths.
///
/// # Panics
///
/// If the folder, or one below it, is missing or has no log: a corpus that is not there tests nothing.
#[must_use]
pub fn logs() -> Vec<Log> {
    logs_below(&folder())
}

/// Every log in the folders of a folder.
///
/// # Panics
///
/// As [`logs`].
#[must_use]
pub fn logs_below(folder: &Path) -> Vec<Log> {
    let mut logs = vec![];
    for entry in list(folder) {
        if entry.is_dir() && !entry.ends_with(CAPTURES) {
            let of_folder = read_all(&entry, "smi");
            assert!(!of_folder.is_empty(), "no log in {}", entry.display());
            logs.extend(of_folder);
        }
    }
    assert!(!logs.is_empty(), "no folder with logs in {}", folder.display());
    logs
}

/// The files of a folder whose names end in this way.
fn read_all(folder: &Path, extension: &str) -> Vec<Log> {
    let mut logs = vec![];
    for path in list(folder) {
        if path.extension().is_some_and(|is| is == extension) {
            let bytes = fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            logs.push(Log { path, bytes });
        }
    }
    logs
}

fn list(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("an entry can be read").path()).collect();
    paths.sort();
    paths
}
