//! Lines written by several threads, in the order in which they came: [`Jobs`].
//!
//! Reading a line takes a fraction of what it takes to write it as JSON. So one thread reads, numbers, filters, and writes
//! out what is done; what a line looks like is made wherever there is time. Nothing but that is done by the others,
//! so the output cannot depend on their number.

use std::collections::VecDeque;
use std::io;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use kfd_smi_proto::{Line, MAX_LINE, Part, Trust, parse_line};

use crate::csv::Rows;
use crate::human::Human;
use crate::json;
use crate::record::{Origin, Record};

/// How many bytes of lines are given to a thread at once.
const BATCH: usize = if cfg!(test) { 1 << 10 } else { 1 << 16 };

/// What a line looks like.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Look {
    Human(Human),
    Json,
    Csv,
}

/// Gives lines to other threads.
#[derive(Debug)]
pub(crate) struct Jobs {
    /// How many other threads there may be. They begin when there is enough for one.
    threads: usize,
    queue: Option<SyncSender<Job>>,
    /// What was not given to anybody yet.
    batch: Option<Batch>,
    /// What was, in its order.
    given: VecDeque<Given>,
}

/// Lines, once they are done.
type Done = io::Result<Vec<u8>>;

#[derive(Debug)]
enum Given {
    Here(Done),
    ToThread(Receiver<Done>),
}

#[derive(Debug)]
struct Job {
    batch: Batch,
    done: SyncSender<Done>,
}

impl Jobs {
    /// Uses up to so many threads beside this one.
    pub(crate) const fn new(threads: usize) -> Self {
        Self { threads, queue: None, batch: None, given: VecDeque::new() }
    }

    /// Whether another thread can make the same record of its bytes alone. Lines that are too long, or come in
    /// pieces, are for this one.
    pub(crate) fn takes(line: &Line<'_>, record: &Record<'_>) -> bool {
        line.part == Part::Whole && record.length.is_none()
    }

    /// Takes a record that is to look like this.
    pub(crate) fn push(&mut self, look: Look, record: &Record<'_>) {
        let fits = |batch: &mut Batch| batch.look == look && batch.bytes.len() < BATCH;
        if !self.batch.as_mut().is_some_and(fits) {
            self.give();
        }
        self.batch.get_or_insert_with(|| Batch::new(look)).push(record);
    }

    /// The next lines, if they are done. Few are waited for: those that are ahead of others take memory.
    pub(crate) fn next(&mut self) -> Option<Done> {
        match self.given.front() {
            Some(Given::ToThread(done)) if self.given.len() <= 4 * self.threads => {
                let done = match done.try_recv() {
                    Ok(done) => done,
                    Err(TryRecvError::Empty) => return None,
                    Err(TryRecvError::Disconnected) => Err(ended()),
                };
                self.given.pop_front();
                Some(done)
            }
            Some(_) => self.wait(),
            None => None,
        }
    }

    /// The next lines; `None` if none are left.
    pub(crate) fn wait(&mut self) -> Option<Done> {
        match self.given.pop_front() {
            Some(Given::Here(done)) => Some(done),
            Some(Given::ToThread(done)) => Some(done.recv().unwrap_or_else(|_| Err(ended()))),
            None => Some(self.batch.take()?.write()),
        }
    }

    /// Gives the batch to a thread, or writes its lines here if all have enough to do.
    fn give(&mut self) {
        let Some(batch) = self.batch.take() else { return };
        let queue = self.queue.get_or_insert_with(|| begin(self.threads));
        let (done, receiver) = sync_channel(1);
        self.given.push_back(match queue.try_send(Job { batch, done }) {
            Ok(()) => Given::ToThread(receiver),
            Err(TrySendError::Full(job) | TrySendError::Disconnected(job)) => Given::Here(job.batch.write()),
        });
    }
}

/// Begins threads that work until the queue is dropped. If one cannot begin, the others have more to do.
fn begin(threads: usize) -> SyncSender<Job> {
    // Two for each: one that is worked on is followed by the next at once.
    let (queue, jobs) = sync_channel::<Job>(2 * threads);
    let jobs = Arc::new(Mutex::new(jobs));
    for _ in 0..threads {
        let jobs = Arc::clone(&jobs);
        let work = move || {
            loop {
                let job = jobs.lock().unwrap_or_else(PoisonError::into_inner).recv();
                let Ok(Job { batch, done }) = job else { return };
                // If nobody asks for it any more, the program is about to end.
                _ = done.send(batch.write());
            }
        };
        _ = thread::Builder::new().name("lines".into()).spawn(work);
    }
    queue
}

fn ended() -> io::Error {
    io::Error::other("a thread that writes lines ended before they were done")
}

/// Lines that are to look alike.
#[derive(Debug)]
struct Batch {
    look: Look,
    /// The lines, with a newline behind each.
    bytes: Vec<u8>,
    items: Vec<Item>,
}

/// A record but for its bytes and what they say.
#[derive(Debug)]
struct Item {
    seq: u64,
    input: Option<&'static str>,
    origin: Origin,
    trust: Trust,
    unterminated: bool,
    length: usize,
}

impl Batch {
    fn new(look: Look) -> Self {
        Self { look, bytes: Vec::with_capacity(BATCH + MAX_LINE + 1), items: vec![] }
    }

    fn push(&mut self, record: &Record<'_>) {
        let Record { seq, input, origin, bytes, trust, unterminated, .. } = *record;
        self.bytes.extend_from_slice(bytes);
        self.bytes.push(b'\n');
        self.items.push(Item { seq, input, origin, trust, unterminated, length: bytes.len() + 1 });
    }

    fn write(&self) -> Done {
        // JSON is four times as long as the lines.
        let mut out = Vec::with_capacity(4 * self.bytes.len());
        match self.look {
            Look::Human(human) => self.records().try_for_each(|record| human.write(&record, &mut out))?,
            Look::Json => self.records().try_for_each(|record| json::write(&record, &mut out))?,
            Look::Csv => {
                let mut rows = Rows::new();
                self.records().try_for_each(|record| rows.write(&record, &mut out))?;
            }
        }
        Ok(out)
    }

    fn records(&self) -> impl Iterator<Item = Record<'_>> {
        let mut rest = &self.bytes[..];
        self.items.iter().map(move |item| {
            let (bytes, behind) = rest.split_at(item.length);
            rest = behind;
            // With its newline, a line is read faster.
            let Line { bytes, event, .. } = parse_line(bytes);
            let &Item { seq, input, origin, trust, unterminated, .. } = item;
            Record { seq, input, origin, bytes, length: None, event, trust, unterminated }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Numbering;

    /// Every line of this log, written by so many other threads.
    fn written(log: &[u8], threads: usize, look: Look) -> Vec<u8> {
        let (mut jobs, mut numbering, mut out) = (Jobs::new(threads), Numbering::new(Some("a name")), vec![]);
        for line in kfd_smi_proto::lines(log) {
            let record = numbering.record(&line, Origin::default());
            assert!(Jobs::takes(&line, &record));
            jobs.push(look, &record);
            while let Some(done) = jobs.next() {
                out.extend(done.unwrap());
            }
            assert!(jobs.given.len() <= 4 * threads + 1);
        }
        while let Some(done) = jobs.wait() {
            out.extend(done.unwrap());
        }
        out
    }

    #[test]
    fn the_number_of_threads_does_not_show() {
        let names =
            (0..2_000).map(|number| format!("1 {number:x}:a\n3 {number:x}\nc {number:x} \x1b\n{number}\n"));
        let log = names.collect::<String>().into_bytes();
        assert!(log.len() > 30 * BATCH);
        let expected = |look| {
            let (mut numbering, mut out) = (Numbering::new(Some("a name")), vec![]);
            for line in kfd_smi_proto::lines(&log) {
                let record = numbering.record(&line, Origin::default());
                match look {
                    Look::Human(human) => human.write(&record, &mut out).unwrap(),
                    _ => json::write(&record, &mut out).unwrap(),
                }
            }
            out
        };
        for look in [Look::Json, Look::Human(Human::new(None, None, false))] {
            let expected = expected(look);
            for threads in [1, 2, 5] {
                assert!(written(&log, threads, look) == expected, "{threads} threads: {look:?}");
            }
        }
    }
}
