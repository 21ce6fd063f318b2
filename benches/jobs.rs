//! What several threads are worth to `kfd-smi replay`: the CPU time of each, on a capture of 100 MB.
//!
//! Two processors that share a core are each slower while the other works. How much that is here is measured too, by two
//! commands of one thread each that know nothing of one another: nothing that has two threads can do better.
//!
//! The times are those that the kernel keeps for each thread; they are looked at while the command runs, some hundred times a
//! second, so the last few milliseconds are missing. `cargo bench -p benches --bench jobs` takes a minute.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufWriter, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio, exit};
use std::time::Duration;
use std::{env, thread};

use kfd_smi_testkit::speed::realistic;

/// Bytes of lines.
const SIZE: usize = 100 << 20;
const ROUNDS: usize = 5;

fn main() {
    let is_test = env::args().any(|argument| argument == "--test");
    let (size, rounds) = if is_test { (1 << 20, 1) } else { (SIZE, ROUNDS) };
    let build = Command::new(env!("CARGO")).args(["build", "-q", "--release", "-p", "kfd-smi"]).status();
    if !build.is_ok_and(|status| status.success()) {
        eprintln!("the command was not built");
        exit(1);
    }
    let deps = env::current_exe().expect("this program has a path");
    let command =
        deps.parent().and_then(Path::parent).expect("it is in a folder of a folder").join("kfd-smi");
    let capture = tempfile::NamedTempFile::new().expect("a file in the folder for temporary files");
    write_capture(capture.as_file(), size).expect("there is room for the capture");

    println!("replay of a capture, {size} bytes of lines; CPU time in ms, medians of {rounds} rounds");
    println!("{:<8} {:>6} {:>9} {:>9} {:>9} {:>9}", "format", "", "slowest", "sum", "faster", "sum/one");
    for format in ["json", "human", "csv"] {
        let mut ratios = vec![];
        let mut last = [[0.0; 2]; 2];
        for _ in 0..rounds {
            let replay = |jobs| spawn(&command, capture.path(), format, jobs);
            last = [1, 2].map(|jobs| cpu_times(replay(jobs)));
            let [[one, one_sum], [two, two_sum]] = last;
            let mut other = replay(1);
            let [beside, _] = cpu_times(replay(1));
            other.wait().expect("it is a child");
            ratios.push((one / two, two_sum / one_sum, beside / one));
        }
        let [[one, one_sum], [two, two_sum]] = last;
        let median = |mut values: Vec<f64>| {
            values.sort_by(f64::total_cmp);
            values[values.len() / 2]
        };
        let faster = median(ratios.iter().map(|ratio| ratio.0).collect());
        let sum = median(ratios.iter().map(|ratio| ratio.1).collect());
        let beside = median(ratios.iter().map(|ratio| ratio.2).collect());
        println!("{format:<8} {:>6} {one:>9.0} {one_sum:>9.0}", "1 job");
        println!("{format:<8} {:>6} {two:>9.0} {two_sum:>9.0} {faster:>9.2} {sum:>9.2}", "2 jobs");
        println!("    two commands at once, 1 job each: {beside:.2} times the CPU time of one alone");
        if format == "json" {
            println!("    goal 11: {faster:.2} >= 1.80 {}", pass(faster >= 1.8));
            println!("    goal 11: {sum:.2} <= 1.15 {}", pass(sum <= 1.15));
        }
    }
}

fn pass(passes: bool) -> &'static str {
    if passes { "pass" } else { "short" }
}

/// A capture of one GPU, of a log again and again.
fn write_capture(file: &File, size: usize) -> std::io::Result<()> {
    let log = realistic(1, 1 << 20).bytes;
    let mut out = BufWriter::new(file);
    writeln!(out, "# kfd-smi capture 1\n# page-size 4096\n# gpu 3180 aldebaran 0000:c1:00.0 -")?;
    writeln!(out, "# clock 260131000000000 1764581223000000000 260131000000000")?;
    let (mut arrival, mut written) = (260_131_219_000_000_u64, 0);
    while written < size {
        for line in log.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            write!(out, "{arrival} 3180 : ")?;
            for byte in line {
                match byte {
                    b' '..=b'~' if *byte != b'\\' => out.write_all(&[*byte])?,
                    byte => write!(out, "\\x{byte:02x}")?,
                }
            }
            out.write_all(b"\n")?;
            arrival += 1000;
            written += line.len() + 1;
        }
    }
    out.flush()
}

fn spawn(command: &Path, capture: &Path, format: &str, jobs: usize) -> Child {
    Command::new(command)
        .args(["replay", "--format", format, "--jobs", &jobs.to_string()])
        .arg(capture)
        .stdout(Stdio::null())
        .spawn()
        .expect("the command runs")
}

/// The CPU time of the slowest thread of a command, and of all, in milliseconds.
fn cpu_times(mut child: Child) -> [f64; 2] {
    let tasks = format!("/proc/{}/task", child.id());
    let mut times = BTreeMap::new();
    while child.try_wait().expect("it is a child").is_none() {
        for task in fs::read_dir(&tasks).into_iter().flatten().flatten() {
            let stat = fs::read_to_string(task.path().join("schedstat")).unwrap_or_default();
            if let Some(nanos) = stat.split(' ').next().and_then(|nanos| nanos.parse::<f64>().ok()) {
                times.insert(task.file_name(), nanos);
            }
        }
        thread::sleep(Duration::from_millis(3));
    }
    let millis = times.values().map(|nanos| nanos / 1e6);
    [millis.clone().fold(0.0, f64::max), millis.sum()]
}
