//! Statistics as tables for people, 100 columns wide at the most.

use std::io::{self, Write};

use anstyle::{AnsiColor, Style};
use comfy_table::{CellAlignment, Table, presets};
use kfd_smi_proto::{Escaped, Histogram, Statistics};

use super::{Moved, eviction_triggers, migration_triggers, seen};
use crate::amount::{Bytes, Count, Nanos, Rate};
use crate::cli::By;
use crate::finding::Rule;
use crate::tally::{Group, Tally};

/// So many processes are shown, the busiest.
const MOST_PIDS: usize = 20;

/// So many GPUs are shown.
const MOST_GPUS: usize = 64;

/// So many resets are shown, the last ones.
const MOST_RESETS: usize = 16;

/// How wide a sentence can be.
const WIDTH: usize = 98;

/// How wide a name can be.
const MOST_NAME: usize = 20;

/// Writes the tables of these, or all if there are none, and what stands out.
pub(super) fn write(tally: &Tally, by: &[By], colored: bool, out: &mut impl Write) -> io::Result<()> {
    let whole = tally.whole();
    let shows = |what| by.is_empty() || by.contains(&what);
    lines(tally, &whole, out)?;
    if shows(By::Event) {
        events(&whole, out)?;
    }
    if shows(By::Gpu) {
        gpus(tally, out)?;
    }
    if shows(By::Pid) {
        processes(tally, out)?;
    }
    migrations(tally, &whole, out)?;
    faults_and_queues(&whole, out)?;
    resets(tally, out)?;
    losses(tally, &whole, out)?;
    findings(tally, colored, out)
}

fn lines(tally: &Tally, whole: &Statistics, out: &mut impl Write) -> io::Result<()> {
    let Statistics { lines, events, malformed, forgeable, .. } = whole;
    write!(out, "{}: {}, {malformed} malformed", Count(*lines, "line"), Count(*events, "event"))?;
    if *forgeable > 0 {
        write!(out, ", {forgeable} could be forged")?;
    }
    match tally.span() {
        Some(span) => writeln!(out, "; {} from first to last", Nanos(span.into())),
        None => writeln!(out),
    }
}

fn events(whole: &Statistics, out: &mut impl Write) -> io::Result<()> {
    let mut table = Columns::new(&["event", "count"], 1);
    for (name, count) in seen(whole.kinds.iter()) {
        table.row([name.to_owned(), count.to_string()]);
    }
    table.print(out)
}

/// What the tables of GPUs and of processes both have.
const GROUP: [&str; 8] =
    ["events", "to device", "to host", "faults", "evictions", "suspended", "resets", "vmfaults"];

fn group(group: &Group) -> [String; 8] {
    let count = |name| group.counts.of(name);
    let some = |count: u64| if count > 0 { count.to_string() } else { "-".to_owned() };
    let bytes = |bytes| if bytes > 0 { format!("{:.1}", Bytes(bytes)) } else { "-".to_owned() };
    [
        group.events().to_string(),
        bytes(group.to_device),
        bytes(group.to_host),
        some(count("page_fault_start")),
        some(count("queue_eviction")),
        if group.suspended > 0 { Nanos(group.suspended).to_string() } else { "-".to_owned() },
        some(count("gpu_pre_reset")),
        some(count("vmfault")),
    ]
}

fn gpus(tally: &Tally, out: &mut impl Write) -> io::Result<()> {
    let (gpus, other) = tally.gpus();
    let mut table = Columns::new(&[&["gpu"], &GROUP[..]].concat(), 1);
    let more = gpus.len().saturating_sub(MOST_GPUS);
    for (gpu, one) in gpus.into_iter().take(MOST_GPUS) {
        let gpu = gpu.map_or_else(|| "unknown".to_owned(), |gpu| gpu.to_string());
        table.row([vec![gpu], group(one).to_vec()].concat());
    }
    if other.events() > 0 {
        table.row([vec!["other".to_owned()], group(other).to_vec()].concat());
    }
    table.print(out)?;
    if more > 0 {
        writeln!(out, "and {} more", Count(more as u64, "GPU"))?;
    }
    Ok(())
}

fn processes(tally: &Tally, out: &mut impl Write) -> io::Result<()> {
    let (pids, other, more) = tally.pids(MOST_PIDS);
    let mut table = Columns::new(&[&["pid", "name"], &GROUP[..6], &GROUP[7..]].concat(), 2);
    let columns = |one: &Group| {
        let mut columns = group(one).to_vec();
        // A reset has no process.
        columns.remove(6);
        columns
    };
    let mut started = other.processes;
    for (pid, one) in pids {
        started += one.processes;
        let name = one.name.as_deref().map_or_else(|| "-".to_owned(), name);
        table.row([vec![pid.to_string(), name], columns(one)].concat());
    }
    if other.events() > 0 {
        table.row([vec!["other".to_owned(), format!("({more} or more)")], columns(&other)].concat());
    }
    table.print(out)?;
    if started > 0 {
        let processes = if started == 1 { "process" } else { "processes" };
        let once = "each counted once for all GPUs that it uses at a time";
        writeln!(out, "{started} {processes} began to use GPUs, {once}")?;
    }
    Ok(())
}

/// A name, cut to fit.
fn name(name: &[u8]) -> String {
    let shown = Escaped(name).to_string();
    if shown.len() <= MOST_NAME { shown } else { format!("{}...", &shown[..MOST_NAME - 3]) }
}

fn migrations(tally: &Tally, whole: &Statistics, out: &mut impl Write) -> io::Result<()> {
    let directions = [
        ("host to device", Moved::of(tally, |part| &part.host_to_device)),
        ("device to host", Moved::of(tally, |part| &part.device_to_host)),
        ("other", Moved::of(tally, |part| &part.other_migrations)),
    ];
    let mut table =
        Columns::new(&["migrations", "count", "failed", "avg", "min", "max", "total", "time", "GB/s"], 1);
    for (name, moved) in directions.iter().filter(|(_, moved)| moved.count + moved.failed > 0) {
        let bytes =
            |bytes: Option<u128>| bytes.map_or_else(|| "-".to_owned(), |bytes| Bytes(bytes).to_string());
        table.row([
            (*name).to_owned(),
            moved.count.to_string(),
            moved.failed.to_string(),
            bytes(moved.average()),
            bytes(moved.min),
            bytes(moved.max),
            Bytes(moved.total).to_string(),
            Nanos(moved.nanos).to_string(),
            moved.rate().map_or_else(|| "-".to_owned(), |rate| Rate(rate).to_string()),
        ]);
    }
    table.print(out)?;
    list("migrations by trigger", migration_triggers(whole), out)
}

/// One line of those that there were.
fn list(
    what: &str,
    counts: impl IntoIterator<Item = (&'static str, u64)>,
    out: &mut impl Write,
) -> io::Result<()> {
    let seen: Vec<_> = seen(counts).map(|(name, count)| format!("{name} {count}")).collect();
    if seen.is_empty() { Ok(()) } else { writeln!(out, "{what}: {}", seen.join(", ")) }
}

fn faults_and_queues(whole: &Statistics, out: &mut impl Write) -> io::Result<()> {
    let mut table = Columns::new(&["time", "count", "p50", "p90", "p99", "max"], 1);
    for (name, times) in [("page fault", &whole.faults.durations), ("suspension", &whole.queues.suspended)] {
        if times.count() > 0 {
            table.row([vec![name.to_owned(), times.count().to_string()], percentiles(times)].concat());
        }
    }
    table.print(out)?;
    let faults = &whole.faults;
    list(
        "page faults",
        [
            ("read", faults.read),
            ("write", faults.write),
            ("migrated", faults.migrated),
            ("updated", faults.updated),
            ("retried", whole.pairs.page_fault.merged),
        ],
        out,
    )?;
    list("evictions by trigger", eviction_triggers(whole), out)?;
    list("restores", [("done", whole.queues.restores), ("put off", whole.queues.rescheduled)], out)
}

fn percentiles(times: &Histogram) -> Vec<String> {
    let shown =
        |nanos: Option<u64>| nanos.map_or_else(|| "-".to_owned(), |nanos| Nanos(nanos.into()).to_string());
    let percentiles = [50, 90, 99].map(|part| shown(times.quantile(part, 100)));
    [percentiles.to_vec(), vec![shown(times.max())]].concat()
}

fn resets(tally: &Tally, out: &mut impl Write) -> io::Result<()> {
    let all: Vec<_> = tally.resets().list().collect();
    let mut table = Columns::new(&["reset", "gpu", "completed", "cause"], 4);
    for reset in &all[all.len().saturating_sub(MOST_RESETS)..] {
        let cause = reset.cause.as_deref().unwrap_or_default();
        let mut cause = Escaped(cause).to_string();
        cause.truncate(64);
        table.row([
            reset.reset_seq.to_string(),
            reset.gpu.map_or_else(|| "unknown".to_owned(), |gpu| gpu.to_string()),
            if reset.completed { "yes" } else { "no" }.to_owned(),
            if cause.is_empty() { "-".to_owned() } else { cause },
        ]);
    }
    table.print(out)
}

/// What tells that events are missing. The kernel does not say how many.
fn losses(tally: &Tally, whole: &Statistics, out: &mut impl Write) -> io::Result<()> {
    let pairs = &whole.pairs;
    let mut table = Columns::new(&["unpaired", "starts", "ends"], 1);
    for (name, pair) in [
        ("migrate", pairs.migrate),
        ("page_fault", pairs.page_fault),
        ("queue", pairs.queue),
        ("reset", pairs.reset),
        ("process", pairs.process),
    ] {
        if pair.unpaired_starts() + pair.orphan_ends > 0 {
            table.row([name.to_owned(), pair.unpaired_starts().to_string(), pair.orphan_ends.to_string()]);
        }
    }
    table.print(out)?;
    let evidence = tally.evidence();
    for (count, unit, what) in [
        (evidence.lost, "record", "missing: the recorder had no room"),
        (evidence.full, "time", "the buffer of the driver was full: events may be missing there"),
        (evidence.ended, "GPU", "watched no more before the end"),
        (evidence.restarts, "time", "the recording began again in the same boot"),
        (evidence.boots, "time", "another boot followed"),
        (evidence.malformed, "line", "in captures that are no records"),
    ] {
        if count > 0 {
            writeln!(out, "{} {what}", Count(count, unit))?;
        }
    }
    Ok(())
}

fn findings(tally: &Tally, colored: bool, out: &mut impl Write) -> io::Result<()> {
    let findings = tally.all_findings();
    if !findings.is_empty() {
        writeln!(out, "\nfindings")?;
    }
    for finding in findings {
        let style = match finding.rule {
            _ if !colored => Style::new(),
            Rule::GpuReset | Rule::VmFault | Rule::FailedMigrations => AnsiColor::Red.on_default().bold(),
            _ => AnsiColor::Yellow.on_default(),
        };
        let (seen, rule) = (&finding.seen, finding.rule.name());
        let lines = if seen.first_seq == seen.last_seq {
            format!("(line {})", seen.first_seq)
        } else {
            format!("(lines {} to {})", seen.first_seq, seen.last_seq)
        };
        write!(out, "{style}{rule}{style:#}:")?;
        let mut width = rule.len() + 1;
        for word in finding.text.split(' ').chain([&lines[..]]) {
            if width + 1 + word.len() > WIDTH {
                write!(out, "\n   ")?;
                width = 3;
            }
            write!(out, " {word}")?;
            width += 1 + word.len();
        }
        writeln!(out)?;
        for line in finding.context {
            writeln!(out, "    | {line}")?;
        }
    }
    Ok(())
}

/// A table whose first columns are texts and the others numbers.
struct Columns {
    table: Table,
    texts: usize,
}

impl Columns {
    fn new(header: &[&str], texts: usize) -> Self {
        let mut table = Table::new();
        table.load_preset(presets::NOTHING);
        table.set_header(header);
        Self { table, texts }
    }

    fn row(&mut self, row: impl IntoIterator<Item = String>) {
        self.table.add_row(row.into_iter().collect::<Vec<_>>());
    }

    /// Prints it with an empty line before, unless it has no rows.
    fn print(mut self, out: &mut impl Write) -> io::Result<()> {
        if self.table.is_empty() {
            return Ok(());
        }
        self.space(2);
        if self.table.lines().any(|line| line.trim_end().len() > WIDTH) {
            self.space(1);
        }
        writeln!(out)?;
        for line in self.table.lines() {
            writeln!(out, "{}", line.trim_end())?;
        }
        Ok(())
    }

    /// Sets so many blanks between columns.
    fn space(&mut self, blanks: u16) {
        for (number, column) in self.table.column_iter_mut().enumerate() {
            if number >= self.texts {
                column.set_cell_alignment(CellAlignment::Right);
            }
            column.set_padding((0, blanks));
        }
    }
}
