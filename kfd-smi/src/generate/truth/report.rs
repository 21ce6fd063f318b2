//! The books as JSON, in the form of statistics.

use std::collections::BTreeMap;
use std::io;

use serde::Serialize;

use super::spans::Kind;
use super::{Counts, Direction, Truth};
use crate::generate::truth::durations::Durations;
use crate::json;

/// What a page of the machine that is made up has.
const PAGE_SIZE: u64 = 4096;

#[derive(Serialize)]
struct Report<'a> {
    v: u8,
    lines: u64,
    events: u64,
    malformed: u64,
    unknown: u64,
    forgeable: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    span_ns: Option<String>,
    kinds: &'a Counts,
    gpus: BTreeMap<String, &'a Counts>,
    pids: BTreeMap<String, &'a Counts>,
    migrations: BTreeMap<&'static str, Migrations>,
    migration_triggers: &'a Counts,
    faults: Faults,
    queues: Queues<'a>,
    resets: Vec<Reset<'a>>,
    unpaired: BTreeMap<&'static str, u64>,
    findings: Vec<&'a Finding>,
}

#[derive(Serialize)]
struct Migrations {
    count: u64,
    failed: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    min_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    avg_bytes: Option<u128>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_bytes: Option<u64>,
    total_bytes: u128,
    total_ns: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes_per_second: Option<u128>,
}

#[derive(Serialize)]
struct Faults {
    read: u64,
    write: u64,
    migrated: u64,
    updated: u64,
    duration_ns: Percentiles,
}

#[derive(Serialize)]
struct Queues<'a> {
    evictions: &'a Counts,
    restores: u64,
    rescheduled: u64,
    suspended_ns: Percentiles,
}

#[derive(Serialize)]
struct Percentiles {
    count: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    p50: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    p90: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    p99: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max: Option<String>,
}

#[derive(Serialize)]
struct Reset<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    gpu: Option<String>,
    reset_seq: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    cause: Option<&'a str>,
    completed: bool,
}

/// Something that was done on purpose.
#[derive(Debug, Serialize)]
pub(super) struct Finding {
    rule: &'static str,
    text: &'static str,
    count: u64,
    first_seq: u64,
    last_seq: u64,
}

impl Finding {
    /// What the driver did when its buffer was full.
    pub(super) const LOST: Self =
        Self::new("lost_events", "the driver lost events in front of lines from the first to the last");

    /// What names of tasks did.
    pub(super) const FORGED: Self =
        Self::new("forged_lines", "lines that no event of the driver began, but the name of a task");

    const fn new(rule: &'static str, text: &'static str) -> Self {
        Self { rule, text, count: 0, first_seq: 0, last_seq: 0 }
    }

    /// Counts so many at a line, by its number.
    pub(super) const fn add(&mut self, count: u64, seq: u64) {
        if self.count == 0 {
            self.first_seq = seq;
        }
        self.count += count;
        self.last_seq = seq;
    }
}

impl Truth {
    /// Writes all as one object.
    pub(crate) fn write(&self, out: &mut impl io::Write) -> io::Result<()> {
        let findings = [&self.lost, &self.forged].into_iter().filter(|finding| finding.count > 0);
        let (busiest, other) = self.pids.busiest();
        let mut pids: BTreeMap<_, _> =
            busiest.into_iter().map(|(pid, counts)| (pid.to_string(), counts)).collect();
        if !other.is_empty() {
            pids.insert("other".to_owned(), &other);
        }
        let unpaired = [
            (Kind::Migrate, "migrate_start", "migrate_end"),
            (Kind::PageFault, "page_fault_start", "page_fault_end"),
            (Kind::Queue, "queue_eviction", "queue_restore"),
            (Kind::Reset, "gpu_pre_reset", "gpu_post_reset"),
            (Kind::Process, "process_start", "process_end"),
        ];
        let unpaired = unpaired.into_iter().flat_map(|(kind, start, end)| {
            let unpaired = self.spans.unpaired(kind);
            [(start, unpaired.starts), (end, unpaired.ends)]
        });
        let gpu = |gpu: kfd_smi_proto::GpuId| format!("{:#x}", gpu.0);
        let directions = ["host_to_device", "device_to_host", "other"];
        let report = Report {
            v: 1,
            lines: self.lines,
            events: self.events,
            malformed: self.malformed,
            unknown: self.unknown,
            forgeable: self.forgeable,
            span_ns: self.times.map(|(first, last)| (last - first).to_string()),
            kinds: &self.kinds,
            gpus: self
                .gpus
                .iter()
                .map(|(id, counts)| (id.map_or_else(|| "unknown".to_owned(), gpu), counts))
                .collect(),
            pids,
            migrations: directions.into_iter().zip(self.migrations.iter().map(Migrations::from)).collect(),
            migration_triggers: &self.triggers,
            faults: Faults {
                read: self.read,
                write: self.write,
                migrated: self.migrated,
                updated: self.updated,
                duration_ns: Percentiles::from(&self.handled),
            },
            queues: Queues {
                evictions: &self.evictions,
                restores: self.restores,
                rescheduled: self.rescheduled,
                suspended_ns: Percentiles::from(&self.suspended),
            },
            resets: self
                .resets
                .iter()
                .map(|reset| Reset {
                    gpu: reset.gpu.map(gpu),
                    reset_seq: reset.reset_seq,
                    cause: reset.cause.as_deref(),
                    completed: reset.completed,
                })
                .collect(),
            unpaired: unpaired.collect(),
            findings: findings.collect(),
        };
        json::write_line(&report, out)
    }
}

impl From<&Direction> for Migrations {
    fn from(direction: &Direction) -> Self {
        let Direction { count, failed, min_pages, max_pages, pages, nanos } = *direction;
        let total_bytes = pages * u128::from(PAGE_SIZE);
        Self {
            count,
            failed,
            min_bytes: min_pages.map(|pages| pages * PAGE_SIZE),
            avg_bytes: total_bytes.checked_div(count.into()),
            max_bytes: max_pages.map(|pages| pages * PAGE_SIZE),
            total_bytes,
            total_ns: nanos.to_string(),
            bytes_per_second: (total_bytes * 1_000_000_000).checked_div(nanos),
        }
    }
}

impl From<&Durations> for Percentiles {
    fn from(durations: &Durations) -> Self {
        let text = |nanos: Option<u64>| nanos.map(|nanos| nanos.to_string());
        let [p50, p90, p99] = durations.percentiles([50, 90, 99]).map(text);
        Self { count: durations.count, p50, p90, p99, max: text(durations.max) }
    }
}
