//! What can be made up: [`Scenario`].

use clap::ValueEnum;

use super::kernel::Kernel;
use super::plan::Plan;
use super::world::Task;

pub(crate) mod churn;
pub(crate) mod faults;
pub(crate) mod hostile;
pub(crate) mod overflow;
pub(crate) mod reset;
pub(crate) mod thrash;
pub(crate) mod throttle;
pub(crate) mod vmfault;

/// What goes on on the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Scenario {
    /// Pages that move to the GPUs and back: by faults, or by prefetching where GPUs cannot retry faults (Linux 6.0).
    Faults,
    /// One range that goes to and fro, and storms of faults on it (Linux 6.0).
    Thrash,
    /// Queues that are evicted and restored, nested and put off (Linux 6.0).
    Churn,
    /// GPUs that are reset, some of them in vain (Linux 5.10).
    Reset,
    /// GPUs that are too hot (Linux 5.10).
    Throttle,
    /// Processes that end by VM faults.
    Vmfault,
    /// More events than the kernel's buffer holds while nobody reads it: the rest is lost.
    Overflow,
    /// Names of tasks that forge lines or harm terminals.
    Hostile,
    /// All of them that the kernel knows.
    Mixed,
}

impl Scenario {
    const SINGLE: [Self; 8] = [
        Self::Faults,
        Self::Thrash,
        Self::Churn,
        Self::Reset,
        Self::Throttle,
        Self::Vmfault,
        Self::Overflow,
        Self::Hostile,
    ];

    /// The kernel it needs.
    pub(crate) const fn since(self) -> Kernel {
        match self {
            Self::Faults | Self::Thrash | Self::Churn => Kernel::V6_0,
            Self::Reset | Self::Throttle => Kernel::V5_10,
            Self::Vmfault | Self::Overflow | Self::Hostile | Self::Mixed => Kernel::V5_8,
        }
    }

    /// Those that were chosen, each once and none of them mixed.
    pub(crate) fn chosen(wanted: &[Self], kernel: Kernel) -> Vec<Self> {
        let all = wanted.contains(&Self::Mixed);
        let is_chosen = |one: &Self| if all { one.since() <= kernel } else { wanted.contains(one) };
        Self::SINGLE.into_iter().filter(is_chosen).collect()
    }

    /// Whether it needs processes.
    pub(crate) const fn has_tasks(self) -> bool {
        !matches!(self, Self::Throttle)
    }

    /// What a process does once in a phase of this scenario; whether it survives that.
    pub(crate) fn operate(self, plan: &mut Plan<'_>, task: &mut Task) -> bool {
        match self {
            Self::Faults => faults::operate(plan, task),
            Self::Thrash => thrash::operate(plan, task),
            Self::Churn => return churn::operate(plan, task),
            Self::Vmfault => return vmfault::operate(plan, task),
            Self::Overflow => overflow::operate(plan, task),
            Self::Hostile => hostile::operate(plan, task),
            // Its processes are there to be evicted; for the other two, there are none.
            Self::Reset | Self::Throttle | Self::Mixed => plan.pause(20_000_000, 200_000_000),
        }
        true
    }

    /// How many times a process does so in one phase, at least and at most.
    pub(crate) const fn operations(self) -> (u64, u64) {
        match self {
            Self::Faults => (10, 40),
            Self::Churn => (2, 8),
            Self::Thrash | Self::Overflow | Self::Vmfault | Self::Reset | Self::Throttle | Self::Mixed => {
                (1, 2)
            }
            Self::Hostile => (2, 6),
        }
    }
}
