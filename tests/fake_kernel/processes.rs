//! Programs on the fake kernel, as processes: many file descriptors, children, signals, the end.

use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, Stdio};

use kfd_smi_io::GpuId;
use kfd_smi_testkit::fake_kernel::{FakeKernel, Gpu};
use rustix::process::{Pid, Signal, kill_process};

use crate::remote::{Remote, hash, users};
use crate::{GPU, kernel, one_gpu};

#[test]
fn sixty_four_gpus() {
    for user in users() {
        let gpus = (1..=64).fold(FakeKernel::builder(), |builder, n| builder.gpu(Gpu::new(n, n)));
        let mut kernel = kernel!(gpus);
        let mut remote = Remote::start(&mut kernel, user);
        remote.ask("open");
        for gpu in 1..=64 {
            assert_eq!(remote.ask(&format!("smi {gpu:x}")), "done");
            assert_eq!(remote.ask(&format!("mask {gpu:x} fff")), "done");
        }
        kernel.wait_for_clients(64).unwrap();
        let fds = kernel.smi_fds(remote.pid()).unwrap();
        assert_eq!(fds.iter().map(|fd| fd.gpu.0).collect::<Vec<_>>(), (1..=64).collect::<Vec<_>>());
        for gpu in 1..=64 {
            assert_eq!(kernel.emit(GpuId(gpu), format!("3 {gpu:x}\n").as_bytes()).taken, 1);
        }
        for gpu in 1..=64 {
            assert_eq!(remote.ask(&format!("read {gpu:x}")), format!("3 {gpu:x}\\n"));
        }
        remote.finish();
        kernel.wait_for_clients(0).unwrap();
    }
}

#[test]
fn nothing_is_lost_while_there_is_room() {
    for (user, fifo) in users().into_iter().flat_map(|user| [(user, 1024), (user, 8192)]) {
        let mut kernel = kernel!(one_gpu().fifo(fifo));
        let mut remote = Remote::start(&mut kernel, user);
        remote.ask("open");
        remote.ask("smi 1ea0");
        remote.ask("mask 1ea0 fff");
        let events: Vec<String> =
            (0..20_000).map(|seq| format!("3 {seq:x} job hang on ring:gfx_0.0.0\n")).collect();
        let all = events.concat();
        remote.tell(&format!("collect 1ea0 {:x}", all.len()));
        for event in &events {
            assert_eq!(kernel.emit_with_room(GPU, event.as_bytes()).unwrap().taken, 1);
        }
        assert_eq!(remote.reply(), hash(all.as_bytes()).to_string());
        kernel.wait_until_drained(GPU).unwrap();
        remote.finish();
    }
}

#[test]
fn a_stopped_program_loses_what_has_no_room() {
    let mut kernel = kernel!(one_gpu());
    let mut remote = Remote::start(&mut kernel, None);
    remote.ask("open");
    remote.ask("smi 1ea0");
    remote.ask("mask 1ea0 fff");
    let pid = Pid::from_child(&remote.child);
    kill_process(pid, Signal::STOP).unwrap();
    let event = b"5 14601738586508 -0 @7f0f15200(2c02) 0->1ea0 1ea0:ffffffff 1\n";
    let taken = (0..100).map(|_| kernel.emit(GPU, event).taken).sum::<usize>();
    assert_eq!(taken, 1024 / event.len());
    kill_process(pid, Signal::CONT).unwrap();
    assert_eq!(remote.ask("read 1ea0").len(), taken * (event.len() + 1));
    remote.finish();
}

#[test]
fn what_a_client_starts_does_not_hold_its_events() {
    let mut kernel = kernel!(one_gpu());
    let mut remote = Remote::start(&mut kernel, None);
    remote.ask("open");
    remote.ask("smi 1ea0");
    remote.ask("mask 1ea0 fff");
    let child: u32 = remote.ask("spawn").parse().unwrap();
    assert_eq!(kernel.smi_fds(child).unwrap(), []);
    assert_eq!(kernel.smi_fds(remote.pid()).unwrap().len(), 1);
    assert!(kernel.smi_fds(u32::MAX).is_err());
}

#[test]
fn the_kernel_sees_a_client_die() {
    let mut kernel = kernel!(one_gpu());
    let mut remote = Remote::start(&mut kernel, None);
    remote.ask("open");
    remote.ask("smi 1ea0");
    remote.ask("mask 1ea0 fff");
    kernel.wait_for_clients(1).unwrap();
    kill_process(Pid::from_child(&remote.child), Signal::KILL).unwrap();
    kernel.wait_for_clients(0).unwrap();
    kernel.wait_until_device_closed().unwrap();
}

#[test]
fn the_end_of_the_kernel_is_the_end_of_its_programs() {
    let mut kernel = kernel!(one_gpu());
    let mut remote = Remote::start(&mut kernel, None);
    remote.ask("open");
    drop(kernel);
    assert_eq!(remote.child.wait().unwrap().signal(), Some(9));
}

#[test]
fn a_program_that_is_not_there_cannot_be_started() {
    let mut kernel = kernel!(one_gpu());
    let error = kernel.spawn(&mut Command::new("/nonexistent/program")).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
}

/// There is one kernel at most for each program: where there is one already, as where the system refuses it, tests
/// say so and pass.
#[test]
fn without_a_fake_kernel_tests_are_skipped() {
    let mut kernel = kernel!(one_gpu());
    let mut tests = Command::new(std::env::current_exe().unwrap());
    tests.args(["--exact", "device::opening_fails_once", "--nocapture"]).stdout(Stdio::piped());
    tests.env_remove("KFD_SMI_SKIPPED");
    let output = kernel.spawn(&mut tests).unwrap().wait_with_output().unwrap();
    let stdout = String::from_utf8(output.stdout).unwrap();
    let why = "SKIPPED device::opening_fails_once: seccomp user notification: ";
    assert!(output.status.success() && stdout.contains(why), "{stdout}");
}
