//! The driver of this machine, opened: what `monitor` and `record` have in common.

use std::fs;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::thread;

use kfd_smi_io::topology::{self, Gpu};
use kfd_smi_io::{Error, EventMask, EventReader, GpuId, Kfd, KfdVersion, Waker};
use kfd_smi_proto::EventId;
use signal_hook::consts::SIGHUP;
use signal_hook::iterator::Signals;

use crate::cli::{Device, Select};
use crate::complain::complain;
use crate::signals::Stop;

/// Everything that was opened.
#[derive(Debug)]
pub(crate) struct Live {
    pub(crate) reader: EventReader,
    pub(crate) version: KfdVersion,
    pub(crate) mask: EventMask,
    pub(crate) is_privileged: bool,
    /// The topology when it was last read.
    generation: u32,
    /// The GPUs that are watched.
    pub(crate) gpus: Vec<Gpu>,
}

/// Installs the signals, so that none is missed, and opens what was chosen.
pub(crate) fn begin(signals: &[i32], device: &Device, select: &Select) -> io::Result<(Live, LastSignal)> {
    let reader = EventReader::new()?;
    let signal = LastSignal::install(signals, reader.waker())?;
    let live = open(reader, device, select)?;
    if live.gpus.is_empty() {
        return Err(io::Error::other("there is no GPU to watch: `kfd-smi gpus` lists them"));
    }
    Ok((live, signal))
}

/// Opens the file descriptors of all GPUs, or of those that were chosen, and says what will be missing.
///
/// A GPU that cannot be watched is said and left out, as long as another can.
fn open(reader: EventReader, device: &Device, select: &Select) -> Result<Live, Error> {
    let kfd = Kfd::open_at(&device.kfd_path)?;
    let version = kfd.version()?;
    let topology = topology::read(&device.topology())?;
    let is_privileged = is_privileged();
    if !is_privileged {
        complain(
            &"without CAP_SYS_ADMIN only resets, throttling and this program's own events are seen: run it as root to \
              see those of other processes",
        );
    }
    for node in &topology.hidden {
        complain(&format_args!("node {node} is left out: the device cgroup of this container hides it"));
    }
    let mask = mask(&select.events);
    let generation = topology.generation;
    let mut live = Live { reader, version, mask, is_privileged, generation, gpus: vec![] };
    let mut failure = None;
    for id in &select.gpus {
        if !topology.gpus.iter().any(|gpu| gpu.id == *id) {
            // It may be hidden; the driver knows.
            failure = kfd.smi_events(*id).err().or(failure);
            complain(&format_args!("there is no GPU {id} here, `kfd-smi gpus` lists them"));
        }
    }
    for gpu in topology.gpus {
        if !select.gpus.is_empty() && !select.gpus.contains(&gpu.id) {
            continue;
        }
        if let Err(error) = live.watch(&kfd, gpu) {
            if failure.is_some() {
                complain(&error);
            }
            failure = Some(error);
        }
    }
    match failure {
        Some(error) if live.gpus.is_empty() => Err(error),
        Some(error) => {
            complain(&error);
            Ok(live)
        }
        None => Ok(live),
    }
}

impl Live {
    fn watch(&mut self, kfd: &Kfd, gpu: Gpu) -> Result<(), Error> {
        let client = kfd.smi_events(gpu.id)?;
        client.set_mask(self.mask)?;
        self.reader.add(client);
        self.gpus.push(gpu);
        Ok(())
    }

    /// Watches the GPUs that came since this was last asked, and gives them; ends those that left.
    pub(crate) fn look_for_gpus(&mut self, device: &Device, select: &Select) -> Result<&[Gpu], Error> {
        let mut before = self.gpus.len();
        if topology::generation(&device.topology())? != self.generation {
            let topology = topology::read(&device.topology())?;
            self.generation = topology.generation;
            let is_there = |id: GpuId| topology.gpus.iter().any(|gpu| gpu.id == id);
            for gpu in self.gpus.iter().filter(|gpu| !is_there(gpu.id)) {
                self.reader.end(gpu.id);
            }
            self.gpus.retain(|gpu| is_there(gpu.id));
            before = self.gpus.len();
            let kfd = Kfd::open_at(&device.kfd_path)?;
            for gpu in topology.gpus {
                let is_known = self.gpus.iter().any(|known| known.id == gpu.id);
                let is_wanted = select.gpus.is_empty() || select.gpus.contains(&gpu.id);
                if is_wanted && !is_known {
                    self.watch(&kfd, gpu)?;
                }
            }
        }
        Ok(&self.gpus[before..])
    }
}

/// What to ask the driver for: every event, those of newer kernels too, or those that were named.
fn mask(names: &[String]) -> EventMask {
    let asked = names.iter().fold(EventMask::EMPTY, |mask, name| {
        mask | match EventId::from_name(name) {
            Some(id) => EventMask::of(&[id]),
            None if name == "dropped_events" => EventMask::of(&[EventId(12), EventId(14)]),
            None if name == "unknown" => EventMask::EVERY.difference(EventMask::KNOWN),
            // A malformed line can be that of any event.
            None => EventMask::EVERY,
        }
    });
    EventMask::ALL_PROCESSES | if names.is_empty() { EventMask::EVERY } else { asked }
}

/// Whether the driver will show this process the events of others: `CAP_SYS_ADMIN`, in the first user namespace.
fn is_privileged() -> bool {
    const CAP_SYS_ADMIN: u32 = 21;
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let effective =
        status.lines().find_map(|line| u64::from_str_radix(line.strip_prefix("CapEff:")?.trim(), 16).ok());
    // In the first namespace every number stands for itself.
    let map = fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    let is_first = map.split_whitespace().eq(["0", "0", "4294967295"]);
    is_first && effective.is_some_and(|effective| effective >> CAP_SYS_ADMIN & 1 == 1)
}

/// The signal that came last; it ends the wait of the reader.
#[derive(Clone, Debug)]
pub(crate) struct LastSignal {
    last: Arc<AtomicI32>,
    stop: Stop,
}

impl LastSignal {
    /// Waits for these signals in a thread of its own.
    pub(crate) fn install(signals: &[i32], waker: Waker) -> io::Result<Self> {
        let last = Self { last: Arc::new(AtomicI32::new(0)), stop: Stop::default() };
        let mut signals = Signals::new(signals)?;
        let shared = last.clone();
        thread::Builder::new().name("signals".to_owned()).spawn(move || {
            for signal in signals.forever() {
                shared.last.store(signal, Ordering::SeqCst);
                if signal != SIGHUP {
                    shared.stop.set(signal);
                }
                waker.wake();
            }
        })?;
        Ok(last)
    }

    /// What the output looks at while it waits for its reader.
    pub(crate) fn stop(&self) -> Stop {
        self.stop.clone()
    }

    /// The signal that came since this was last asked.
    pub(crate) fn take(&self) -> Option<i32> {
        Some(self.last.swap(0, Ordering::SeqCst)).filter(|signal| *signal != 0)
    }
}

/// Says that the driver had no room for some events of this GPU.
pub(crate) fn say_full(gpu: GpuId) {
    complain(&format_args!("the driver's buffer of GPU {gpu} was full: events may be missing here"));
}

/// Says what happened to a GPU that is watched no more.
pub(crate) fn say_ended(gpu: GpuId, error: Option<&Error>) {
    match error {
        Some(error) => complain(error),
        None => complain(&format_args!("GPU {gpu} is gone: its events have ended")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mask_is_what_was_asked_and_all_processes() {
        let bits =
            |names: &[&str]| mask(&names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>()).bits();
        assert_eq!(bits(&[]), u64::MAX);
        assert_eq!(bits(&["vmfault", "queue_restore"]), 0x8000_0000_0000_0201);
        assert_eq!(bits(&["dropped_events"]), 0x8000_0000_0000_2800);
        assert_eq!(bits(&["unknown"]), 0xffff_ffff_ffff_e000);
        assert_eq!(bits(&["malformed"]), u64::MAX);
    }
}
