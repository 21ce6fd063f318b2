//! SIGINT and SIGTERM: the program ends between two lines.

use std::io;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::{flag, low_level};

use crate::complain::{fail, write_failed};

/// Whether a signal came that is to end the program.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stop(Arc<AtomicUsize>);

impl Stop {
    /// The signal, if one came.
    pub(crate) fn signal(&self) -> Option<i32> {
        i32::try_from(self.0.load(Ordering::SeqCst)).ok().filter(|signal| *signal != 0)
    }

    pub(crate) fn set(&self, signal: i32) {
        self.0.store(signal.unsigned_abs() as usize, Ordering::SeqCst);
    }
}

/// Ends the program at a signal: at once while it waits for input, else when it next would.
///
/// Before it waits, everything is written. A second signal ends it at once in any case.
#[derive(Debug)]
pub(crate) struct Signals {
    /// Whether a signal may end the program here and now.
    at_once: Arc<AtomicBool>,
    stop: Stop,
}

impl Signals {
    /// Installs them; if that fails, says so and gives the exit status.
    pub(crate) fn install() -> Result<Self, ExitCode> {
        Self::try_install().map_err(|error| fail(&format_args!("cannot wait for signals: {error}")))
    }

    fn try_install() -> io::Result<Self> {
        let at_once = Arc::new(AtomicBool::new(false));
        let stop = Stop::default();
        for number in [SIGINT, SIGTERM] {
            // They run in this order: what one sets, the one before sees at the next signal.
            flag::register_conditional_default(number, Arc::clone(&at_once))?;
            flag::register_usize(number, Arc::clone(&stop.0), number.unsigned_abs() as usize)?;
            flag::register(number, Arc::clone(&at_once))?;
        }
        Ok(Self { at_once, stop })
    }

    /// What the output looks at while it waits for its reader.
    pub(crate) fn stop(&self) -> Stop {
        self.stop.clone()
    }

    /// Everything is written; a wait for input follows. If a signal came before, the program ends here.
    pub(crate) fn wait(&self) {
        if self.at_once.swap(true, Ordering::SeqCst) {
            self.end();
        }
    }

    /// The wait is over.
    pub(crate) fn work(&self) {
        self.at_once.store(false, Ordering::SeqCst);
    }

    /// The exit status of a program that could not write; if nobody read when it was to end, it ends here.
    pub(crate) fn write_failed(&self, error: &io::Error) -> ExitCode {
        if error.kind() == io::ErrorKind::Interrupted {
            self.end();
        }
        write_failed(error)
    }

    /// Ends the program as the signal that came would have.
    pub(crate) fn end(&self) {
        // If it cannot end like that, the next signal ends it.
        _ = low_level::emulate_default_handler(self.stop.signal().unwrap_or(SIGTERM));
    }
}
