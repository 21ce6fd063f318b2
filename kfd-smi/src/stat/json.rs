//! Statistics as one JSON object: absent rather than null, nanoseconds as strings, maps of what was seen alone.

use std::io::{self, Write};

use kfd_smi_proto::{EventCounts, Histogram, PairCounts};
use serde::{Serialize, Serializer};

use super::{Moved, eviction_triggers, migration_triggers, seen};
use crate::finding::Finding;
use crate::json;
use crate::tally::Tally;

/// So many processes are listed, the busiest.
const MOST_PIDS: usize = 256;

/// Writes it and a newline.
pub(super) fn write(tally: &Tally, out: &mut impl Write) -> io::Result<()> {
    json::write_line(&Report::new(tally), out)
}

#[derive(Debug, Serialize)]
struct Report {
    v: u32,
    lines: u64,
    events: u64,
    malformed: u64,
    unknown: u64,
    forgeable: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    span_ns: Option<String>,
    kinds: Map<u64>,
    gpus: Map<Map<u64>>,
    pids: Map<Map<u64>>,
    migrations: Directions,
    migration_triggers: Map<u64>,
    faults: Faults,
    queues: Queues,
    resets: Vec<Reset>,
    unpaired: Unpaired,
    findings: Vec<Found>,
}

/// In this order.
#[derive(Debug)]
struct Map<V>(Vec<(String, V)>);

impl<V: Serialize> Serialize for Map<V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, value)| (key, value)))
    }
}

#[derive(Debug, Serialize)]
struct Directions {
    host_to_device: Direction,
    device_to_host: Direction,
    other: Direction,
}

#[derive(Debug, Serialize)]
struct Direction {
    count: u64,
    failed: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    min_bytes: Option<u128>,
    #[serde(skip_serializing_if = "Option::is_none")]
    avg_bytes: Option<u128>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_bytes: Option<u128>,
    total_bytes: u128,
    total_ns: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes_per_second: Option<u128>,
}

#[derive(Debug, Serialize)]
struct Faults {
    read: u64,
    write: u64,
    migrated: u64,
    updated: u64,
    duration_ns: Times,
}

#[derive(Debug, Serialize)]
struct Queues {
    evictions: Map<u64>,
    restores: u64,
    rescheduled: u64,
    suspended_ns: Times,
}

#[derive(Debug, Serialize)]
struct Times {
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

#[derive(Debug, Serialize)]
struct Reset {
    #[serde(skip_serializing_if = "Option::is_none")]
    gpu: Option<String>,
    reset_seq: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    cause: Option<String>,
    /// What is not UTF-8, in hexadecimal.
    #[serde(skip_serializing_if = "Option::is_none")]
    cause_hex: Option<String>,
    completed: bool,
}

#[derive(Debug, Serialize)]
struct Unpaired {
    migrate_start: u64,
    migrate_end: u64,
    page_fault_start: u64,
    page_fault_end: u64,
    queue_eviction: u64,
    queue_restore: u64,
    gpu_pre_reset: u64,
    gpu_post_reset: u64,
    process_start: u64,
    process_end: u64,
}

#[derive(Debug, Serialize)]
struct Found {
    rule: &'static str,
    text: String,
    count: u64,
    first_seq: u64,
    last_seq: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    first_ns: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_ns: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    gpu: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pid: Option<i64>,
}

impl Report {
    fn new(tally: &Tally) -> Self {
        let whole = tally.whole();
        let (gpus, other_gpus) = tally.gpus();
        let (mut pids, other_pids, _) = tally.pids(MOST_PIDS);
        pids.sort_by_key(|(pid, _)| *pid);
        let gpus = gpus.into_iter().map(|(gpu, group)| {
            (gpu.map_or_else(|| "unknown".to_owned(), |gpu| gpu.to_string()), &group.counts)
        });
        let pids = pids.into_iter().map(|(pid, group)| (pid.to_string(), &group.counts));
        Self {
            v: 1,
            lines: whole.lines,
            events: whole.events,
            malformed: whole.malformed,
            unknown: whole.kinds.unknown,
            forgeable: whole.forgeable,
            span_ns: whole.span().map(|nanos| nanos.to_string()),
            kinds: counts(whole.kinds.iter()),
            gpus: groups(gpus, &other_gpus.counts),
            pids: groups(pids, &other_pids.counts),
            migrations: Directions {
                host_to_device: Moved::of(tally, |part| &part.host_to_device).into(),
                device_to_host: Moved::of(tally, |part| &part.device_to_host).into(),
                other: Moved::of(tally, |part| &part.other_migrations).into(),
            },
            migration_triggers: counts(migration_triggers(&whole)),
            faults: Faults {
                read: whole.faults.read,
                write: whole.faults.write,
                migrated: whole.faults.migrated,
                updated: whole.faults.updated,
                duration_ns: (&whole.faults.durations).into(),
            },
            queues: Queues {
                evictions: counts(eviction_triggers(&whole)),
                restores: whole.queues.restores,
                rescheduled: whole.queues.rescheduled,
                suspended_ns: (&whole.queues.suspended).into(),
            },
            resets: tally.resets().list().map(Reset::from).collect(),
            unpaired: (&whole.pairs).into(),
            findings: tally.all_findings().into_iter().map(Found::from).collect(),
        }
    }
}

/// Those that there were.
fn counts(counts: impl Iterator<Item = (&'static str, u64)>) -> Map<u64> {
    Map(seen(counts).map(|(name, count)| (name.to_owned(), count)).collect())
}

/// Those that there were, and the rest.
fn groups<'a>(
    groups: impl Iterator<Item = (String, &'a EventCounts)>,
    other: &'a EventCounts,
) -> Map<Map<u64>> {
    let groups = groups.chain([("other".to_owned(), other)]).map(|(key, kinds)| (key, counts(kinds.iter())));
    Map(groups.filter(|(_, kinds)| !kinds.0.is_empty()).collect())
}

impl From<Moved> for Direction {
    fn from(moved: Moved) -> Self {
        Self {
            count: moved.count,
            failed: moved.failed,
            min_bytes: moved.min,
            avg_bytes: moved.average(),
            max_bytes: moved.max,
            total_bytes: moved.total,
            total_ns: moved.nanos.to_string(),
            bytes_per_second: moved.rate(),
        }
    }
}

impl From<&Histogram> for Times {
    fn from(times: &Histogram) -> Self {
        let percentile = |part| times.quantile(part, 100).map(|nanos| nanos.to_string());
        Self {
            count: times.count(),
            p50: percentile(50),
            p90: percentile(90),
            p99: percentile(99),
            max: times.max().map(|nanos| nanos.to_string()),
        }
    }
}

impl From<&crate::finding::Reset> for Reset {
    fn from(reset: &crate::finding::Reset) -> Self {
        let cause = reset.cause.as_deref();
        let text = cause.and_then(|cause| str::from_utf8(cause).ok());
        let hex = cause.filter(|_| text.is_none());
        Self {
            gpu: reset.gpu.map(|gpu| gpu.to_string()),
            reset_seq: reset.reset_seq,
            cause: text.map(str::to_owned),
            cause_hex: hex.map(|cause| cause.iter().map(|byte| format!("{byte:02x}")).collect()),
            completed: reset.completed,
        }
    }
}

impl From<&PairCounts> for Unpaired {
    fn from(pairs: &PairCounts) -> Self {
        Self {
            migrate_start: pairs.migrate.unpaired_starts(),
            migrate_end: pairs.migrate.orphan_ends,
            page_fault_start: pairs.page_fault.unpaired_starts(),
            page_fault_end: pairs.page_fault.orphan_ends,
            queue_eviction: pairs.queue.unpaired_starts(),
            queue_restore: pairs.queue.orphan_ends,
            gpu_pre_reset: pairs.reset.unpaired_starts(),
            gpu_post_reset: pairs.reset.orphan_ends,
            process_start: pairs.process.unpaired_starts(),
            process_end: pairs.process.orphan_ends,
        }
    }
}

impl From<Finding> for Found {
    fn from(finding: Finding) -> Self {
        let seen = finding.seen;
        Self {
            rule: finding.rule.name(),
            text: finding.text,
            count: seen.count,
            first_seq: seen.first_seq,
            last_seq: seen.last_seq,
            first_ns: seen.first_ns.map(|nanos| nanos.to_string()),
            last_ns: seen.last_ns.map(|nanos| nanos.to_string()),
            gpu: finding.gpu.map(|gpu| gpu.to_string()),
            pid: finding.pid,
        }
    }
}
