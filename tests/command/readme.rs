//! The README: its commands run, and print what it says.

use std::fs;
use std::path::PathBuf;

use crate::run::{Ran, command};

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
