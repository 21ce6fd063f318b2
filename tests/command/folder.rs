//! A folder for one test.

use std::fs;
use std::path::Path;

use tempfile::TempDir;

use crate::run::{Ran, command};

/// A folder that is gone when this is.
pub(crate) struct Folder(TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Self::with(&[])
    }

    /// One with these files.
    pub(crate) fn with(files: &[(&str, &[u8])]) -> Self {
        let folder = Self(TempDir::with_prefix("kfd-smi-").unwrap());
        for (name, bytes) in files {
            fs::write(folder.path().join(name), bytes).unwrap();
        }
        folder
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// The path of a file in it.
    pub(crate) fn file(&self, name: &str) -> String {
        self.path().join(name).to_str().unwrap().to_owned()
    }

    /// Runs the command there.
    pub(crate) fn run(&self, args: &[&str]) -> Ran {
        command(args).current_dir(self.path()).output().unwrap().into()
    }

    /// Runs `kfd-smi replay` there.
    pub(crate) fn replay(&self, args: &[&str]) -> Ran {
        self.run(&[&["replay"], args].concat())
    }
}
