//! `record` on the fake kernel, and what `replay` makes of it.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use std::{env, thread};

use kfd_smi_proto::GpuId;
use kfd_smi_testkit::fake_kernel::{End, FakeKernel, Gpu};

use crate::folder::Folder;
use crate::live::{FIRST, SECOND, end, machine, start};
use crate::run::{Ran, command, signal};

/// Starts a recording and waits until it watches all GPUs.
fn record(kernel: &mut FakeKernel, gpus: usize, output: &str, args: &[&str]) -> Child {
    let child = start(kernel, &[&["record", "-o", output], args].concat());
    kernel.wait_for_clients(gpus).unwrap();
    child
}

fn emit(kernel: &FakeKernel, gpu: GpuId, line: &str) {
    kernel.emit_with_room(gpu, format!("{line}\n").as_bytes()).unwrap();
}

fn drain(kernel: &FakeKernel) {
    for gpu in [FIRST, SECOND] {
        kernel.wait_until_drained(gpu).unwrap();
    }
}

/// The driver's lines in captures, as they came.
fn raw(files: &[&str], args: &[&str]) -> String {
    let args = [&["replay", "--format", "raw", "--strict"], args, files].concat();
    let ran: Ran = command(&args).output().unwrap().into();
    assert_eq!(ran.status, 0);
    assert!(ran.stderr.lines().all(|line| line.ends_with("ended: closed")), "{}", ran.stderr);
    ran.text().to_owned()
}

/// Waits for what must come; for ever would hide what went wrong.
fn until(mut has_come: impl FnMut() -> bool) {
    for _ in 0..30_000 {
        if has_come() {
            return;
        }
        thread::sleep(Duration::from_millis(1));
    }
    panic!("it did not come");
}

fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap()
}

#[test]
fn what_is_recorded_is_replayed() {
    let Some(mut kernel) = machine().build_or_skip("what_is_recorded_is_replayed") else { return };
    let folder = Folder::new();
    let file = folder.file("c");
    let child = record(&mut kernel, 2, &file, &[]);
    let pid = child.id();
    let own = format!("9 14601738586508 -{pid} 1ea0 3");
    emit(&kernel, FIRST, &own);
    emit(&kernel, FIRST, "1 2559e:a\n9 1 -1 3 4");
    emit(&kernel, SECOND, "3 1 user trigger");
    drain(&kernel);
    let ran = end(child);
    assert_eq!(ran.status, 0);
    assert!(ran.stderr.contains("4 lines in"), "{}", ran.stderr);

    let capture = read(&file);
    for line in [
        "# kfd-smi capture 1",
        "# mask ffffffffffffffff",
        &format!("# recorder {pid}"),
        &format!("# process {pid} kfd-smi "),
        "# gpu 1ea0 ",
        "# gpu fc7d ",
        "# clock ",
        "# release ",
        "# boot-id ",
    ] {
        assert!(capture.lines().any(|found| found.starts_with(line)), "no {line} in\n{capture}");
    }
    assert!(!capture.contains("# process 1 "), "a forged line named a process");
    assert_eq!(raw(&[&file], &["--gpu", "0x1ea0"]), format!("{own}\n1 2559e:a\n9 1 -1 3 4\n"));
    assert_eq!(raw(&[&file], &["--gpu", "0x1ea0", "--trusted-only"]), format!("{own}\n1 2559e:a\n"));
    assert_eq!(raw(&[&file], &["--gpu", "0xfc7d"]), "3 1 user trigger\n");

    // Recorded again, it is the same.
    let copy: Ran = command(&["replay", "--format", "capture", &file]).output().unwrap().into();
    assert_eq!(copy.text(), capture);
}

#[test]
fn a_second_recording_goes_on_behind_the_first() {
    let Some(mut kernel) = machine().build_or_skip("a_second_recording_goes_on_behind_the_first") else {
        return;
    };
    let folder = Folder::new();
    let file = folder.file("c");
    for seq in 1..=2 {
        let child = record(&mut kernel, 2, &file, &[]);
        emit(&kernel, FIRST, &format!("3 {seq}"));
        drain(&kernel);
        assert_eq!(end(child).status, 0);
        // As a crash leaves it.
        fs::write(&file, read(&file) + "123 1ea0 : 3").unwrap();
    }
    fs::write(&file, read(&file).trim_end_matches("123 1ea0 : 3")).unwrap();
    assert_eq!(raw(&[&file], &[]), "3 1\n3 2\n");
    let other = folder.file("other");
    fs::write(&other, "precious\n").unwrap();
    let ran: Ran = start(&mut kernel, &["record", "-o", &other]).wait_with_output().unwrap().into();
    assert_eq!((ran.status, read(&other).as_str()), (2, "precious\n"));
    assert!(ran.stderr.contains("is no capture"), "{}", ran.stderr);
}

#[test]
fn files_are_rotated_by_size_and_lose_nothing() {
    let Some(mut kernel) = machine().build_or_skip("files_are_rotated_by_size_and_lose_nothing") else {
        return;
    };
    let folder = Folder::new();
    let file = folder.file("c");
    let child = record(&mut kernel, 2, &file, &["--max-size", "2K", "--max-files", "100"]);
    let mut sent = String::new();
    for seq in 0..300 {
        // A name in front of some, so that budgets cross the seams.
        let line = if seq % 3 == 0 { "1 5:a".to_owned() } else { format!("3 {seq:x}") };
        emit(&kernel, FIRST, &line);
        sent += &(line + "\n");
    }
    drain(&kernel);
    assert_eq!(end(child).status, 0);
    let mut files: Vec<String> =
        (1..).map(|n| format!("{file}.{n}")).take_while(|n| Path::new(n).exists()).collect();
    assert!(files.len() > 3, "{files:?}");
    files.insert(0, file);
    files.reverse();
    for file in &files {
        assert!(fs::metadata(file).unwrap().len() < 4096);
        assert!(read(file).starts_with("# kfd-smi capture 1\n"));
    }
    // The order of their times is that of their numbers.
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    assert_eq!(raw(&files, &[]), sent);
}

#[test]
fn sighup_opens_the_file_anew_and_finds_new_gpus() {
    let Some(mut kernel) = machine().build_or_skip("sighup_opens_the_file_anew_and_finds_new_gpus") else {
        return;
    };
    let folder = Folder::new();
    let (file, old) = (folder.file("c"), folder.file("c.old"));
    let child = record(&mut kernel, 2, &file, &[]);
    emit(&kernel, FIRST, "3 1");
    drain(&kernel);
    // What was read is written at once: the file has it before it is moved.
    until(|| read(&file).contains("3 1"));
    fs::rename(&file, &old).unwrap();
    // As a change of partitions does: some come, some go.
    kernel.add_gpu(Gpu::new(3, 0x99)).unwrap();
    kernel.remove_gpu(SECOND).unwrap();
    signal(&child, "HUP");
    kernel.wait_for_mask_writes(GpuId(0x99), 1).unwrap();
    until(|| Path::new(&file).exists());
    emit(&kernel, FIRST, "3 2");
    emit(&kernel, GpuId(0x99), "3 3");
    kernel.wait_until_drained(GpuId(0x99)).unwrap();
    kernel.wait_until_drained(FIRST).unwrap();
    let ran = end(child);
    assert_eq!(ran.status, 0);
    assert!(ran.stderr.contains("GPU 0xfc7d is gone"), "{}", ran.stderr);
    assert_eq!(raw(&[&old], &[]), "3 1\n");
    assert_eq!(raw(&[&file], &["--gpu", "0x1ea0"]), "3 2\n");
    assert_eq!(raw(&[&file], &["--gpu", "0x99"]), "3 3\n");
    assert!(read(&file).contains("# gpu 99 "));
    assert!((read(&old) + &read(&file)).contains("# end fc7d closed"));
}

#[test]
fn the_time_can_be_limited_and_a_gpu_can_end() {
    let Some(mut kernel) = machine().build_or_skip("the_time_can_be_limited_and_a_gpu_can_end") else {
        return;
    };
    let folder = Folder::new();
    let file = folder.file("c");
    let ran: Ran =
        start(&mut kernel, &["record", "-o", &file, "--duration", "0.3"]).wait_with_output().unwrap().into();
    assert_eq!(ran.status, 0);
    let file = folder.file("ended");
    let child = record(&mut kernel, 2, &file, &[]);
    kernel.end(FIRST, End::Eof);
    kernel.end(SECOND, End::Eof);
    let ran: Ran = child.wait_with_output().unwrap().into();
    assert!(ran.stderr.contains("no GPU is left to record"), "{}", ran.stderr);
    let ends = read(&file).lines().filter(|line| line.starts_with("# end ")).count();
    assert_eq!(ends, 2);
}

#[test]
fn what_was_chosen_is_recorded_and_names_can_be_left_out() {
    let Some(mut kernel) = machine().build_or_skip("what_was_chosen_is_recorded_and_names_can_be_left_out")
    else {
        return;
    };
    let folder = Folder::new();
    let file = folder.file("c");
    let args = ["--event", "vmfault,gpu_pre_reset", "--pid", "152990", "--redact"];
    let child = record(&mut kernel, 2, &file, &args);
    assert_eq!(kernel.masks(FIRST)[0].bits(), 0x8000_0000_0000_0005);
    emit(&kernel, FIRST, "1 2559e:secret");
    emit(&kernel, FIRST, "1 7:secret");
    emit(&kernel, FIRST, "3 1");
    drain(&kernel);
    assert_eq!(end(child).status, 0);
    let capture = read(&file);
    assert!(!capture.contains("secret") && !capture.contains("# host"), "{capture}");
    assert!(capture.contains("# redacted yes\n"));
    assert_eq!(raw(&[&file], &[]), "1 2559e:xxxxxx\n");
}

/// Reading never waits for writing: with nobody at the other end of the pipe, the driver's buffer is emptied all the same.
#[test]
fn a_slow_writer_does_not_stop_the_reader() {
    let Some(mut kernel) = machine().fifo(1024).build_or_skip("a_slow_writer_does_not_stop_the_reader")
    else {
        return;
    };
    let mut child = record(&mut kernel, 2, "-", &[]);
    let mut sent = 0;
    // More than a pipe and both buffers of the program hold.
    for seq in 0..20_000 {
        emit(&kernel, FIRST, &format!("3 {seq:x} job hang on ring:gfx_0.0.0"));
        sent += 1;
    }
    drain(&kernel);
    let stdout = BufReader::new(child.stdout.take().unwrap());
    let reader = thread::spawn(move || {
        stdout.lines().map(Result::unwrap).filter(|line| !line.starts_with('#')).count()
    });
    signal(&child, "TERM");
    let status = child.wait().unwrap();
    let mut stderr = String::new();
    child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    assert!(status.success(), "{stderr}");
    assert!(stderr.contains("0 of them lost"), "{stderr}");
    assert_eq!(reader.join().unwrap(), sent);
}

#[test]
fn a_full_disk_ends_the_recording_with_a_whole_line() {
    let Some(mut kernel) = machine().build_or_skip("a_full_disk_ends_the_recording_with_a_whole_line") else {
        return;
    };
    let ran: Ran = start(&mut kernel, &["record", "-o", "/dev/full"]).wait_with_output().unwrap().into();
    assert_eq!(ran.status, 2);
    assert!(ran.stderr.contains("/dev/full: No space left on device"), "{}", ran.stderr);

    // The shell lets the file grow to 4 KiB and no further.
    let folder = Folder::new();
    let file = folder.file("c");
    let mut shell = Command::new("sh");
    shell.args([
        "-c",
        "trap '' XFSZ; ulimit -f 8; exec \"$0\" record -o \"$1\"",
        env!("CARGO_BIN_EXE_kfd-smi"),
        &file,
    ]);
    let child = kernel.spawn(shell.stdout(Stdio::piped()).stderr(Stdio::piped())).unwrap();
    kernel.wait_for_clients(2).unwrap();
    let mut sent = String::new();
    for seq in 0..1000 {
        let line = format!("3 {seq:x} job hang on ring:gfx_0.0.0\n");
        if kernel.emit_with_room(FIRST, line.as_bytes()).is_err() || kernel.masks(FIRST).is_empty() {
            break;
        }
        sent += &line;
    }
    let ran: Ran = child.wait_with_output().unwrap().into();
    assert_eq!(ran.status, 2);
    assert!(ran.stderr.contains("File too large"), "{}", ran.stderr);
    let capture = read(&file);
    assert!(capture.len() > 2000 && capture.ends_with('\n'), "{}", capture.len());
    let recorded = raw(&[&file], &[]);
    assert!(sent.starts_with(&recorded) && recorded.lines().count() > 10);
}

/// A signal at any moment ends the recording with all that was read before, in whole lines.
#[test]
fn a_signal_at_any_moment_loses_nothing() {
    let Some(mut kernel) = machine().build_or_skip("a_signal_at_any_moment_loses_nothing") else { return };
    let folder = Folder::new();
    let mut seed = 0x9e37_79b9_u32;
    for run in 0..200 {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let file = folder.file(&run.to_string());
        let child = record(&mut kernel, 2, &file, &[]);
        let before = seed >> 24 & 31;
        for seq in 0..before {
            emit(&kernel, if seq % 2 == 0 { FIRST } else { SECOND }, &format!("3 {seq:x}"));
        }
        if seed >> 16 & 1 == 0 {
            drain(&kernel);
        }
        let drained = kernel.fifo_len(FIRST) + kernel.fifo_len(SECOND) == 0;
        let ran = if seed >> 17 & 1 == 0 {
            signal(&child, "INT");
            child.wait_with_output().unwrap().into()
        } else {
            end(child)
        };
        assert_eq!(ran.status, 0, "{}", ran.stderr);
        let lines = raw(&[&file], &[]).lines().count();
        assert!(lines <= before as usize && (!drained || lines == before as usize), "{lines} of {before}");
        assert!(ran.stderr.contains(&format!("{lines} lines in")), "{}", ran.stderr);
    }
}

#[test]
fn a_stopped_recording_goes_on() {
    let Some(mut kernel) = machine().fifo(8192).build_or_skip("a_stopped_recording_goes_on") else { return };
    let folder = Folder::new();
    let file = folder.file("c");
    let child = record(&mut kernel, 2, &file, &[]);
    for round in 0..5 {
        signal(&child, "STOP");
        for seq in 0..20 {
            emit(&kernel, FIRST, &format!("3 {:x}", round * 20 + seq));
        }
        signal(&child, "CONT");
        drain(&kernel);
    }
    assert_eq!(end(child).status, 0);
    assert_eq!(raw(&[&file], &[]).lines().count(), 100);
}

/// Sixty-four GPUs, and 200,000 events none of which finds the kernel's buffer full.
#[test]
fn many_events_of_many_gpus_are_all_recorded() {
    let gpus: Vec<GpuId> = (1..=64).map(|id| GpuId(0x100 + id)).collect();
    let mut builder = FakeKernel::builder().fifo(8192);
    for (node, gpu) in gpus.iter().enumerate() {
        builder = builder.gpu(Gpu::new(node as u32 + 1, gpu.0));
    }
    let Some(mut kernel) = builder.build_or_skip("many_events_of_many_gpus_are_all_recorded") else { return };
    let folder = Folder::new();
    let file = folder.file("c");
    let child = record(&mut kernel, 64, &file, &[]);
    for seq in 0..200_000_usize {
        emit(&kernel, gpus[seq % 64], &format!("3 {seq:x}"));
    }
    for gpu in &gpus {
        kernel.wait_until_drained(*gpu).unwrap();
    }
    let ran = end(child);
    assert_eq!(ran.status, 0);
    assert!(
        ran.stderr.contains("200000 lines in") && ran.stderr.contains(" 0 of them lost"),
        "{}",
        ran.stderr
    );
    // Each GPU's lines are all there, in their order.
    let mut next: Vec<usize> = (0..64).collect();
    for line in BufReader::new(File::open(&file).unwrap()).lines().map(Result::unwrap) {
        if let Some((head, seq)) = line.split_once(" 3 ") {
            let gpu = usize::from_str_radix(head.split(' ').nth(1).unwrap(), 16).unwrap() - 0x101;
            assert_eq!(usize::from_str_radix(seq, 16).unwrap(), next[gpu]);
            next[gpu] += 64;
        }
    }
    assert!(next.iter().all(|next| *next >= 200_000), "{next:?}");
}
