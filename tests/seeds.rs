//! The seeds of the fuzz targets and what they found, through the same laws, without a fuzzer.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use arbitrary::{Arbitrary as _, Unstructured};
use kfd_smi_proto::Event;
use kfd_smi_testkit::corpus::{self, Log};
use kfd_smi_testkit::fuzz::{self, TARGETS, Target};
use proptest::collection::vec;
use proptest::prelude::*;
use tempfile::TempDir;

fn seeds(target: &str) -> Vec<Log> {
    corpus::seeds_below(&corpus::fuzz_folder().join("seeds"), target)
}

/// Runs the target, and says which file it was if a law does not hold.
fn run(target: &Target, log: &Log) {
    let held = catch_unwind(AssertUnwindSafe(|| (target.run)(&log.bytes)));
    assert!(held.is_ok(), "{}: a law of `{}` does not hold", log.path.display(), target.name);
}

#[test]
fn the_laws_hold_for_every_seed() {
    for target in TARGETS {
        for seed in seeds(target.name) {
            run(target, &seed);
        }
    }
}

#[test]
fn what_was_found_is_mended() {
    for (name, found) in corpus::regressions() {
        let target = TARGETS.iter().find(|target| target.name == name);
        run(target.unwrap_or_else(|| panic!("there is no target {name}")), &found);
    }
}

/// A target has a program, seeds, and a place in the list; nothing else has one of these.
#[test]
fn every_target_is_whole() {
    let targets: BTreeSet<_> = TARGETS.iter().map(|target| target.name.to_owned()).collect();
    let stems = |folder: &str| -> BTreeSet<String> {
        let paths = corpus::list(&corpus::fuzz_folder().join(folder));
        paths.iter().map(|path| path.file_stem().unwrap().to_string_lossy().into_owned()).collect()
    };
    assert_eq!(stems("fuzz_targets"), targets);
    assert_eq!(stems("seeds"), targets);
    assert!(stems("record").is_subset(&targets), "a record of no target");
    let manifest = fs::read_to_string(corpus::fuzz_folder().join("Cargo.toml")).unwrap();
    let programs = manifest.split("[[bin]]\nname = \"").skip(1).map(|rest| rest.split('"').next().unwrap());
    assert_eq!(programs.map(str::to_owned).collect::<BTreeSet<_>>(), targets);
    for target in &targets {
        let path = corpus::fuzz_folder().join(format!("fuzz_targets/{target}.rs"));
        let call = format!("kfd_smi_testkit::fuzz::{target}(data)");
        assert!(fs::read_to_string(path).unwrap().contains(&call), "{target} calls something else");
    }
}

#[test]
fn missing_seeds_and_broken_laws_are_errors() {
    let folder = TempDir::with_prefix("kfd-smi-").unwrap();
    let folder = folder.path();
    let fails = || catch_unwind(|| corpus::seeds_below(folder, "line")).is_err();
    assert!(fails(), "missing");
    fs::create_dir(folder.join("line")).unwrap();
    assert!(fails(), "empty");
    fs::write(folder.join("line/a"), b"3 1\n").unwrap();
    let seeds = corpus::seeds_below(folder, "line");
    assert_eq!(seeds.len(), 1);
    let broken = Target { name: "broken", run: |data| assert!(data.is_empty()) };
    assert!(catch_unwind(|| run(&broken, &seeds[0])).is_err());
}

/// A change of `Arbitrary` gives the bytes another meaning: `fuzz/make-seeds` must follow.
#[test]
fn the_seeds_of_events_are_what_their_names_say() {
    let mut names = BTreeSet::new();
    for seed in seeds("event") {
        let event = Event::arbitrary(&mut Unstructured::new(&seed.bytes)).unwrap();
        let name = seed.path.file_name().unwrap().to_str().unwrap().split('-').next().unwrap();
        assert_eq!(event.name(), name, "{}: {event}", seed.path.display());
        names.insert(event.name());
    }
    assert_eq!(names.len(), 15, "{names:?}");
}

/// The versions of the packages in a lock file.
fn locked(path: &Path) -> BTreeMap<String, BTreeSet<String>> {
    let text = fs::read_to_string(path).unwrap();
    let mut locked = BTreeMap::<_, BTreeSet<_>>::new();
    for package in text.split("[[package]]\n").skip(1) {
        let mut values = package.lines().map(|line| line.split('"').nth(1).unwrap_or_default().to_owned());
        locked.entry(values.next().unwrap()).or_default().insert(values.next().unwrap());
    }
    locked
}

/// Two lock files can disagree; then something else would be fuzzed.
#[test]
fn what_is_fuzzed_is_what_is_shipped() {
    let fuzzed = locked(&corpus::fuzz_folder().join("Cargo.lock"));
    let shipped = locked(&corpus::fuzz_folder().join("../Cargo.lock"));
    let mut shared = 0;
    for (name, versions) in &fuzzed {
        if let Some(shipped) = shipped.get(name) {
            assert!(versions.is_subset(shipped), "{name}: {versions:?} is fuzzed, {shipped:?} is shipped");
            shared += 1;
        }
    }
    assert!(shared > 10, "only {shared} packages in common");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn the_laws_hold_for_any_bytes(data in vec(any::<u8>(), 0..300)) {
        for target in TARGETS {
            (target.run)(&data);
        }
        // So begin the reads of a recorder.
        fuzz::capture(&[b"\0", &data[..]].concat());
    }
}
