//! Which kernel prints what: [`Kernel`].

use clap::ValueEnum;
use clap::builder::PossibleValue;
use kfd_smi_proto::{KfdVersion, RestoreFlag};

/// A kernel from which on lines look otherwise than before, in the order of their age but for stable releases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kernel {
    V5_8,
    V5_10,
    V5_15,
    V6_0,
    V6_11,
    V6_12,
    V6_12_66,
    V6_13,
    V6_16,
    V6_19,
}

impl Kernel {
    const ALL: [Self; 10] = [
        Self::V5_8,
        Self::V5_10,
        Self::V5_15,
        Self::V6_0,
        Self::V6_11,
        Self::V6_12,
        Self::V6_12_66,
        Self::V6_13,
        Self::V6_16,
        Self::V6_19,
    ];

    /// What the user calls it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::V5_8 => "5.8",
            Self::V5_10 => "5.10",
            Self::V5_15 => "5.15",
            Self::V6_0 => "6.0",
            Self::V6_11 => "6.11",
            Self::V6_12 => "6.12",
            Self::V6_12_66 => "6.12.66",
            Self::V6_13 => "6.13",
            Self::V6_16 => "6.16",
            Self::V6_19 => "6.19",
        }
    }

    /// What `uname -r` says on it.
    pub(crate) fn release(self) -> String {
        let name = self.name();
        if name.matches('.').count() == 1 { format!("{name}.0") } else { name.to_owned() }
    }

    /// The version of the driver's interface.
    pub(crate) const fn kfd_version(self) -> KfdVersion {
        let minor = match self {
            Self::V5_8 | Self::V5_10 => 3,
            Self::V5_15 => 6,
            Self::V6_0 => 10,
            Self::V6_11 => 16,
            Self::V6_12 | Self::V6_12_66 | Self::V6_13 => 17,
            Self::V6_16 => 18,
            Self::V6_19 => 19,
        };
        KfdVersion { major: 1, minor }
    }

    /// The bytes of a fifo.
    pub(crate) fn fifo_size(self) -> usize {
        if self >= Self::V6_13 { 8192 } else { 1024 }
    }

    /// The most bytes of a read.
    pub(crate) fn read_size(self) -> usize {
        // Up to 5.17 a read gave the size of a pointer instead of that of the buffer.
        if self >= Self::V6_0 { self.fifo_size() } else { 8 }
    }

    /// Whether its throttler bits are those of every chip.
    pub(crate) fn has_common_throttlers(self) -> bool {
        self >= Self::V5_15
    }

    /// Whether it knows migrations, page faults, evictions and unmaps.
    pub(crate) fn has_svm(self) -> bool {
        self >= Self::V6_0
    }

    /// Whether resets have a cause.
    pub(crate) fn has_causes(self) -> bool {
        self >= Self::V6_11
    }

    /// Whether each migration ends, with an error code.
    pub(crate) fn has_error_codes(self) -> bool {
        self >= Self::V6_13
    }

    /// Whether it says when processes begin and end.
    pub(crate) fn has_processes(self) -> bool {
        self >= Self::V6_16
    }

    /// How it prints that queues were restored.
    pub(crate) const fn restored(self) -> RestoreFlag {
        match self {
            Self::V6_12_66 | Self::V6_19 => RestoreFlag::ZERO,
            Self::V6_12 | Self::V6_13 | Self::V6_16 => RestoreFlag::NUL,
            _ => RestoreFlag::NONE,
        }
    }
}

impl ValueEnum for Kernel {
    fn value_variants<'a>() -> &'a [Self] {
        &Self::ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.name()))
    }
}
