//! The thread that is the kernel: it waits for stopped calls, and for file descriptors that were closed.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::event::{EventfdFlags, eventfd};
use rustix::fs::{MemfdFlags, fstat, memfd_create};
use rustix::io::{Errno, write};

use super::calls::Call;
use super::driver::Driver;
use super::notify::Listener;
use super::process::Key;

/// How long a test waits for what must come. On a busy machine it can take a while.
const PATIENCE: Duration = Duration::from_secs(30);

/// The number under which the request to stop is watched; no id is 0.
const STOP: u64 = 0;

/// What the thread of the kernel and those of the test have in common.
#[derive(Debug)]
pub(super) struct Shared {
    driver: Mutex<Driver>,
    listeners: Mutex<BTreeMap<u64, Arc<Listener>>>,
    /// What the kernel could not do, so that nothing of what follows counts.
    fault: Mutex<Option<String>>,
    changed: Condvar,
    epoll: OwnedFd,
    stop: OwnedFd,
    unreadable: OwnedFd,
    unreadable_key: Key,
}

impl Shared {
    pub(super) fn new(driver: Driver) -> io::Result<Self> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        let stop = eventfd(0, EventfdFlags::CLOEXEC)?;
        epoll::add(&epoll, &stop, EventData::new_u64(STOP), EventFlags::IN)?;
        let unreadable = memfd_create("unreadable", MemfdFlags::CLOEXEC)?;
        let stat = fstat(&unreadable)?;
        Ok(Self {
            driver: Mutex::new(driver),
            listeners: Mutex::default(),
            fault: Mutex::default(),
            changed: Condvar::new(),
            epoll,
            stop,
            unreadable,
            unreadable_key: (stat.st_dev, stat.st_ino),
        })
    }

    pub(super) fn driver(&self) -> MutexGuard<'_, Driver> {
        self.driver.lock().expect("the fake kernel has not panicked")
    }

    /// The stand-in for files that can be opened but not read.
    pub(super) fn unreadable(&self) -> BorrowedFd<'_> {
        self.unreadable.as_fd()
    }

    pub(super) const fn unreadable_key(&self) -> Key {
        self.unreadable_key
    }

    /// Answers what this listener receives from now on.
    pub(super) fn listen(&self, listener: Listener) -> io::Result<()> {
        let id = self.driver().new_id();
        let mut listeners = self.listeners.lock().expect("the fake kernel has not panicked");
        epoll::add(&self.epoll, &listener, EventData::new_u64(id), EventFlags::IN)?;
        listeners.insert(id, Arc::new(listener));
        Ok(())
    }

    /// Watches a file descriptor of the driver until every copy of it is closed.
    pub(super) fn watch(&self, id: u64, driver: &Driver) -> Result<(), Errno> {
        let writer = driver.doorbell(id).and_then(|doorbell| doorbell.writer()).ok_or(Errno::BADF)?;
        // What is waited for is an error, which needs no flag.
        epoll::add(&self.epoll, writer, EventData::new_u64(id), EventFlags::empty())
    }

    /// Notes that the kernel could not do its work.
    pub(super) fn fault(&self, what: String) {
        let mut fault = self.fault.lock().unwrap_or_else(PoisonError::into_inner);
        fault.get_or_insert(what);
    }

    pub(super) fn first_fault(&self) -> Option<String> {
        self.fault.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits until this yields something; `what` it is, for the error if it does not.
    pub(super) fn wait<T>(
        &self,
        what: &str,
        mut ready: impl FnMut(&mut Driver) -> Option<T>,
    ) -> io::Result<T> {
        let deadline = Instant::now() + PATIENCE;
        let mut driver = self.driver();
        loop {
            if let Some(fault) = self.first_fault() {
                return Err(io::Error::other(fault));
            }
            if let Some(value) = ready(&mut driver) {
                return Ok(value);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                let message = format!("waited {} seconds for {what}", PATIENCE.as_secs());
                return Err(io::Error::new(io::ErrorKind::TimedOut, message));
            }
            let waited = self.changed.wait_timeout(driver, left);
            driver = waited.expect("the fake kernel has not panicked").0;
        }
    }

    /// Ends [`serve`](Self::serve).
    pub(super) fn stop(&self) {
        // It is the only write, so there is room.
        _ = write(&self.stop, &1u64.to_ne_bytes());
    }

    /// Is the kernel, until stopped.
    pub(super) fn serve(&self) {
        let mut events = Vec::with_capacity(64);
        loop {
            match epoll::wait(&self.epoll, spare_capacity(&mut events), None) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return self.fault(format!("waiting for calls: {error}")),
            }
            for event in events.drain(..) {
                let (id, flags) = (event.data.u64(), event.flags);
                if id == STOP {
                    return;
                }
                if let Err(error) = self.handle(id, flags) {
                    self.fault(format!("answering a call: {error}"));
                }
            }
            // Whoever checks does so under this lock, and then waits: the news cannot fall between the two.
            drop(self.driver());
            self.changed.notify_all();
        }
    }

    fn handle(&self, id: u64, flags: EventFlags) -> io::Result<()> {
        let mut listeners = self.listeners.lock().expect("the fake kernel has not panicked");
        let Some(listener) = listeners.get(&id).cloned() else {
            drop(listeners);
            // Only a driver's file descriptor is watched besides, and only for its last copy to be closed.
            self.driver().released(id);
            return Ok(());
        };
        if !flags.contains(EventFlags::IN) {
            // Nothing is left that could call.
            listeners.remove(&id);
            drop(listeners);
            return self.driver().tree.remove_processes_of(id);
        }
        drop(listeners);
        if let Some(notification) = listener.receive()? {
            let call = Call { notification, listener: &listener, listener_id: id, shared: self };
            let answer = call.answer();
            listener.answer(notification.id, &answer)?;
        }
        Ok(())
    }
}
