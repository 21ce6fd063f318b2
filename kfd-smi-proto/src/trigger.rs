//! Why the driver did something: three open sets of numbers.

use core::fmt;

/// Each set has the same questions; the kernel prints all of them as a signed decimal number.
macro_rules! triggers {
    ($(#[$doc:meta])* $type:ident { $($(#[$what:meta])* $constant:ident = $value:literal $name:literal $c:literal;)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
        #[cfg_attr(feature = "defmt", derive(defmt::Format))]
        pub struct $type(pub i32);

        impl $type {
            $(
                $(#[$what])*
                #[doc(alias = $c)]
                pub const $constant: Self = Self($value);
            )*

            /// Every value that kernels send so far, in ascending order.
            pub const KNOWN: &'static [Self] = &[$(Self::$constant),*];

            /// The name in lower case; `None` for a value of a newer kernel.
            #[must_use]
            pub const fn name(self) -> Option<&'static str> {
                match self {
                    $(Self::$constant => Some($name),)*
                    _ => None,
                }
            }
        }

        /// The name, or `trigger 9` for an unknown value.
        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self.name() {
                    Some(name) => f.write_str(name),
                    None => write!(f, "trigger {}", self.0),
                }
            }
        }
    };
}

triggers! {
    /// Why pages move: `enum KFD_MIGRATE_TRIGGERS`.
    ///
    /// ```
    /// use kfd_smi_proto::MigrateTrigger;
    ///
    /// assert_eq!(MigrateTrigger(1), MigrateTrigger::PAGEFAULT_GPU);
    /// assert_eq!(MigrateTrigger(1).name(), Some("pagefault_gpu"));
    /// assert_eq!(MigrateTrigger(7).to_string(), "trigger 7");
    /// ```
    MigrateTrigger {
        /// A program asked for it, by setting attributes of the range.
        PREFETCH = 0 "prefetch" "KFD_MIGRATE_TRIGGER_PREFETCH";
        /// The GPU touched pages that were not there.
        PAGEFAULT_GPU = 1 "pagefault_gpu" "KFD_MIGRATE_TRIGGER_PAGEFAULT_GPU";
        /// The CPU touched pages that were on a GPU.
        PAGEFAULT_CPU = 2 "pagefault_cpu" "KFD_MIGRATE_TRIGGER_PAGEFAULT_CPU";
        /// The GPU's memory was needed for something else.
        TTM_EVICTION = 3 "ttm_eviction" "KFD_MIGRATE_TRIGGER_TTM_EVICTION";
    }
}

triggers! {
    /// Why queues are stopped: `enum KFD_QUEUE_EVICTION_TRIGGERS`.
    EvictionTrigger {
        /// A range of shared virtual memory changed under a GPU that cannot retry faults.
        SVM = 0 "svm" "KFD_QUEUE_EVICTION_TRIGGER_SVM";
        /// Memory of the program that the GPU uses changed on the CPU side.
        USERPTR = 1 "userptr" "KFD_QUEUE_EVICTION_TRIGGER_USERPTR";
        /// The GPU's memory was needed for something else.
        TTM = 2 "ttm" "KFD_QUEUE_EVICTION_TRIGGER_TTM";
        /// The system is suspended, or a GPU is reset: every process on every GPU.
        SUSPEND = 3 "suspend" "KFD_QUEUE_EVICTION_TRIGGER_SUSPEND";
        /// A checkpoint of the process is taken.
        CRIU_CHECKPOINT = 4 "criu_checkpoint" "KFD_QUEUE_EVICTION_CRIU_CHECKPOINT";
        /// The process is restored from a checkpoint.
        CRIU_RESTORE = 5 "criu_restore" "KFD_QUEUE_EVICTION_CRIU_RESTORE";
    }
}

triggers! {
    /// Why pages leave a GPU's page table: `enum KFD_SVM_UNMAP_TRIGGERS`.
    UnmapTrigger {
        /// The CPU's page table changed.
        MMU_NOTIFY = 0 "mmu_notify" "KFD_SVM_UNMAP_TRIGGER_MMU_NOTIFY";
        /// A migration changed it: such an unmap falls between the migration's start and end.
        MMU_NOTIFY_MIGRATE = 1 "mmu_notify_migrate" "KFD_SVM_UNMAP_TRIGGER_MMU_NOTIFY_MIGRATE";
        /// The program gave the memory back.
        UNMAP_FROM_CPU = 2 "unmap_from_cpu" "KFD_SVM_UNMAP_TRIGGER_UNMAP_FROM_CPU";
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_count_up_from_zero() {
        assert!(MigrateTrigger::KNOWN.iter().copied().eq((0..4).map(MigrateTrigger)));
        assert!(EvictionTrigger::KNOWN.iter().copied().eq((0..6).map(EvictionTrigger)));
        assert!(UnmapTrigger::KNOWN.iter().copied().eq((0..3).map(UnmapTrigger)));
        assert_eq!(EvictionTrigger(-1).name(), None);
    }
}
