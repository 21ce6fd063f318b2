//! The events of many GPUs in a tokio program: [`AsyncEventReader`].

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::event::epoll;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use crate::client::SmiClient;
use crate::error::{Error, Operation};
use crate::reader::{EventReader, Next, Waker};

/// An [`EventReader`] whose wait is a future.
///
/// It reads in the same order and takes care of the same things.
///
/// ```no_run
/// use kfd_smi_io::{AsyncEventReader, EventMask, GpuId, Kfd, Next};
///
/// # async fn example() -> Result<(), kfd_smi_io::Error> {
/// let client = Kfd::open()?.smi_events(GpuId(0x1ea0))?;
/// client.set_mask(EventMask::KNOWN | EventMask::ALL_PROCESSES)?;
/// let mut reader = AsyncEventReader::new([client])?;
/// loop {
///     match reader.next().await? {
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
#[derive(Debug)]
pub struct AsyncEventReader {
    reader: EventReader,
    /// An epoll with every file descriptor of the reader: readable when one of them is.
    ready: AsyncFd<OwnedFd>,
}

impl AsyncEventReader {
    /// A reader of these GPUs.
    ///
    /// # Errors
    ///
    /// There are too many files open.
    ///
    /// # Panics
    ///
    /// If it is called outside of a tokio runtime with I/O.
    pub fn new(clients: impl IntoIterator<Item = SmiClient>) -> Result<Self, Error> {
        let mut reader = EventReader::new()?;
        let ready = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(failed)?;
        let data = epoll::EventData::new_u64(0);
        epoll::add(&ready, reader.wake_fd(), data, epoll::EventFlags::IN).map_err(failed)?;
        for client in clients {
            epoll::add(&ready, &client, data, epoll::EventFlags::IN).map_err(failed)?;
            reader.add(client);
        }
        #[allow(
            deprecated,
            reason = "its successor is unsafe, for what could close the file; an OwnedFd does not"
        )]
        let ready =
            AsyncFd::with_interest(ready, Interest::READABLE).map_err(|error| not_waitable(&error))?;
        Ok(Self { reader, ready })
    }

    /// The GPUs that have not ended, in the order in which they were given.
    pub fn clients(&self) -> impl Iterator<Item = &SmiClient> {
        self.reader.clients()
    }

    /// What ends a wait of this reader.
    #[must_use]
    pub fn waker(&self) -> Waker {
        self.reader.waker()
    }

    /// The next thing to say; waits as long as it takes. It can be dropped while it waits without a loss.
    ///
    /// # Errors
    ///
    /// As [`EventReader::next`].
    pub async fn next(&mut self) -> Result<Next<'_>, Error> {
        while !self.reader.is_ready()? {
            let mut guard = self.ready.readable().await.map_err(|error| not_waitable(&error))?;
            // An edge-triggered wait: the readiness is used up only when there is really nothing.
            if !self.reader.is_ready()? {
                guard.clear_ready();
            }
        }
        self.reader.try_next()
    }
}

fn failed(errno: rustix::io::Errno) -> Error {
    Error::new(Operation::Poll, Path::new("the events"), errno)
}

fn not_waitable(error: &io::Error) -> Error {
    failed(rustix::io::Errno::from_io_error(error).unwrap_or(rustix::io::Errno::NOTSUP))
}
