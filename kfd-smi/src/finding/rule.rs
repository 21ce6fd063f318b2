//! What each rule is called, and from which number on it finds something: [`Rule`].

use std::fmt::Write as _;

/// A kind of finding, what matters most first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Rule {
    GpuReset,
    VmFault,
    ThermalThrottle,
    FailedMigrations,
    FaultRetries,
    FaultStorm,
    MigrationPingPong,
    EvictionChurn,
    Suspension,
    LostEvents,
    ForgeableLines,
}

impl Rule {
    pub(crate) const ALL: [Self; 11] = [
        Self::GpuReset,
        Self::VmFault,
        Self::ThermalThrottle,
        Self::FailedMigrations,
        Self::FaultRetries,
        Self::FaultStorm,
        Self::MigrationPingPong,
        Self::EvictionChurn,
        Self::Suspension,
        Self::LostEvents,
        Self::ForgeableLines,
    ];

    pub(crate) const fn name(self) -> &'static str {
        self.all().0
    }

    /// From which number on it finds something, unless the user says otherwise.
    pub(crate) const fn threshold(self) -> u64 {
        self.all().1
    }

    /// Its name, its number, and what the number counts.
    const fn all(self) -> (&'static str, u64, &'static str) {
        match self {
            Self::GpuReset => ("gpu_reset", 1, "resets; each is shown with the lines before it"),
            Self::VmFault => ("vmfault", 1, "VM faults of a thread"),
            Self::ThermalThrottle => ("thermal_throttle", 1, "throttle events of a GPU"),
            Self::FailedMigrations => ("failed_migrations", 1, "migrations of a process that failed"),
            Self::FaultRetries => ("fault_retries", 10, "retries of one page fault without an end"),
            Self::FaultStorm => ("fault_storm", 20, "faults of one page, each handled"),
            Self::MigrationPingPong => ("migration_ping_pong", 10, "times that one range turned back"),
            Self::EvictionChurn => ("eviction_churn", 10, "evictions of a process from a GPU in a second"),
            Self::Suspension => ("suspension", 50, "percent of the time that queues were suspended"),
            Self::LostEvents => ("lost_events", 1, "signs that events are missing"),
            Self::ForgeableLines => ("forgeable_lines", 1, "lines that a process could have forged"),
        }
    }
}

/// What the user said of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Threshold {
    pub(crate) rule: Rule,
    pub(crate) from: u64,
}

impl Threshold {
    /// Reads `eviction_churn=100`.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let (name, number) = text.split_once('=').unwrap_or((text, ""));
        let rule = Rule::ALL.into_iter().find(|rule| rule.name() == name).ok_or_else(|| {
            let names: Vec<_> = Rule::ALL.iter().map(|rule| rule.name()).collect();
            format!("expected a rule: {}", names.join(", "))
        })?;
        let from = number.parse().ok().filter(|from| *from > 0);
        let from =
            from.ok_or_else(|| format!("expected a number above 0, as in {name}={}", rule.threshold()))?;
        Ok(Self { rule, from })
    }
}

/// The rules, for the end of a help text.
pub(crate) fn help() -> String {
    let mut help = "Rules, from which number on they find something, and of what:\n".to_owned();
    for rule in Rule::ALL {
        let (name, from, what) = rule.all();
        // Writing to a string does not fail.
        _ = writeln!(help, "  {:<24} {what}", format!("{name}={from}"));
    }
    help
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_stand_in_their_order_and_thresholds_are_read() {
        assert!(Rule::ALL.is_sorted());
        assert_eq!(Threshold::parse("suspension=5"), Ok(Threshold { rule: Rule::Suspension, from: 5 }));
        for wrong in ["suspension", "suspension=", "suspension=0", "suspension=-1", "=5", "x=5", ""] {
            assert!(Threshold::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_page_of_the_rules_has_them_all() {
        let page = include_str!("../finding.rs");
        for rule in Rule::ALL {
            let row = page.lines().find(|line| line.starts_with(&format!("//! | `{}` |", rule.name())));
            assert!(
                row.is_some_and(|row| row.ends_with(&format!("| {} |", rule.threshold()))),
                "{}",
                rule.name()
            );
        }
    }
}
