//! The logs in `tests/data`.

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
        if entry.is_dir() {
            let before = logs.len();
            for file in list(&entry) {
                if file.extension().is_some_and(|extension| extension == "smi") {
                    let bytes = fs::read(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
                    logs.push(Log { path: file, bytes });
                }
            }
            assert!(logs.len() > before, "no log in {}", entry.display());
        }
    }
    assert!(!logs.is_empty(), "no folder with logs in {}", folder.display());
    logs
}

fn list(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("an entry can be read").path()).collect();
    paths.sort();
    paths
}
