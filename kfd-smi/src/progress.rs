//! How far a long input has been read, on standard error.

use std::io::{self, IsTerminal as _};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// An input is long if reading takes longer than this.
const PATIENCE: Duration = Duration::from_secs(1);

/// The bar that is seen, and whether events came on the same terminal: then they show that something happens.
static SEEN: Mutex<Option<ProgressBar>> = Mutex::new(None);
static NO_MORE: AtomicBool = AtomicBool::new(false);

/// Clears the bar for good: what follows is written to the same terminal.
pub(crate) fn make_way() {
    NO_MORE.store(true, Ordering::Relaxed);
    if let Some(bar) = SEEN.lock().ok().and_then(|mut seen| seen.take()) {
        bar.finish_and_clear();
    }
}

/// Shows a bar, or what was read where the size is not known. It stays dark unless standard error is a terminal.
#[derive(Debug)]
pub(crate) struct Progress {
    bar: ProgressBar,
    begun: Instant,
    /// Whether it is still to be shown, when the input turns out to be long.
    waits: bool,
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
        Self { bar, begun: Instant::now(), waits: io::stderr().is_terminal() }
    }

    /// So many more bytes were read.
    pub(crate) fn advance(&mut self, bytes: usize) {
        if self.waits && self.begun.elapsed() > PATIENCE && !NO_MORE.load(Ordering::Relaxed) {
            self.waits = false;
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
            if let Ok(mut seen) = SEEN.lock() {
                *seen = Some(self.bar.clone());
            }
        }
        self.bar.inc(bytes as u64);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
