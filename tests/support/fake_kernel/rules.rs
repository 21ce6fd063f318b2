//! Who may see which event: [`Rules`].

use kfd_smi_proto::EventMask;

use super::process::Caller;

/// Which clients the driver hands an event to, besides asking for the event's bit of the mask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rules {
    /// Before Linux 6.0: every client.
    Before6_0,
    /// Linux 6.0 to 6.15: the process itself, and whoever had `CAP_SYS_ADMIN` and sets bit 63 of the mask.
    Since6_0,
    /// From Linux 6.16 on: the process itself, and whoever had `CAP_SYS_ADMIN`.
    Since6_16,
}

/// An event on its way to the clients.
#[derive(Clone, Copy, Debug)]
pub(super) struct Event<'a> {
    /// All of it, its newline included.
    pub(super) bytes: &'a [u8],
    /// The process it is about; `None` if it is for every client.
    pub(super) pid: Option<u32>,
}

/// Events with a time and a process behind their id.
const OF_A_PROCESS: [u32; 8] = [5, 6, 7, 8, 9, 10, 11, 14];

impl<'a> Event<'a> {
    /// The event that these bytes are, about the process they name as `-pid`.
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        let mut event = Self { bytes, pid: None };
        if event.id().is_some_and(|id| OF_A_PROCESS.contains(&id)) {
            let mut words = bytes.split(|byte| b" \n".contains(byte));
            let pid = words.nth(2).and_then(|word| str::from_utf8(word).ok());
            event.pid = pid.and_then(|word| word.strip_prefix('-')?.parse().ok());
        }
        event
    }

    fn id(&self) -> Option<u32> {
        let word = self.bytes.split(|byte| *byte == b' ').next()?;
        u32::from_str_radix(str::from_utf8(word).ok()?, 16).ok()
    }
}

impl Rules {
    /// Whether a client with this mask, made by this caller, gets the event.
    pub(super) fn let_through(self, event: &Event<'_>, mask: EventMask, owner: Caller) -> bool {
        let bit = event.id().and_then(|id| 1u64.checked_shl(id.checked_sub(1)?));
        let asked = bit.is_some_and(|bit| mask.bits() & bit != 0);
        // Process 0 is the driver's word for everybody.
        let own = event.pid.is_none_or(|pid| pid == 0 || pid == owner.tgid);
        let all = mask.contains(EventMask::ALL_PROCESSES);
        asked
            && match self {
                Self::Before6_0 => true,
                Self::Since6_0 => own || owner.admin && all,
                Self::Since6_16 => own || owner.admin,
            }
    }
}
