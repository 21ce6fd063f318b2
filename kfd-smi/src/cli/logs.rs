//! Which logs are read, and what of them.

use std::io::{self, IsTerminal as _};
use std::path::{Path, PathBuf};

use clap::Args;
use kfd_smi_proto::PageSize;

use super::{Select, page_size};
use crate::window::Moment;

/// What `replay`, `stat` and `check` have in common.
#[derive(Debug, Args)]
pub(crate) struct Logs {
    /// The logs; `-` is standard input, which is also read if there is no FILE.
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) select: Select,
    /// Only what came at this time or later: 2026-12-01T10:36:40Z, the same with another zone or without (UTC), or seconds
    /// since boot such as 14601.7, which is all that raw logs have.
    #[arg(long, value_name = "TIME", value_parser = Moment::parse)]
    pub(crate) from: Option<Moment>,
    /// Only what came before this time, which is written in the same way.
    #[arg(long, value_name = "TIME", value_parser = Moment::parse)]
    pub(crate) to: Option<Moment>,
    /// Fail with status 1 if a line is malformed or the last one has no newline.
    #[arg(long)]
    pub(crate) strict: bool,
    /// The page size of the machine that sent the events, in bytes or as 4K, 64K, 2M; what a capture says if it is not
    /// given, else 4096.
    #[arg(long, value_name = "SIZE", value_parser = page_size)]
    pub(crate) page_size: Option<PageSize>,
}

impl Logs {
    /// What is wrong if standard input would be read and is a terminal.
    pub(crate) fn terminal_error(&self) -> Option<&'static str> {
        let reads_stdin = self.files.is_empty() || self.files.iter().any(|file| file == Path::new("-"));
        (reads_stdin && io::stdin().is_terminal())
            .then_some("expected a FILE, or a log on standard input, which is a terminal")
    }
}
