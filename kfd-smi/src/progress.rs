//! How far a long input has been read, on standard error.

use std::io::{self, IsTerminal as _};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// An input is long if reading takes longer than this.
const PATIENCE: Duration = Duration::from_secs(1);

/// Shows a bar, or what was read where the size is not known.
///
/// It stays dark unless standard error is a terminal and standard output is not: on one terminal, the events
/// themselves show that something happens.
#[derive(Debug)]
pub(crate) struct Progress {
    bar: ProgressBar,
    begun: Instant,
    wanted: bool,
}

impl Progress {
    pub(crate) fn new(size: Option<u64>) -> Self {
        let bar = ProgressBar::with_draw_target(size, ProgressDrawTarget::hidden());
        let template = match size {
            Some(_) => "{bar:40} {bytes} of {total_bytes}, {bytes_per_sec}, {eta} left",
            None => "{spinner} {bytes}, {bytes_per_sec}",
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        let wanted = io::stderr().is_terminal() && !io::stdout().is_terminal();
        Self { bar, begun: Instant::now(), wanted }
    }

    /// So many more bytes were read.
    pub(crate) fn advance(&mut self, bytes: usize) {
        if self.wanted && self.begun.elapsed() > PATIENCE {
            self.wanted = false;
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        self.bar.inc(bytes as u64);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
