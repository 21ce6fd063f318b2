//! The events of many GPUs, one line after the other: [`EventReader`].

use std::mem;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use kfd_smi_proto::{BootNanos, Decoder, GpuId};
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::io::{Errno, read, retry_on_intr, write};

use crate::client::{SmiClient, timespec};
use crate::clock::Clock;
use crate::error::{Error, Operation};
use crate::record::Record;

/// Holds a whole buffer of the kernel beside the longest line that can be an event.
const BUFFER: usize = 16384;

/// Reads the events of any number of GPUs in one thread.
///
/// ```no_run
/// use std::path::Path;
/// use kfd_smi_io::{EventMask, EventReader, Kfd, Next, topology};
///
/// # fn main() -> Result<(), kfd_smi_io::Error> {
/// let mut reader = EventReader::new()?;
/// let kfd = Kfd::open()?;
/// for gpu in topology::read(Path::new(topology::PATH))?.gpus {
///     let client = kfd.smi_events(gpu.id)?;
///     client.set_mask(EventMask::KNOWN | EventMask::ALL_PROCESSES)?;
///     reader.add(client);
/// }
/// drop(kfd);
/// loop {
///     match reader.next(None)? {
///         Next::Record(record) => println!("{:?}: {:?}", record.gpu, record.line.event),
///         Next::Ended(gpu, error) => eprintln!("GPU {gpu} ended: {error:?}"),
///         Next::Full(gpu) => eprintln!("GPU {gpu}: events may have been lost"),
///         Next::Finished | Next::Woken => break,
///         _ => {}
///     }
/// }
/// # Ok(())
/// # }
/// ```
///
/// # Order
///
/// After each wait, the GPUs that have something are read once each, in the order in which they were added, and all
/// lines of one read come before those of the next. So a flood of events on one GPU delays the others by one read
/// and no more. There is no order between the *times* of different GPUs: sort by them where that matters.
///
/// # What is taken care of
///
/// Lines cut by reads of any size; `EINTR`; `EAGAIN` on a blocking file descriptor; a file descriptor that fails or is
/// closed ends alone, with its last line, and is waited for no more.
#[derive(Debug)]
pub struct EventReader {
    sources: Vec<Source>,
    /// The source whose lines are being handed out, and behind which the round goes on.
    turn: usize,
    /// What the last wait said of each source, kept so that a wait allocates nothing.
    polled: Vec<PollFlags>,
    wake: Arc<OwnedFd>,
    /// Whether a waker was used, and that was not said yet.
    woken: bool,
}

/// As many file descriptors are waited for without an allocation: eight GPUs in eight partitions each, and the waker.
const FEW: usize = 65;

/// One GPU.
#[derive(Debug)]
struct Source {
    client: SmiClient,
    decoder: Box<Decoder<BUFFER>>,
    /// When the last read returned.
    arrival: Option<BootNanos>,
    /// Whether there may be something to read in this round.
    ready: bool,
    /// Whether the other end is gone.
    hung_up: bool,
    /// Whether the last read found the kernel's buffer full, and that was not said yet.
    full: bool,
    /// How large the kernel's buffer is, as far as is known.
    fifo_size: usize,
    end: End,
}

/// How far a source has come.
#[derive(Debug)]
enum End {
    Open,
    /// Its last line is handed out, then this is said.
    Near(Option<Error>),
}

/// What an [`EventReader`] has to say.
#[derive(Debug)]
#[non_exhaustive]
pub enum Next<'a> {
    /// A line came.
    Record(Record<'a>),
    /// A read found less than one event of room in the kernel's buffer of this GPU: just then events may have been
    /// lost, of which the kernel says nothing. It comes before the lines of that read. Linux 5.8 to 5.17, whose reads
    /// give 8 bytes, never shows it.
    Full(GpuId),
    /// The file descriptor of this GPU failed or, without an error, was closed. It is waited for no more.
    Ended(GpuId, Option<Error>),
    /// A [`Waker`] was used. It comes when the lines that were read are handed out.
    Woken,
    /// Nothing came in time.
    TimedOut,
    /// There is nothing to wait for: no GPU was added, or all have ended.
    Finished,
}

/// Ends the wait of an [`EventReader`], from another thread or a signal handler.
#[derive(Clone, Debug)]
pub struct Waker(Arc<OwnedFd>);

impl Waker {
    /// Makes the reader say [`Next::Woken`], now or when it next waits.
    ///
    /// It makes one system call and no more, so it may be called in a signal handler.
    pub fn wake(&self) {
        // It fails only if the counter is at its limit, and then the reader is about to wake anyway.
        _ = write(&self.0, &1_u64.to_ne_bytes());
    }
}

impl EventReader {
    /// A reader without GPUs.
    ///
    /// # Errors
    ///
    /// There are too many files open for the waker.
    pub fn new() -> Result<Self, Error> {
        let wake = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)
            .map_err(|errno| Error::new(Operation::Wake, Path::new("an eventfd"), errno))?;
        Ok(Self { sources: vec![], turn: 0, polled: vec![], wake: Arc::new(wake), woken: false })
    }

    /// Adds a GPU. Set its mask before or after: events come when the mask is there.
    pub fn add(&mut self, client: SmiClient) {
        self.sources.push(Source {
            decoder: Box::new(Decoder::for_gpu(client.gpu())),
            client,
            arrival: None,
            ready: false,
            hung_up: false,
            full: false,
            fifo_size: fifo_size(),
            end: End::Open,
        });
    }

    /// Ends a GPU as if its file descriptor had been closed: what was read of it is still said, then
    /// [`Next::Ended`]. Do so when it has left the topology, of which the driver says nothing.
    pub fn end(&mut self, gpu: GpuId) {
        for source in &mut self.sources {
            // One that failed keeps its error.
            if source.client.gpu() == gpu && matches!(source.end, End::Open) {
                source.end = End::Near(None);
            }
        }
        // Those in front of the turn are to be asked, too.
        self.turn = 0;
    }

    /// The GPUs that have not ended, in the order in which they were added.
    pub fn clients(&self) -> impl Iterator<Item = &SmiClient> {
        self.sources.iter().map(|source| &source.client)
    }

    /// What ends a wait of this reader.
    #[must_use]
    pub fn waker(&self) -> Waker {
        Waker(Arc::clone(&self.wake))
    }

    /// The next thing to say, without waiting for one: [`Next::TimedOut`] if there is none now.
    ///
    /// # Errors
    ///
    /// As [`next`](Self::next).
    pub fn try_next(&mut self) -> Result<Next<'_>, Error> {
        self.next(Some(Duration::ZERO))
    }

    /// The next thing to say; waits for at most this long, or as long as it takes.
    ///
    /// # Errors
    ///
    /// Waiting failed: the kernel has no memory. A failure of one GPU is no error but [`Next::Ended`].
    pub fn next(&mut self, timeout: Option<Duration>) -> Result<Next<'_>, Error> {
        let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        while !self.has_next() {
            // A wait that ends because something came does not tell whether the kernel's buffer had been empty. So a
            // look comes first: where it finds nothing, what comes next begins an event.
            let is_ready = self.wait(Some(Instant::now()))? || self.wait(deadline)?;
            if !is_ready {
                return Ok(Next::TimedOut);
            }
        }
        Ok(self.take())
    }

    /// Whether [`try_next`](Self::try_next) would give anything but [`Next::TimedOut`]; it does not wait.
    ///
    /// # Errors
    ///
    /// As [`next`](Self::next).
    pub fn is_ready(&mut self) -> Result<bool, Error> {
        // A read of a few bytes need not end a line, and then there can be more to read.
        while !self.has_next() {
            if !self.wait(Some(Instant::now()))? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Goes on with the round, reading each ready source once, until there is something to say.
    fn has_next(&mut self) -> bool {
        while let Some(source) = self.sources.get_mut(self.turn) {
            if source.has_next() {
                return true;
            }
            if mem::take(&mut source.ready) {
                source.read();
            } else {
                self.turn += 1;
            }
        }
        self.woken || self.sources.is_empty()
    }

    /// Says what [`has_next`](Self::has_next) found.
    fn take(&mut self) -> Next<'_> {
        if self.turn >= self.sources.len() {
            return if mem::take(&mut self.woken) { Next::Woken } else { Next::Finished };
        }
        if self.sources[self.turn].is_done() {
            let Source { client, end, .. } = self.sources.remove(self.turn);
            return Next::Ended(client.gpu(), if let End::Near(error) = end { error } else { None });
        }
        let Source { client, decoder, arrival, full, end, .. } = &mut self.sources[self.turn];
        if mem::take(full) {
            return Next::Full(client.gpu());
        }
        let line = if let End::Open = end { decoder.next_line() } else { decoder.finish() };
        match line {
            Some(line) => Next::Record(Record::new(Some(client.gpu()), *arrival, line)),
            None => Next::TimedOut,
        }
    }

    /// Waits until something can be read, and begins a round; false if nothing came in time.
    fn wait(&mut self, deadline: Option<Instant>) -> Result<bool, Error> {
        let wanted = |number: usize| match number.checked_sub(1).and_then(|number| self.sources.get(number)) {
            Some(source) => PollFd::new(&source.client, PollFlags::IN),
            None => PollFd::new(&*self.wake, PollFlags::IN),
        };
        let (mut few, mut many);
        let fds = if self.sources.len() < FEW {
            few = std::array::from_fn::<_, FEW, _>(wanted);
            &mut few[..=self.sources.len()]
        } else {
            many = (0..=self.sources.len()).map(wanted).collect::<Vec<_>>();
            &mut many[..]
        };
        let ready = loop {
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            match poll(fds, timespec(left).as_ref()) {
                Err(Errno::INTR) => {}
                ready => break ready,
            }
        };
        let failed = |errno| Error::new(Operation::Poll, Path::new("the events"), errno);
        let ready = ready.map_err(failed)?;
        let woken = !fds[0].revents().is_empty();
        self.polled.clear();
        self.polled.extend(fds[1..].iter().map(PollFd::revents));
        for (source, events) in self.sources.iter_mut().zip(&self.polled) {
            source.polled(*events);
        }
        self.turn = 0;
        if woken {
            _ = retry_on_intr(|| read(&self.wake, &mut [0_u8; 8]));
            self.woken = true;
        }
        Ok(ready > 0)
    }

    /// What a waker makes readable.
    #[cfg(feature = "tokio")]
    pub(crate) fn wake_fd(&self) -> &OwnedFd {
        &self.wake
    }
}

impl Source {
    /// Whether a line, a full buffer or the end is to be said.
    fn has_next(&mut self) -> bool {
        self.full || self.decoder.has_line() || matches!(self.end, End::Near(_))
    }

    /// Whether nothing is left to be said but the end.
    fn is_done(&self) -> bool {
        !self.full && matches!(self.end, End::Near(_)) && !self.decoder.has_rest()
    }

    /// Takes what `poll` said.
    fn polled(&mut self, events: PollFlags) {
        if events.contains(PollFlags::IN) {
            self.ready = true;
        } else if events.contains(PollFlags::NVAL) {
            self.end(Errno::BADF);
        } else if events.contains(PollFlags::ERR) {
            self.end(Errno::IO);
        } else if events.contains(PollFlags::HUP) {
            // A last read tells whether it failed.
            self.ready = true;
            self.hung_up = true;
        } else {
            // Nothing to read is an empty buffer, as EAGAIN would be.
            self.decoder.source_drained();
        }
    }

    fn read(&mut self) {
        match self.client.read(self.decoder.buffer()) {
            Ok(Some(0)) => self.end = End::Near(None),
            Ok(Some(n)) => {
                self.decoder.advance(n);
                self.arrival = Some(Clock::now().boot);
                if n > self.fifo_size {
                    self.fifo_size = SmiClient::FIFO_SIZE;
                }
                self.full = (self.fifo_size.saturating_sub(LONGEST_EVENT)..=self.fifo_size).contains(&n);
            }
            Ok(None) if self.hung_up => self.end = End::Near(None),
            Ok(None) => self.decoder.source_drained(),
            Err(error) => self.end = End::Near(Some(error)),
        }
    }

    fn end(&mut self, errno: Errno) {
        self.end = End::Near(Some(self.client.error(Operation::Poll, errno)));
    }
}

/// No event that kernels print today needs more room in their buffer.
const LONGEST_EVENT: usize = 96;

/// The size of the kernel's buffer: a read of more than 1024 bytes shows that it is the larger one.
const SMALL_FIFO: usize = 1024;

/// As the release of the running kernel has it: it is larger since 6.13.
fn fifo_size() -> usize {
    let release = rustix::system::uname();
    let mut numbers = release.release().to_str().unwrap_or_default().split(['.', '-']).map(str::parse::<u32>);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(major)), Some(Ok(minor))) if (major, minor) < (6, 13) => SMALL_FIFO,
        _ => SmiClient::FIFO_SIZE,
    }
}
