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

/// The folder among them that holds what fuzzing found, in a folder for each target.
const REGRESSIONS: &str = "regressions";

/// Every capture, in the order of their paths.
///
/// # Panics
///
/// If there is none.
#[must_use]
pub fn captures() -> Vec<Log> {
    let captures =
        read_all(&folder().join(CAPTURES), |path| path.extension().is_some_and(|is| is == "capture"));
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
        if entry.is_dir() && !entry.ends_with(CAPTURES) && !entry.ends_with(REGRESSIONS) {
            let of_folder = read_all(&entry, |path| path.extension().is_some_and(|is| is == "smi"));
            assert!(!of_folder.is_empty(), "no log in {}", entry.display());
            logs.extend(of_folder);
        }
    }
    assert!(!logs.is_empty(), "no folder with logs in {}", folder.display());
    logs
}

/// The folder of the fuzz targets.
#[must_use]
pub fn fuzz_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz")
}

/// Every seed of a fuzz target, in a folder of its name below this one.
///
/// # Panics
///
/// If the folder is missing or empty: no seeds test nothing.
#[must_use]
pub fn seeds_below(folder: &Path, target: &str) -> Vec<Log> {
    let folder = folder.join(target);
    let seeds = read_all(&folder, |_| true);
    assert!(!seeds.is_empty(), "no seed in {}", folder.display());
    seeds
}

/// What fuzzing found, with the name of the target that found it.
///
/// # Panics
///
/// If the folder is missing. It can be empty, and hold folders for some targets only.
#[must_use]
pub fn regressions() -> Vec<(String, Log)> {
    let mut regressions = vec![];
    for target in list(&folder().join(REGRESSIONS)).into_iter().filter(|path| path.is_dir()) {
        let name = target.file_name().unwrap_or_default().to_string_lossy().into_owned();
        regressions.extend(read_all(&target, |_| true).into_iter().map(|log| (name.clone(), log)));
    }
    regressions
}

/// The files of a folder that are wanted.
fn read_all(folder: &Path, is_wanted: impl Fn(&Path) -> bool) -> Vec<Log> {
    let mut logs = vec![];
    for path in list(folder) {
        if is_wanted(&path) {
            let bytes = fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            logs.push(Log { path, bytes });
        }
    }
    logs
}

/// What a folder holds, in the order of the names.
///
/// # Panics
///
/// If it cannot be read.
#[must_use]
pub fn list(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("an entry can be read").path()).collect();
    paths.sort();
    paths
}
