//! The corpus is there, and its finder notices when it is not.

use std::fs;
use std::panic::catch_unwind;

use kfd_smi_testkit::corpus;
use tempfile::TempDir;

#[test]
fn every_kind_of_log_is_there() {
    let logs = corpus::logs();
    for part in
        ["linux-6.1/driver", "linux-6.12.95/driver", "forms/linux-5.8", "hostile/garbage", "speed/realistic"]
    {
        let path = corpus::folder().join(format!("{part}.smi"));
        assert!(logs.iter().any(|log| log.path == path), "no {}", path.display());
    }
}

#[test]
fn a_missing_or_empty_corpus_is_an_error() {
    let folder = TempDir::with_prefix("kfd-smi-").unwrap();
    let folder = folder.path().join("logs");
    let fails = || catch_unwind(|| corpus::logs_below(&folder)).is_err();
    assert!(fails(), "missing");
    fs::create_dir(&folder).unwrap();
    assert!(fails(), "empty");
    fs::create_dir(folder.join("forms")).unwrap();
    assert!(fails(), "a folder without logs");
    fs::write(folder.join("forms/a.smi"), b"3 1\n").unwrap();
    assert_eq!(corpus::logs_below(&folder).len(), 1);
}
