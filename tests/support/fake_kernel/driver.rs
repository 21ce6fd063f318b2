//! The model of the driver: what it knows of each client, and what it does when asked.
//!
//! Nothing here knows how the question came. What it does is what `kfd_smi_events.c` does.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::os::fd::OwnedFd;

use kfd_smi_proto::{EventMask, GpuId, KfdVersion};
use rustix::io::Errno;

use super::doorbell::Doorbell;
use super::process::{Caller, Key};
use super::rules::{Event, Rules};
use super::sysfs::Tree;

/// How the driver behaves: what a builder collects.
#[derive(Clone, Debug)]
pub(super) struct Behaviour {
    pub(super) loaded: bool,
    pub(super) version: KfdVersion,
    pub(super) fifo: usize,
    pub(super) read_limit: Option<usize>,
    pub(super) rules: Rules,
    pub(super) open_error: Option<Errno>,
    pub(super) open_errors_once: VecDeque<Errno>,
    pub(super) version_error: Option<Errno>,
    pub(super) smi_errors: BTreeMap<GpuId, Errno>,
}

/// How the file descriptors of a GPU end. The real driver never does this.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// After what is queued, reads return 0.
    Eof,
    /// After what is queued, reads fail.
    Error(Errno),
}

/// A read of an SMI file descriptor, as the kernel saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Read {
    /// The size of the buffer.
    pub asked: usize,
    /// How many bytes it got.
    pub returned: Result<usize, Errno>,
}

/// What became of an event: each client of its GPU counts once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Emitted {
    /// So many clients will read it.
    pub taken: usize,
    /// So many lost it, because it did not fit into what their fifo had left.
    pub dropped: usize,
    /// So many did not ask for it, or may not see it.
    pub unwanted: usize,
}

/// An open SMI file descriptor.
#[derive(Debug)]
struct Client {
    gpu: GpuId,
    owner: Caller,
    mask: EventMask,
    fifo: VecDeque<u8>,
    doorbell: Doorbell,
    end: Option<End>,
}

/// An open `/dev/kfd`.
#[derive(Debug)]
struct OpenKfd {
    tgid: u32,
    doorbell: Doorbell,
}

/// What happened on the file descriptors of a GPU, closed ones included.
#[derive(Debug, Default)]
struct Log {
    reads: Vec<Read>,
    masks: Vec<EventMask>,
}

/// What a file descriptor of a caller is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Known {
    /// An open `/dev/kfd`.
    Kfd(u64),
    /// A client, of this GPU.
    Client(u64, GpuId),
}

/// The driver.
#[derive(Debug)]
pub(super) struct Driver {
    pub(super) behaviour: Behaviour,
    pub(super) tree: Tree,
    kfds: BTreeMap<u64, OpenKfd>,
    clients: BTreeMap<u64, Client>,
    logs: BTreeMap<GpuId, Log>,
    last_id: u64,
}

impl Driver {
    pub(super) const fn new(behaviour: Behaviour, tree: Tree) -> Self {
        Self {
            behaviour,
            tree,
            kfds: BTreeMap::new(),
            clients: BTreeMap::new(),
            logs: BTreeMap::new(),
            last_id: 0,
        }
    }

    /// A number that nothing else has.
    pub(super) const fn new_id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }

    /// Whether `/dev/kfd` exists.
    pub(super) fn has_device(&self) -> bool {
        self.behaviour.loaded && self.behaviour.open_error != Some(Errno::NOENT)
    }

    /// The answer to the question whether the device is there, or may be opened by the caller. That it could not be
    /// opened for other reasons is no part of it.
    pub(super) fn access(&self, open: bool) -> Result<(), Errno> {
        match self.behaviour.open_error {
            _ if !self.has_device() => Err(Errno::NOENT),
            Some(Errno::ACCESS) if open => Err(Errno::ACCESS),
            _ => Ok(()),
        }
    }

    /// Opens `/dev/kfd`: its number here, and what the caller is to have.
    pub(super) fn open(&mut self, tgid: u32) -> Result<(u64, OwnedFd), Errno> {
        if !self.has_device() {
            return Err(Errno::NOENT);
        }
        if let Some(errno) = self.behaviour.open_errors_once.pop_front().or(self.behaviour.open_error) {
            return Err(errno);
        }
        let (doorbell, fd) = Doorbell::new().map_err(errno)?;
        let id = self.new_id();
        self.kfds.insert(id, OpenKfd { tgid, doorbell });
        Ok((id, fd))
    }

    /// Whether this process opened it; it is of no use to others, as after a fork.
    pub(super) fn is_opener(&self, kfd: u64, tgid: u32) -> bool {
        self.kfds.get(&kfd).is_some_and(|kfd| kfd.tgid == tgid)
    }

    /// `AMDKFD_IOC_GET_VERSION`
    pub(super) fn version(&self) -> Result<KfdVersion, Errno> {
        self.behaviour.version_error.map_or(Ok(self.behaviour.version), Err)
    }

    /// `AMDKFD_IOC_SMI_EVENTS`: the number of the client here, and what the caller is to have.
    pub(super) fn smi_events(&mut self, gpu: GpuId, owner: Caller) -> Result<(u64, OwnedFd), Errno> {
        if let Some(errno) = self.behaviour.smi_errors.get(&gpu) {
            return Err(*errno);
        }
        if !self.tree.offers(gpu) {
            return Err(Errno::INVAL);
        }
        let (doorbell, fd) = Doorbell::new().map_err(errno)?;
        let id = self.new_id();
        let (mask, fifo) = (EventMask::EMPTY, VecDeque::new());
        self.clients.insert(id, Client { gpu, owner, mask, fifo, doorbell, end: None });
        Ok((id, fd))
    }

    /// The driver's side of a file descriptor that [`open`](Self::open) or [`smi_events`](Self::smi_events) made.
    pub(super) fn doorbell(&self, id: u64) -> Option<&Doorbell> {
        let kfd = self.kfds.get(&id).map(|kfd| &kfd.doorbell);
        kfd.or_else(|| self.clients.get(&id).map(|client| &client.doorbell))
    }

    /// Says that every copy of such a file descriptor was closed.
    pub(super) fn released(&mut self, id: u64) {
        self.kfds.remove(&id);
        self.clients.remove(&id);
    }

    /// What is open here under this key.
    pub(super) fn known(&self, key: Key) -> Option<Known> {
        let kfd = self.kfds.iter().find(|(_, kfd)| kfd.doorbell.key() == key);
        let client = || self.clients.iter().find(|(_, client)| client.doorbell.key() == key);
        kfd.map(|(id, _)| Known::Kfd(*id))
            .or_else(|| client().map(|(id, client)| Known::Client(*id, client.gpu)))
    }

    /// `read`: the bytes, and whether there are no more now.
    pub(super) fn read(&mut self, client: u64, asked: usize) -> Result<(Vec<u8>, bool), Errno> {
        let client = self.clients.get_mut(&client).ok_or(Errno::BADF)?;
        let size = asked.min(self.behaviour.fifo).min(self.behaviour.read_limit.unwrap_or(usize::MAX));
        let bytes: Vec<u8> = client.fifo.drain(..size.min(client.fifo.len())).collect();
        let result = match client.end {
            _ if !bytes.is_empty() => Ok((bytes, client.fifo.is_empty())),
            Some(End::Eof) => Ok((bytes, true)),
            Some(End::Error(errno)) => Err(errno),
            None => Err(Errno::AGAIN),
        };
        let returned = result.as_ref().map(|(bytes, _)| bytes.len()).map_err(|errno| *errno);
        self.logs.entry(client.gpu).or_default().reads.push(Read { asked, returned });
        result
    }

    /// `write`
    pub(super) fn set_mask(&mut self, client: u64, mask: EventMask) -> Result<(), Errno> {
        let client = self.clients.get_mut(&client).ok_or(Errno::BADF)?;
        client.mask = mask;
        self.logs.entry(client.gpu).or_default().masks.push(mask);
        Ok(())
    }

    /// Hands an event to the clients of its GPU.
    pub(super) fn emit(&mut self, gpu: GpuId, event: &Event<'_>) -> Emitted {
        let mut emitted = Emitted::default();
        for client in self.clients.values_mut().filter(|client| client.gpu == gpu && client.end.is_none()) {
            if !self.behaviour.rules.let_through(event, client.mask, client.owner) {
                emitted.unwanted += 1;
            } else if client.fifo.len() + event.bytes.len() > self.behaviour.fifo {
                emitted.dropped += 1;
            } else {
                client.fifo.extend(event.bytes);
                client.doorbell.ring();
                emitted.taken += 1;
            }
        }
        emitted
    }

    /// Whether no client would lose the event.
    pub(super) fn has_room(&self, gpu: GpuId, event: &Event<'_>) -> bool {
        let mut clients = self.clients.values().filter(|client| client.gpu == gpu && client.end.is_none());
        clients.all(|client| {
            client.fifo.len() + event.bytes.len() <= self.behaviour.fifo
                || !self.behaviour.rules.let_through(event, client.mask, client.owner)
        })
    }

    /// Ends the file descriptors of a GPU.
    pub(super) fn end(&mut self, gpu: GpuId, end: End) {
        for client in self.clients.values_mut().filter(|client| client.gpu == gpu) {
            client.end = Some(end);
            client.doorbell.hang_up();
        }
    }

    /// How many files `/dev/kfd` are open.
    pub(super) fn kfds(&self) -> usize {
        self.kfds.len()
    }

    /// The masks of the clients of a GPU.
    pub(super) fn masks(&self, gpu: GpuId) -> Vec<EventMask> {
        self.clients.values().filter(|client| client.gpu == gpu).map(|client| client.mask).collect()
    }

    /// How many clients wait for events.
    pub(super) fn listening(&self) -> usize {
        let waits = |client: &&Client| client.end.is_none() && client.mask != EventMask::EMPTY;
        self.clients.values().filter(waits).count()
    }

    /// How many bytes wait in the fullest fifo of a GPU.
    pub(super) fn fifo_len(&self, gpu: GpuId) -> usize {
        let clients = self.clients.values().filter(|client| client.gpu == gpu);
        clients.map(|client| client.fifo.len()).max().unwrap_or(0)
    }

    /// Every mask that was written for a GPU.
    pub(super) fn mask_writes(&self, gpu: GpuId) -> &[EventMask] {
        self.logs.get(&gpu).map_or(&[], |log| &log.masks)
    }

    /// Every read for a GPU.
    pub(super) fn reads(&self, gpu: GpuId) -> &[Read] {
        self.logs.get(&gpu).map_or(&[], |log| &log.reads)
    }
}

/// The error number of an error that came from the real kernel.
pub(super) fn errno(error: io::Error) -> Errno {
    Errno::from_io_error(&error).unwrap_or(Errno::IO)
}
