//! The README: its commands run, and print what it says.

use std::fs;
use std::path::PathBuf;

use crate::run::{Ran, command};

/// The example in Rust is that of the library, where it is compiled and run.
#[test]
fn the_example_is_one_that_runs() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..");
    let read = |path: &str| fs::read_to_string(root.join(path)).unwrap();
    let readme = read("README.md");
    let (_, block) = readme.split_once("```rust\n").unwrap();
    let (block, _) = block.split_once("```").unwrap();
    assert!(read("kfd-smi-proto/README.md").contains(&format!("```rust\n{block}```")));
    assert!(block.contains("lines(log)"));
}

#[test]
fn the_readme_shows_what_is_printed() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..");
    let path = root.join("README.md");
    let readme = fs::read_to_string(&path).unwrap();
    let mut written = String::new();
    let mut shown = 0;
    let mut rest = &readme[..];
    while let Some((before, block)) = rest.split_once("```console\n") {
        let (block, behind) = block.split_once("```").unwrap();
        let (first, output) = block.split_once('\n').unwrap();
        let arguments =
            first.strip_prefix("$ cargo run -q -p kfd-smi -- ").or_else(|| first.strip_prefix("$ kfd-smi "));
        let actual = match arguments {
            Some(arguments) => {
                shown += 1;
                let arguments: Vec<_> = arguments.split(' ').collect();
                let ran: Ran = command(&arguments).current_dir(&root).output().unwrap().into();
                assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
                ran.text().to_owned()
            }
            None => output.to_owned(),
        };
        written.push_str(&format!("{before}```console\n{first}\n{actual}```"));
        rest = behind;
    }
    written.push_str(rest);
    assert!(shown >= 2, "only {shown} commands");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, &written).unwrap();
    } else {
        assert_eq!(written, readme);
    }
}
