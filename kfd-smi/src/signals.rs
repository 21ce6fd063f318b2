//! SIGINT and SIGTERM: the program ends between two lines.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::{flag, low_level};

/// Ends the program at a signal: at once while it waits for input, else when it next would.
///
/// Before it waits, everything is written. A second signal ends it at once in any case.
#[derive(Debug)]
pub(crate) struct Signals {
    /// Whether a signal may end the program here and now.
    at_once: Arc<AtomicBool>,
    /// The signal that came.
    signal: Arc<AtomicUsize>,
}

impl Signals {
    pub(crate) fn install() -> io::Result<Self> {
        let at_once = Arc::new(AtomicBool::new(false));
        let signal = Arc::new(AtomicUsize::new(0));
        for number in [SIGINT, SIGTERM] {
            // They run in this order: what one sets, the one before sees at the next signal.
            flag::register_conditional_default(number, Arc::clone(&at_once))?;
            flag::register_usize(number, Arc::clone(&signal), number.unsigned_abs() as usize)?;
            flag::register(number, Arc::clone(&at_once))?;
        }
        Ok(Self { at_once, signal })
    }

    /// Everything is written; a wait for input follows. If a signal came before, the program ends here.
    pub(crate) fn wait(&self) {
        if self.at_once.swap(true, Ordering::SeqCst) {
            let signal = i32::try_from(self.signal.load(Ordering::SeqCst)).unwrap_or(SIGTERM);
            // If it cannot end like that, the next signal ends it.
            _ = low_level::emulate_default_handler(signal);
        }
    }

    /// The wait is over.
    pub(crate) fn work(&self) {
        self.at_once.store(false, Ordering::SeqCst);
    }
}
