//! What comes out of the fifo of a client: room, pieces, masks, and who sees what.

use std::os::fd::AsFd as _;

use kfd_smi_io::{EventMask, Kfd};
use kfd_smi_testkit::fake_kernel::{Emitted, Rules};

use crate::remote::{Remote, users};
use crate::{GPU, client, kernel, one_gpu, read};

const TAKEN: Emitted = Emitted { taken: 1, dropped: 0, unwanted: 0 };
const DROPPED: Emitted = Emitted { taken: 0, dropped: 1, unwanted: 0 };
const UNWANTED: Emitted = Emitted { taken: 0, dropped: 0, unwanted: 1 };

#[test]
fn an_event_without_room_is_lost_whole() {
    for size in [1024, 8192] {
        let kernel = kernel!(one_gpu().fifo(size));
        kernel
            .run(|| {
                let client = client(GPU);
                let mut expected = vec![];
                let mut lost = 0;
                for seq in 0..1000 {
                    let event = format!("3 {seq:x} job hang on ring:gfx_0.0.0\n");
                    match kernel.emit(GPU, event.as_bytes()) {
                        TAKEN => expected.extend_from_slice(event.as_bytes()),
                        DROPPED => lost += 1,
                        other => panic!("{other:?}"),
                    }
                }
                assert!(lost > 0 && expected.len() > size - 40 && expected.len() <= size);
                // A shorter one can have the room that is left, down to the last byte.
                let left = size - expected.len();
                let fitting = format!("3 {:0>width$}\n", 1, width = left.saturating_sub(3));
                if fitting.len() == left {
                    assert_eq!(kernel.emit(GPU, fitting.as_bytes()), TAKEN);
                    assert_eq!(kernel.emit(GPU, b"3 1\n"), DROPPED);
                    expected.extend_from_slice(fitting.as_bytes());
                }
                assert_eq!(kernel.fifo_len(GPU), expected.len());
                // A buffer larger than the fifo gets no more than there is.
                assert_eq!(read(&client, 100_000).unwrap(), expected);
                kernel.wait_until_drained(GPU).unwrap();
                assert_eq!(kernel.emit(GPU, b"3 1\n"), TAKEN);
            })
            .unwrap();
    }
}

#[test]
fn old_kernels_give_eight_bytes() {
    let kernel = kernel!(one_gpu().read_limit(Some(8)));
    kernel
        .run(|| {
            let client = client(GPU);
            kernel.emit(GPU, b"3 1 user trigger\n");
            let pieces: Vec<Vec<u8>> = std::iter::from_fn(|| read(&client, 8192)).collect();
            assert_eq!(pieces, [&b"3 1 user"[..], b" trigger", b"\n"]);
        })
        .unwrap();
}

#[test]
fn a_mask_is_in_force_at_once_and_not_for_what_is_queued() {
    let kernel = kernel!(one_gpu());
    kernel
        .run(|| {
            let client = Kfd::open().unwrap().smi_events(GPU).unwrap();
            assert_eq!(kernel.emit(GPU, b"3 1\n"), UNWANTED);
            client.set_mask(EventMask::from_bits(1 << 2)).unwrap();
            assert_eq!(kernel.emit(GPU, b"3 2\n"), TAKEN);
            assert_eq!(kernel.emit(GPU, b"4 2\n"), UNWANTED);
            client.set_mask(EventMask::from_bits(1 << 3)).unwrap();
            assert_eq!(kernel.emit(GPU, b"3 3\n"), UNWANTED);
            assert_eq!(kernel.emit(GPU, b"4 3\n"), TAKEN);
            assert_eq!(read(&client, 8192).unwrap(), b"3 2\n4 3\n");
            // Bits of events that this kernel does not know, and what is no event.
            client.set_mask(EventMask::from_bits(1 << 62 | 1 << 15)).unwrap();
            assert_eq!(kernel.emit(GPU, b"3f x\n"), TAKEN);
            assert_eq!(kernel.emit(GPU, b"10 x\n"), TAKEN);
            assert_eq!(kernel.emit(GPU, b"40 x\n"), UNWANTED);
            assert_eq!(kernel.emit(GPU, b"0 x\n"), UNWANTED);
            assert_eq!(kernel.emit(GPU, b"what\n"), UNWANTED);
        })
        .unwrap();
}

#[test]
fn every_client_of_a_gpu_has_its_own_fifo() {
    let kernel = kernel!(one_gpu().gpu(kfd_smi_testkit::fake_kernel::Gpu::new(2, 0xbeef)));
    kernel
        .run(|| {
            let [first, second, other] = [GPU, GPU, kfd_smi_io::GpuId(0xbeef)].map(client);
            second.set_mask(EventMask::from_bits(1)).unwrap();
            assert_eq!(kernel.emit(GPU, b"3 1\n"), Emitted { taken: 1, dropped: 0, unwanted: 1 });
            assert_eq!(
                kernel.emit(GPU, b"1 2559e:a\n9 1 -2\n"),
                Emitted { taken: 2, dropped: 0, unwanted: 0 }
            );
            assert_eq!(read(&first, 8192).unwrap(), b"3 1\n1 2559e:a\n9 1 -2\n");
            assert_eq!(read(&second, 8192).unwrap(), b"1 2559e:a\n9 1 -2\n");
            assert_eq!(read(&other, 8192), None);
            assert_eq!(kernel.masks(GPU).len(), 2);
            assert!(first.as_fd().try_clone_to_owned().is_ok());
        })
        .unwrap();
}

/// Whether the process has CAP_SYS_ADMIN.
fn is_admin(pid: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:\t")).unwrap();
    u64::from_str_radix(effective, 16).unwrap() >> 21 & 1 == 1
}

#[test]
fn events_of_other_processes_are_for_the_privileged() {
    for (rules, user) in [Rules::Before6_0, Rules::Since6_0, Rules::Since6_16]
        .into_iter()
        .flat_map(|rules| users().into_iter().map(move |user| (rules, user)))
    {
        let mut kernel = kernel!(one_gpu().rules(rules));
        let mut remote = Remote::start(&mut kernel, user);
        remote.ask("open");
        remote.ask("smi 1ea0");
        let own = remote.pid();
        let admin = is_admin(own);
        assert!(!admin || user.is_none());
        for bit in [0, 1u64 << 63] {
            remote.ask(&format!("mask 1ea0 {:x}", bit | 0xfff));
            for (pid, of_others) in [(own, false), (0, false), (1, true)] {
                let seen = match rules {
                    Rules::Before6_0 => true,
                    Rules::Since6_0 => !of_others || admin && bit != 0,
                    Rules::Since6_16 => !of_others || admin,
                };
                let expected = if seen { TAKEN } else { UNWANTED };
                let event = format!("9 14601738586508 -{pid} 1ea0 2\n");
                assert_eq!(kernel.emit(GPU, event.as_bytes()), expected, "{rules:?} {admin} {bit:x} {event}");
                let event = format!("c {pid:x} python3\n");
                assert_eq!(kernel.emit(GPU, event.as_bytes()), TAKEN);
                assert_eq!(
                    kernel.emit_about(GPU, Some(pid), event.as_bytes()),
                    expected,
                    "{rules:?} {event}"
                );
                assert_eq!(kernel.emit_about(GPU, None, b"a 5 -1 1ea0\n"), TAKEN);
                remote.ask("read 1ea0");
            }
        }
    }
}
