//! What `kfd-smi generate` says is true of its logs, against what `kfd-smi stat` and the library make of the same logs.

use std::collections::BTreeMap;
use std::fs;

use kfd_smi_io::capture::{Entry, Log};
use kfd_smi_proto::{
    Event, GpuId, Histogram, Migrations, PageSize, PairCount, Paired, Pairer, SpanKind, Statistics,
};
use serde_json::{Map, Value, json};

use crate::folder::Folder;
use crate::generate::combinations;
use crate::run::{Ran, command};

/// A log and its truth.
fn made(args: &[&str]) -> (Vec<u8>, Value) {
    let folder = Folder::new();
    let path = folder.file("truth");
    let args = [&["generate", "--truth", &path], args].concat();
    let ran: Ran = command(&args).output().unwrap().into();
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""), "{args:?}");
    let truth = fs::read(path).unwrap();
    (ran.stdout, serde_json::from_slice(&truth).unwrap())
}

type Counts = BTreeMap<String, BTreeMap<&'static str, u64>>;

/// What cannot be had from [`Statistics`] alone.
#[derive(Default)]
struct Extra {
    gpus: Counts,
    pids: Counts,
    resets: Vec<(Option<GpuId>, Value)>,
}

/// What the library makes of a log, in the form of `kfd-smi stat --format json`.
fn understood(log: &[u8]) -> Value {
    let mut pairer = Box::new(Pairer::<1024>::new());
    let mut statistics = Box::new(Statistics::new());
    let mut extra = Extra::default();
    let mut log = Log::detect(log).unwrap();
    while let Some(entry) = log.next_entry().unwrap() {
        let Entry::Record(record) = entry else {
            assert!(!matches!(entry, Entry::Malformed(_)), "{entry:?}");
            continue;
        };
        statistics.line(&record.line);
        let Ok(event) = record.line.event else { continue };
        let gpu = record.gpu.or_else(|| event.gpu());
        let gpu = gpu.map_or_else(|| "unknown".to_owned(), |gpu| format!("{:#x}", gpu.0));
        *extra.gpus.entry(gpu).or_default().entry(event.name()).or_default() += 1;
        if let Some(pid) = event.pid() {
            *extra.pids.entry(pid.as_unsigned().to_string()).or_default().entry(event.name()).or_default() +=
                1;
        }
        if let Event::GpuPreReset(reset) = event {
            let mut listed = json!({"reset_seq": reset.reset_seq, "completed": false});
            if let Some(gpu) = record.gpu {
                listed["gpu"] = json!(format!("{:#x}", gpu.0));
            }
            if let Some(cause) = reset.cause {
                listed["cause"] = json!(String::from_utf8(cause.as_bytes().to_vec()).unwrap());
            }
            extra.resets.push((record.gpu, listed));
        }
        pairer.pair(&record.line, record.gpu, record.arrival, |paired| {
            statistics.paired(&paired);
            if let (Paired::Interval(_), Event::GpuPostReset(post)) = (paired, event) {
                let is_it = |(gpu, reset): &&mut (Option<GpuId>, Value)| {
                    *gpu == record.gpu && reset["reset_seq"] == post.reset_seq
                };
                extra.resets.iter_mut().rev().find(is_it).unwrap().1["completed"] = json!(true);
            }
        });
    }
    let forgotten = extra.resets.len().saturating_sub(256);
    extra.resets.drain(..forgotten);
    value(&statistics, &pairer, extra)
}

fn value(statistics: &Statistics, pairer: &Pairer, extra: Extra) -> Value {
    let mut unpaired = Map::new();
    for (kind, count, start, end) in [
        (SpanKind::Migrate, &statistics.pairs.migrate, "migrate_start", "migrate_end"),
        (SpanKind::PageFault, &statistics.pairs.page_fault, "page_fault_start", "page_fault_end"),
        (SpanKind::Queue, &statistics.pairs.queue, "queue_eviction", "queue_restore"),
        (SpanKind::Reset, &statistics.pairs.reset, "gpu_pre_reset", "gpu_post_reset"),
        (SpanKind::Process, &statistics.pairs.process, "process_start", "process_end"),
    ] {
        let count: &PairCount = count;
        let open = pairer.open().filter(|span| span.activity.kind() == kind).count() as u64;
        unpaired.insert(start.to_owned(), json!(count.abandoned() + open));
        unpaired.insert(end.to_owned(), json!(count.orphan_ends));
        assert_eq!(count.pushed_out, 0, "the pairer had too little room for {kind:?}");
    }
    let kinds: BTreeMap<_, _> = statistics.kinds.iter().collect();
    let triggers: BTreeMap<_, _> = statistics
        .migration_triggers()
        .map(|(trigger, count)| (trigger.and_then(|trigger| trigger.name()).unwrap_or("other"), count))
        .collect();
    let evictions: BTreeMap<_, _> = statistics
        .queues
        .evictions()
        .map(|(trigger, count)| (trigger.and_then(|trigger| trigger.name()).unwrap_or("other"), count))
        .collect();
    let mut value = json!({
        "v": 1,
        "lines": statistics.lines,
        "events": statistics.events,
        "malformed": statistics.malformed,
        "unknown": statistics.kinds.unknown,
        "forgeable": statistics.forgeable,
        "kinds": kinds,
        "gpus": extra.gpus,
        "pids": extra.pids,
        "migrations": {
            "host_to_device": migrations(&statistics.host_to_device),
            "device_to_host": migrations(&statistics.device_to_host),
            "other": migrations(&statistics.other_migrations),
        },
        "migration_triggers": triggers,
        "faults": {
            "read": statistics.faults.read,
            "write": statistics.faults.write,
            "migrated": statistics.faults.migrated,
            "updated": statistics.faults.updated,
            "duration_ns": percentiles(&statistics.faults.durations),
        },
        "queues": {
            "evictions": evictions,
            "restores": statistics.queues.restores,
            "rescheduled": statistics.queues.rescheduled,
            "suspended_ns": percentiles(&statistics.queues.suspended),
        },
        "resets": extra.resets.into_iter().map(|(_, reset)| reset).collect::<Vec<_>>(),
        "unpaired": unpaired,
        "findings": [],
    });
    if let Some(span) = statistics.span() {
        value["span_ns"] = json!(span.to_string());
    }
    value
}

fn migrations(of: &Migrations) -> Value {
    let size = PageSize::FOUR_KIB;
    let total = of.total_pages as u64 * size.bytes();
    let mut value = json!({
        "count": of.count,
        "failed": of.failed,
        "total_bytes": total,
        "total_ns": of.total_nanos.to_string(),
    });
    if let (Some(min), Some(max)) = (of.min_pages, of.max_pages) {
        value["min_bytes"] = json!(min.size(size));
        value["max_bytes"] = json!(max.size(size));
        value["avg_bytes"] = json!(total / of.count);
    }
    if let Some(speed) = (u128::from(total) * 1_000_000_000).checked_div(of.total_nanos) {
        value["bytes_per_second"] = json!(speed as u64);
    }
    value
}

fn percentiles(of: &Histogram) -> Value {
    let mut value = json!({"count": of.count()});
    for (name, part) in [("p50", 50), ("p90", 90), ("p99", 99)] {
        if let Some(nanos) = of.quantile(part, 100) {
            value[name] = json!(nanos.to_string());
        }
    }
    if let Some(max) = of.max() {
        value["max"] = json!(max.to_string());
    }
    value
}

/// The events of all processes together, where some are not listed: of equally busy ones it could be any.
fn of_all(pids: &Value) -> BTreeMap<&str, u64> {
    let mut all = BTreeMap::new();
    for (name, count) in pids.as_object().unwrap().values().flat_map(|pid| pid.as_object().unwrap()) {
        *all.entry(name.as_str()).or_default() += count.as_u64().unwrap();
    }
    all
}

/// What differs of two statistics. The rules of findings are not those of the truth.
fn differences_of(what: &str, truth: &Value, said: &Value, wrong: &mut Vec<String>) {
    let (mut truth, mut said) = (truth.clone(), said.clone());
    for value in [&mut truth, &mut said] {
        value.as_object_mut().unwrap().remove("findings").unwrap();
    }
    if truth["pids"].get("other").is_some() {
        let all = [&mut truth, &mut said].map(|value| value.as_object_mut().unwrap().remove("pids").unwrap());
        if of_all(&all[0]) != of_all(&all[1]) {
            wrong.push(format!("{what}.pids: the sums differ"));
        }
    }
    differences(what, &truth, &said, wrong);
}

/// Counts of 0 may be absent, percentiles be off by one in a hundred.
fn differences(path: &str, truth: &Value, said: &Value, wrong: &mut Vec<String>) {
    let is_none = |value: &Value| value.is_null() || *value == json!(0);
    match (truth, said) {
        (Value::Object(truth), Value::Object(said)) => {
            let none = Value::Null;
            let mut keys: Vec<_> = truth.keys().chain(said.keys()).collect();
            keys.sort();
            keys.dedup();
            for key in keys {
                let (truth, said) = (truth.get(key).unwrap_or(&none), said.get(key).unwrap_or(&none));
                differences(&format!("{path}.{key}"), truth, said, wrong);
            }
        }
        (Value::String(exact), Value::String(about))
            if [".p50", ".p90", ".p99"].iter().any(|end| path.ends_with(end)) =>
        {
            let number = |text: &String| text.parse::<u64>().unwrap();
            let (exact, about) = (number(exact), number(about));
            if exact.abs_diff(about) > exact / 100 {
                wrong.push(format!("{path}: {exact} is true, {about} is more than 1 % off"));
            }
        }
        _ if truth == said || is_none(truth) && is_none(said) => {}
        _ => wrong.push(format!("{path}: {truth} is true, not {said}")),
    }
}

/// What `kfd-smi stat` says of a log.
fn said(log: &[u8]) -> Value {
    let ran = Folder::with(&[("log", log)]).run(&["stat", "--format", "json", "log"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    serde_json::from_slice(&ran.stdout).unwrap()
}

/// Compares what the library and what `stat` find with what is true.
fn compare(args: &[&str], wrong: &mut Vec<String>) {
    let (log, truth) = made(args);
    let args = args.join(" ");
    differences_of(&format!("library {args}"), &truth, &understood(&log), wrong);
    differences_of(&format!("stat {args}"), &truth, &said(&log), wrong);
}

/// Every scenario on every kernel in both formats, with many seeds.
#[test]
fn what_is_true_is_found() {
    let mut wrong = vec![];
    let mut compared = 0;
    for (kernel, scenario) in combinations() {
        for (seed, format) in [("1", "raw"), ("2", "capture"), ("3", "raw"), ("4", "capture")] {
            let args = ["--kernel", kernel, "--scenario", scenario, "--format", format, "--seed", seed];
            compare(&[&args[..], &["--events", "2000"]].concat(), &mut wrong);
            compared += 1;
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(compared >= 300, "only {compared} were compared");
}

/// Long enough for what was not ended to be given up.
#[test]
fn what_is_true_of_long_logs_is_found() {
    let mut wrong = vec![];
    for args in [
        "--kernel 6.0 --scenario faults --processes 2 --format raw",
        "--kernel 6.0 --scenario faults,churn --format raw",
        "--kernel 6.12 --scenario faults,churn,reset --format capture",
        "--kernel 6.13 --scenario overflow,churn --format raw",
        "--kernel 6.16 --scenario overflow --format capture",
        "--kernel 6.12 --format capture",
        "--kernel 6.19 --format capture --gpus 3",
        "--kernel 6.19 --format raw --processes 12",
    ] {
        compare(&args.split(' ').chain(["--events", "60000"]).collect::<Vec<_>>(), &mut wrong);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The comparison sees every number that is wrong.
#[test]
fn a_wrong_number_is_noticed() {
    let (log, truth) = made(&["--seed", "5", "--events", "3000"]);
    let said = understood(&log);
    fn numbers(path: &str, value: &Value, found: &mut Vec<String>) {
        match value {
            Value::Object(object) => {
                object.iter().for_each(|(key, value)| numbers(&format!("{path}/{key}"), value, found));
            }
            Value::Number(_) | Value::String(_) | Value::Bool(_) => found.push(path.to_owned()),
            _ => {}
        }
    }
    let mut found = vec![];
    numbers("", &said, &mut found);
    assert!(found.len() > 60, "{found:?}");
    for pointer in found {
        let mut other = said.clone();
        let place = other.pointer_mut(&pointer).unwrap();
        *place = match place.as_str().map(|text| text.parse::<u64>().unwrap()) {
            Some(number) => json!((number + number / 50 + 1).to_string()),
            None => json!(place.as_u64().unwrap() + 1),
        };
        let mut wrong = vec![];
        differences_of("", &truth, &other, &mut wrong);
        assert_eq!(wrong.len(), 1, "{pointer}: {wrong:?}");
    }
}
