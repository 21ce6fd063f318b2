//! Counts what happens on this machine: what `stat --live` and `check --live` have in common.

use std::io;
use std::time::{Duration, Instant};

use kfd_smi_io::Next;

use crate::cli::Select;
use crate::complain::complain;
use crate::live::{LastSignal, Live, say_ended, say_full};
use crate::machine;
use crate::record::{Numbering, Origin};
use crate::tally::Tally;

/// The shortest time between two looks.
const SHORTEST: Duration = Duration::from_millis(10);

/// So many processes are given names.
const BUSIEST: usize = 20;

/// Why it is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Over {
    Signal,
    Time,
    /// No GPU is left, or the driver failed. It was said.
    Failed,
}

/// For how long, and how often it is looked.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Times {
    pub(crate) total: Option<Duration>,
    pub(crate) interval: Option<Duration>,
}

/// Counts until a signal comes, the time is over or no GPU is left, and looks a last time then; the error is one of `look`.
pub(crate) fn watch(
    live: &mut Live,
    signal: &LastSignal,
    select: &Select,
    times: Times,
    tally: &mut Tally,
    mut look: impl FnMut(&Tally) -> io::Result<()>,
) -> io::Result<Over> {
    let mut look = |tally: &mut Tally| {
        tally.call(BUSIEST, |pid| machine::process(pid).comm);
        look(tally)
    };
    let over = count(live, signal, select, times, tally, &mut look)?;
    look(tally)?;
    Ok(over)
}

fn count(
    live: &mut Live,
    signal: &LastSignal,
    select: &Select,
    times: Times,
    tally: &mut Tally,
    look: &mut dyn FnMut(&mut Tally) -> io::Result<()>,
) -> io::Result<Over> {
    let begun = Instant::now();
    let page_size = machine::page_size();
    let end = times.total.and_then(|total| begun.checked_add(total));
    let next_look =
        |from: Instant| times.interval.and_then(|interval| from.checked_add(interval.max(SHORTEST)));
    let mut next = next_look(begun);
    let mut numbering = Numbering::new(None);
    loop {
        let now = Instant::now();
        if end.is_some_and(|end| end <= now) {
            return Ok(Over::Time);
        }
        if next.is_some_and(|next| next <= now) {
            look(tally)?;
            next = next_look(Instant::now());
        }
        let until = [end, next].into_iter().flatten().min();
        match live.reader.next(until.map(|until| until.saturating_duration_since(now))) {
            Ok(Next::Record(source)) => {
                let origin = Origin { gpu: source.gpu, arrival: source.arrival, clock: None };
                let record = numbering.record(&source.line, origin);
                if select.keeps(&record) {
                    tally.record(&source, &record, Some(page_size));
                }
            }
            Ok(Next::Full(gpu)) => {
                tally.full();
                say_full(gpu);
            }
            Ok(Next::Ended(gpu, error)) => {
                tally.ended();
                say_ended(gpu, error.as_ref());
            }
            Ok(Next::Woken) if signal.take().is_some() => return Ok(Over::Signal),
            Ok(Next::Finished) => {
                complain(&"no GPU is left to watch");
                return Ok(Over::Failed);
            }
            Ok(_) => {}
            Err(error) => {
                complain(&error);
                return Ok(Over::Failed);
            }
        }
    }
}
