//! `gpus` and `monitor` on the fake kernel: the command as it is, on a machine that seems to have GPUs.

use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;
use std::{fs, thread};

use kfd_smi_proto::GpuId;
use kfd_smi_testkit::fake_kernel::{Builder, End, Errno, FakeKernel, Gpu};
use kfd_smi_testkit::kernel::FORMS;
use kfd_smi_testkit::skip;
use serde_json::Value;

use crate::folder::Folder;
use crate::run::{Ran, command, signal};

pub(crate) const FIRST: GpuId = GpuId(0x1ea0);
pub(crate) const SECOND: GpuId = GpuId(0xfc7d);

/// A machine with two GPUs.
pub(crate) fn machine() -> Builder {
    FakeKernel::builder().gpu(Gpu::new(1, FIRST.0)).gpu(Gpu::new(2, SECOND.0))
}

/// Starts the command, with everything it prints kept.
pub(crate) fn start(kernel: &mut FakeKernel, args: &[&str]) -> Child {
    kernel.spawn(piped(&mut command(args))).expect("the command starts")
}

fn piped(command: &mut Command) -> &mut Command {
    command.stdout(Stdio::piped()).stderr(Stdio::piped())
}

/// Starts a monitor and waits until it watches so many GPUs.
fn monitor(kernel: &mut FakeKernel, gpus: usize, args: &[&str]) -> Child {
    let child = start(kernel, &[&["monitor"], args].concat());
    kernel.wait_for_clients(gpus).unwrap();
    kernel.wait_until_device_closed().unwrap();
    child
}

pub(crate) fn end(child: Child) -> Ran {
    signal(&child, "TERM");
    child.wait_with_output().unwrap().into()
}

/// What the command says when it ends by itself.
fn run(kernel: &mut FakeKernel, args: &[&str]) -> Ran {
    start(kernel, args).wait_with_output().unwrap().into()
}

fn next_record(stdout: &mut BufReader<ChildStdout>) -> Value {
    let mut line = String::new();
    stdout.read_line(&mut line).unwrap();
    serde_json::from_str(&line).unwrap_or_else(|error| panic!("{line:?}: {error}"))
}

#[test]
fn events_of_several_gpus_are_printed_as_they_happen() {
    let Some(mut kernel) = machine().build_or_skip("events_of_several_gpus_are_printed_as_they_happen")
    else {
        return;
    };
    let mut child = monitor(&mut kernel, 2, &["--format", "json"]);
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    for (seq, (gpu, line, event)) in [
        (SECOND, "3 1 user trigger", "gpu_pre_reset"),
        (FIRST, "9 14601738586508 -152990 1ea0 2", "queue_eviction"),
        (FIRST, "9 14601738586508 -152990 fc7d 2", "queue_eviction"),
    ]
    .into_iter()
    .enumerate()
    {
        assert_eq!(kernel.emit(gpu, format!("{line}\n").as_bytes()).taken, 1);
        let record = next_record(&mut stdout);
        assert_eq!((&record["event"], &record["seq"]), (&Value::from(event), &Value::from(seq + 1)));
        assert_eq!(record["gpu"], format!("{gpu}"));
        assert!(record["arrival_ns"].as_str().unwrap().parse::<u64>().unwrap() > 0);
        let time = record["time"].as_str().unwrap();
        assert!(time.len() == 30 && time.ends_with('Z'), "{time}");
        let foreign = line.contains("fc7d") && gpu == FIRST;
        assert_eq!(record.get("trust").and_then(Value::as_str), foreign.then_some("foreign_gpu"));
    }
    let ran = end(child);
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
}

#[test]
fn the_kernel_is_asked_for_what_was_chosen() {
    let Some(mut kernel) = machine().build_or_skip("the_kernel_is_asked_for_what_was_chosen") else { return };
    for (args, bits) in [
        (&[][..], u64::MAX),
        (&["--event", "vmfault,gpu_pre_reset"], 0x8000_0000_0000_0005),
        (&["--event", "dropped_events"], 0x8000_0000_0000_2800),
    ] {
        let child = monitor(&mut kernel, 2, args);
        let masks = kernel.masks(FIRST);
        assert!(masks.iter().all(|mask| mask.bits() == bits) && masks.len() == 1, "{masks:?}");
        assert_eq!(end(child).status, 0);
    }
    let child = monitor(&mut kernel, 1, &["--gpu", "0xfc7d"]);
    assert_eq!((kernel.masks(FIRST).len(), kernel.masks(SECOND).len()), (0, 1));
    assert_eq!(end(child).status, 0);
}

/// Each error of the driver ends the command at once, with one sentence that says what to do.
#[test]
fn every_error_says_what_to_do() {
    let open = |errno| machine().open_error(errno);
    for (builder, words) in [
        (FakeKernel::builder().not_loaded(), "driver is not loaded"),
        (open(Errno::ACCESS), "render"),
        (open(Errno::PERM), "64-bit"),
        (open(Errno::INVAL), "reset is in progress"),
        (open(Errno::AGAIN), "reset is in progress"),
        (open(Errno::NXIO), "load the amdgpu driver again"),
        (open(Errno::NODEV), "load the amdgpu driver again"),
        (open(Errno::MFILE), "ulimit -n"),
        (open(Errno::NFILE), "too many files open"),
        (open(Errno::NOMEM), "Cannot allocate memory"),
        (machine().version_error(Errno::NOTTY), "get the version of /dev/kfd"),
        (machine().smi_error(FIRST, Errno::MFILE).smi_error(SECOND, Errno::MFILE), "ulimit -n"),
        (machine().smi_error(FIRST, Errno::NOTTY).smi_error(SECOND, Errno::NOTTY), "older than 5.8"),
        (FakeKernel::builder(), "no GPU to watch"),
    ] {
        let Some(mut kernel) = builder.build_or_skip("every_error_says_what_to_do") else { return };
        for command in ["monitor", "record"] {
            let args: &[&str] = if command == "record" { &["record", "-o", "-"] } else { &["monitor"] };
            let ran = run(&mut kernel, args);
            let said: Vec<_> = ran.stderr.lines().filter(|line| !line.contains("CAP_SYS_ADMIN")).collect();
            assert_eq!((ran.status, ran.text()), (2, ""), "{words}: {}", ran.stderr);
            assert!(said.iter().all(|line| line.starts_with("kfd-smi: ")), "{said:?}");
            assert!(said.last().unwrap().contains(words), "{words}: {said:?}");
        }
    }
}

#[test]
fn a_gpu_that_cannot_be_watched_is_said_and_the_others_are() {
    let builder = machine().smi_error(FIRST, Errno::NOMEM).hidden(GpuId(7));
    let Some(mut kernel) = builder.build_or_skip("a_gpu_that_cannot_be_watched_is_said_and_the_others_are")
    else {
        return;
    };
    let child = monitor(&mut kernel, 1, &[]);
    assert_eq!(kernel.masks(SECOND).len(), 1);
    let ran = end(child);
    assert_eq!(ran.status, 0);
    assert!(ran.stderr.contains("cannot get the events of GPU 0x1ea0 from /dev/kfd"), "{}", ran.stderr);
    let unknown = run(&mut kernel, &["monitor", "--gpu", "0x99"]);
    assert_eq!(unknown.status, 2);
    assert!(unknown.stderr.contains("there is no GPU 0x99 here"), "{}", unknown.stderr);
}

/// Kernels before 5.18 give eight bytes at a time.
#[test]
fn reads_of_eight_bytes_give_whole_lines() {
    let Some(mut kernel) =
        machine().read_limit(Some(8)).build_or_skip("reads_of_eight_bytes_give_whole_lines")
    else {
        return;
    };
    let child = monitor(&mut kernel, 2, &["--format", "raw"]);
    let mut sent = vec![];
    for seq in 0..200 {
        let line = format!("3 {seq:x} job hang on ring:gfx_0.0.0\n");
        kernel.emit_with_room(FIRST, line.as_bytes()).unwrap();
        sent.extend(line.bytes());
    }
    kernel.wait_until_drained(FIRST).unwrap();
    assert!(
        kernel.reads(FIRST).iter().all(|read| read.returned.is_ok_and(|n| n <= 8) || read.returned.is_err())
    );
    assert_eq!(end(child).stdout, sent);
}

/// What does not fit into the kernel's buffer is lost without a word; what fits is not, and the rest is guessed.
#[test]
fn a_full_buffer_is_said_and_what_was_in_it_is_printed() {
    let name = "a_full_buffer_is_said_and_what_was_in_it_is_printed";
    let Some(mut kernel) = machine().fifo(8192).build_or_skip(name) else { return };
    let child = monitor(&mut kernel, 2, &["--format", "json"]);
    signal(&child, "STOP");
    let mut taken = 0;
    for seq in 0..400 {
        let line = format!("3 {seq:x} job hang on ring:gfx_0.0.0\n");
        taken += kernel.emit(FIRST, line.as_bytes()).taken;
    }
    assert!(taken > 200 && taken < 300, "{taken}");
    signal(&child, "CONT");
    kernel.wait_until_drained(FIRST).unwrap();
    assert_eq!(kernel.emit(FIRST, b"3 ff job hang\n").taken, 1);
    kernel.wait_until_drained(FIRST).unwrap();
    let ran = end(child);
    assert_eq!(ran.lines().len(), taken + 1);
    assert!(ran.stderr.contains("buffer of GPU 0x1ea0 was full"), "{}", ran.stderr);
}

#[test]
fn a_gpu_that_ends_does_not_end_the_others() {
    let Some(mut kernel) = machine().build_or_skip("a_gpu_that_ends_does_not_end_the_others") else { return };
    let mut child = monitor(&mut kernel, 2, &["--format", "json"]);
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    kernel.end(FIRST, End::Error(Errno::IO));
    assert_eq!(kernel.emit(SECOND, b"3 1\n").taken, 1);
    assert_eq!(next_record(&mut stdout)["gpu"], "0xfc7d");
    kernel.end(SECOND, End::Eof);
    let status = child.wait().unwrap();
    let mut stderr = String::new();
    child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    assert_eq!(status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("cannot read the events of GPU 0x1ea0: Input/output error"), "{stderr}");
    assert!(stderr.contains("GPU 0xfc7d is gone"), "{stderr}");
    assert!(stderr.contains("no GPU is left to watch"), "{stderr}");
}

/// `/dev/kfd` is closed, nothing is inherited by a program that is started, and nothing is left over.
#[test]
fn files_are_closed_and_kept_from_children() {
    let Some(mut kernel) = machine().build_or_skip("files_are_closed_and_kept_from_children") else { return };
    let child = monitor(&mut kernel, 2, &[]);
    let fds = kernel.smi_fds(child.id()).unwrap();
    assert_eq!(fds.len(), 2);
    assert!(fds.iter().all(|fd| fd.close_on_exec), "{fds:?}");
    assert_eq!(kernel.open_devices(), 0);
    let count = || fs::read_dir(format!("/proc/{}/fd", child.id())).unwrap().count();
    let before = count();
    // Fewer than a pipe holds, for nobody reads what is printed.
    for seq in 0..300 {
        kernel.emit_with_room(FIRST, format!("3 {seq:x}\n").as_bytes()).unwrap();
    }
    kernel.wait_until_drained(FIRST).unwrap();
    assert_eq!(count(), before);
    drop(end(child));
    kernel.wait_for_clients(0).unwrap();
}

/// Without events it sleeps: no thread of it runs.
#[test]
fn an_idle_monitor_does_not_wake() {
    let Some(mut kernel) = machine().build_or_skip("an_idle_monitor_does_not_wake") else { return };
    let child = monitor(&mut kernel, 2, &[]);
    let switches = || {
        let mut switches = 0;
        for task in fs::read_dir(format!("/proc/{}/task", child.id())).unwrap() {
            let status = fs::read_to_string(task.unwrap().path().join("status")).unwrap();
            let counts = status.lines().filter_map(|line| line.split_once("ctxt_switches:"));
            switches += counts.map(|(_, count)| count.trim().parse::<u64>().unwrap()).sum::<u64>();
        }
        switches
    };
    // Until it has come to rest after the start.
    let mut before = switches();
    loop {
        thread::sleep(Duration::from_millis(200));
        let now = switches();
        if now == before {
            break;
        }
        before = now;
    }
    thread::sleep(Duration::from_secs(2));
    assert_eq!(switches(), before);
    assert_eq!(end(child).status, 0);
}

/// Every format of every kernel comes through as it was sent.
#[test]
fn every_form_comes_through() {
    let Some(mut kernel) = machine().fifo(8192).build_or_skip("every_form_comes_through") else { return };
    let child = monitor(&mut kernel, 2, &["--format", "raw"]);
    let values = kfd_smi_testkit::kernel::Values {
        nanos: 14_601_738_586_508,
        pid: 152_990,
        address: 0x7_f0f1_5200,
        size: 0x2c02,
        from: 0x1ea0,
        to: 0,
        prefetch: 0,
        preferred: u32::MAX,
        trigger: 1,
        error: -12,
        text: b"python3".to_vec(),
        letter: 1,
    };
    let mut sent = vec![];
    for form in FORMS {
        let line = form.print(&values);
        // As root; an ordinary user sees some of them.
        sent.extend_from_slice(if kernel.emit(FIRST, &line).taken == 1 { &line } else { b"" });
    }
    kernel.wait_until_drained(FIRST).unwrap();
    assert!(!sent.is_empty());
    assert_eq!(end(child).stdout, sent);
}

/// An ordinary user is told once what is missing, and sees the rest.
#[test]
fn an_ordinary_user_sees_resets() {
    if !rustix::process::geteuid().is_root() {
        skip("an_ordinary_user_sees_resets", &"not run as root");
        return;
    }
    let Some(mut kernel) = machine().build_or_skip("an_ordinary_user_sees_resets") else { return };
    let mut nobody = command(&["monitor", "--format", "json"]);
    nobody.uid(65534).gid(65534);
    let child = match kernel.spawn(piped(&mut nobody)) {
        Ok(child) => child,
        Err(error) => {
            skip("an_ordinary_user_sees_resets", &error);
            return;
        }
    };
    kernel.wait_for_clients(2).unwrap();
    assert_eq!(kernel.emit(FIRST, b"9 14601738586508 -152990 1ea0 2\n").taken, 0);
    assert_eq!(kernel.emit(FIRST, b"3 1\n").taken, 1);
    kernel.wait_until_drained(FIRST).unwrap();
    let ran = end(child);
    assert_eq!(ran.lines().len(), 1);
    assert_eq!(ran.stderr.lines().count(), 1);
    assert!(ran.stderr.contains("without CAP_SYS_ADMIN"), "{}", ran.stderr);
}

/// A reader that goes away ends the monitor at the next event, quietly.
#[test]
fn a_closed_pipe_ends_the_monitor() {
    let Some(mut kernel) = machine().build_or_skip("a_closed_pipe_ends_the_monitor") else { return };
    let mut child = monitor(&mut kernel, 2, &["--format", "json"]);
    drop(child.stdout.take());
    assert_eq!(kernel.emit(FIRST, b"3 1\n").taken, 1);
    let ran: Ran = child.wait_with_output().unwrap().into();
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
}

#[test]
fn gpus_are_listed_with_what_can_be_known() {
    let mut gpu = Gpu::new(1, FIRST.0);
    gpu.name = "bad\x1b[31m".to_owned();
    let builder = FakeKernel::builder().gpu(gpu).gpu(Gpu::new(2, SECOND.0)).hidden(SECOND).version(1, 17);
    let Some(mut kernel) = builder.build_or_skip("gpus_are_listed_with_what_can_be_known") else { return };
    let human = run(&mut kernel, &["gpus"]);
    assert_eq!((human.status, human.stderr.as_str()), (0, ""));
    assert!(
        human.text().contains("/dev/kfd: KFD version 1.17") && human.text().contains("0x1ea0"),
        "{}",
        human.text()
    );
    assert!(human.text().contains("node 2: hidden by the device cgroup"), "{}", human.text());
    assert!(human.text().contains("bad\\x1b[31m"), "{}", human.text());
    let json: Value = serde_json::from_str(run(&mut kernel, &["gpus", "--format", "json"]).text()).unwrap();
    assert_eq!(
        (&json["kfd_version"], &json["device"]["can_open"]),
        (&Value::from("1.17"), &Value::from(true))
    );
    assert_eq!(json["gpus"][0]["gpu_id"], "0x1ea0");
    assert_eq!(json["hidden_nodes"][0], 2);
    assert!(json["promised_events"].as_array().unwrap().len() == 11);
}

/// In containers and tests the driver can be elsewhere.
#[test]
fn the_driver_can_be_elsewhere() {
    let root = Folder::new();
    let node = root.path().join("class/kfd/kfd/topology/nodes/1");
    fs::create_dir_all(&node).unwrap();
    fs::write(root.file("class/kfd/kfd/topology/generation_id"), "1\n").unwrap();
    for (file, text) in
        [("gpu_id", "8011\n"), ("name", "aldebaran\n"), ("properties", "gfx_target_version 90010\n")]
    {
        fs::write(node.join(file), text).unwrap();
    }
    let args = ["gpus", "--sysfs-root", &root.file(""), "--kfd-path", "/dev/null", "--format", "json"];
    let ran: Ran = command(&args).output().unwrap().into();
    let json: Value = serde_json::from_str(ran.text()).unwrap();
    assert_eq!(
        (&json["gpus"][0]["gpu_id"], &json["gpus"][0]["gfx_target"]),
        (&"0x1f4b".into(), &"gfx90a".into())
    );
    assert!(
        json["device"]["error"].as_str().unwrap().starts_with("cannot get the version of /dev/null"),
        "{json}"
    );
}

/// A GPU that comes while the list is read makes it be read again.
#[test]
fn a_change_of_the_gpus_is_noticed() {
    let builder = FakeKernel::builder().gpu(Gpu::new(1, FIRST.0));
    let Some(mut kernel) = builder.build_or_skip("a_change_of_the_gpus_is_noticed") else { return };
    kernel.add_gpu_during_scan(Gpu::new(2, SECOND.0));
    let json: Value = serde_json::from_str(run(&mut kernel, &["gpus", "--format", "json"]).text()).unwrap();
    assert_eq!(json["gpus"].as_array().unwrap().len(), 2, "{json}");
}

#[test]
fn gpus_that_cannot_be_watched_are_listed_all_the_same() {
    let Some(mut kernel) = machine()
        .open_error(Errno::ACCESS)
        .build_or_skip("gpus_that_cannot_be_watched_are_listed_all_the_same")
    else {
        return;
    };
    let ran = run(&mut kernel, &["gpus"]);
    assert_eq!(ran.status, 0);
    assert!(ran.text().contains("render or video") && ran.text().contains("0xfc7d"), "{}", ran.text());
    let name = "gpus_that_cannot_be_watched_are_listed_all_the_same";
    let Some(mut kernel) = FakeKernel::builder().not_loaded().build_or_skip(name) else { return };
    let ran = run(&mut kernel, &["gpus"]);
    assert_eq!(ran.status, 2);
    assert!(ran.stderr.contains("driver is not loaded"), "{}", ran.stderr);
}
