//! The file descriptors with events, as any other file descriptor: flags, calls, copies, waiting, ends.

use std::fs::{File, read_link};
use std::io::IoSliceMut;
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};

use kfd_smi_io::{Kfd, SmiClient};
use kfd_smi_testkit::fake_kernel::{End, Errno};
use rustix::buffer::spare_capacity;
use rustix::event::{PollFd, PollFlags, Timespec, epoll, poll};
use rustix::fs::{SeekFrom, seek};
use rustix::io::{ioctl_fionbio, pread, readv, write};

use crate::device::ioctl;
use crate::{GPU, client, kernel, one_gpu, read};

const EVENT: &[u8] = b"3 1 user trigger\n";

/// What `poll` says now.
fn state(client: &SmiClient) -> PollFlags {
    let mut fds = [PollFd::new(client, PollFlags::IN | PollFlags::OUT)];
    poll(&mut fds, Some(&Timespec::default())).unwrap();
    fds[0].revents()
}

#[test]
fn the_driver_lets_it_be_inherited_and_the_client_does_not() {
    let kernel = kernel!(one_gpu());
    kernel
        .run(|| {
            let pid = std::process::id();
            let kfd = File::open("/dev/kfd").unwrap();
            let mut events = [GPU.0, 0];
            ioctl(&kfd, 0xc008_4b1f, &mut events).unwrap();
            let held = kernel.smi_fds(pid).unwrap();
            assert_eq!(held.len(), 1);
            assert_eq!((held[0].fd, held[0].gpu, held[0].close_on_exec), (events[1], GPU, false));
            let client = Kfd::open().unwrap().smi_events(GPU).unwrap();
            let held = kernel.smi_fds(pid).unwrap();
            assert_eq!(held.len(), 2);
            let number = client.as_fd().as_raw_fd().cast_unsigned();
            assert!(held.iter().any(|held| held.fd == number && held.close_on_exec), "{held:?}");
            assert_eq!(
                read_link(format!("/proc/self/fd/{number}")).unwrap().to_str(),
                Some("anon_inode:kfd_smi_ev")
            );
            assert_eq!(
                read_link(format!("/proc/{pid}/fd/{}", kfd.as_raw_fd())).unwrap().to_str(),
                Some("/dev/kfd")
            );
        })
        .unwrap();
}

#[test]
fn masks_are_eight_bytes() {
    let kernel = kernel!(one_gpu());
    kernel
        .run(|| {
            let client = Kfd::open().unwrap().smi_events(GPU).unwrap();
            assert_eq!(kernel.masks(GPU)[0].bits(), 0);
            let two = [7u64.to_ne_bytes(), 9u64.to_ne_bytes()].concat();
            for short in 0..8 {
                assert_eq!(write(&client, &two[..short]), Err(Errno::FAULT));
            }
            assert_eq!(write(&client, &two), Ok(8));
            assert_eq!(kernel.masks(GPU)[0].bits(), 7);
            assert_eq!(write(&client, &u64::MAX.to_ne_bytes()), Ok(8));
            let bits: Vec<u64> = kernel.mask_writes(GPU).iter().map(|mask| mask.bits()).collect();
            assert_eq!(bits, [7, u64::MAX]);
            assert_eq!(kernel.wait_for_mask_writes(GPU, 2).unwrap().len(), 2);
            // SAFETY: no memory is there, which is the point.
            let n = unsafe { libc::write(client.as_fd().as_raw_fd(), 8 as *const _, 8) };
            assert_eq!((n, std::io::Error::last_os_error().raw_os_error()), (-1, Some(libc::EFAULT)));
        })
        .unwrap();
}

#[test]
fn what_the_driver_does_not_know_fails() {
    let kernel = kernel!(one_gpu());
    kernel
        .run(|| {
            let client = client(GPU);
            assert_eq!(kernel.emit(GPU, EVENT).taken, 1);
            let mut buffer = [0; 64];
            assert_eq!(seek(&client, SeekFrom::Start(0)), Err(Errno::SPIPE));
            assert_eq!(pread(&client, &mut buffer, 0), Err(Errno::SPIPE));
            let fionread = u32::try_from(libc::FIONREAD).unwrap();
            assert_eq!(ioctl(&client, fionread, &mut [0; 2]), Err(Errno::NOTTY));
            assert_eq!(ioctl(&client, 0x8008_4b01, &mut [0; 2]), Err(Errno::NOTTY));
            assert_eq!(ioctl_fionbio(&client, true), Ok(()));
            // Not as the driver, which would read: but not wrong unseen.
            assert_eq!(readv(&client, &mut [IoSliceMut::new(&mut buffer)]), Err(Errno::NOSYS));
            assert_eq!(read(&client, 8192).unwrap(), EVENT);
        })
        .unwrap();
}

#[test]
fn an_empty_one_never_blocks_and_never_ends() {
    let kernel = kernel!(one_gpu());
    kernel
        .run(|| {
            let client = client(GPU);
            let mut nothing: [u8; 0] = [];
            for size in [0, 1, 8192] {
                assert_eq!(read(&client, size), None);
            }
            assert_eq!(kernel.emit(GPU, EVENT).taken, 1);
            assert_eq!(rustix::io::read(&client, &mut nothing), Err(Errno::AGAIN));
            // SAFETY: no memory is there, which is the point.
            let n = unsafe { libc::read(client.as_fd().as_raw_fd(), 8 as *mut _, 4) };
            assert_eq!((n, std::io::Error::last_os_error().raw_os_error()), (-1, Some(libc::EFAULT)));
            // Those four are lost.
            assert_eq!(read(&client, 8192).unwrap(), EVENT[4..]);
            let reads = kernel.reads(GPU);
            assert_eq!(reads.iter().map(|read| read.asked).collect::<Vec<_>>(), [0, 1, 8192, 0, 4, 8192]);
            assert_eq!(reads[0].returned, Err(Errno::AGAIN));
            assert_eq!(reads[5].returned, Ok(EVENT.len() - 4));
            assert_eq!(kernel.wait_for_reads(GPU, 6).unwrap(), reads);
        })
        .unwrap();
}

#[test]
fn it_is_readable_as_long_as_there_is_something_to_read() {
    let kernel = kernel!(one_gpu());
    kernel
        .run(|| {
            let client = client(GPU);
            assert_eq!(state(&client), PollFlags::empty());
            kernel.emit(GPU, EVENT);
            kernel.emit(GPU, EVENT);
            assert_eq!(state(&client), PollFlags::IN);
            for rest in (0..2 * EVENT.len()).rev() {
                assert_eq!(read(&client, 1).unwrap().len(), 1);
                assert_eq!(kernel.fifo_len(GPU), rest);
                assert_eq!(state(&client), if rest > 0 { PollFlags::IN } else { PollFlags::empty() });
            }
            // A client that waits is woken.
            std::thread::scope(|scope| {
                let waiting = scope.spawn(|| client.poll(None).unwrap());
                kernel.emit(GPU, EVENT);
                assert!(waiting.join().unwrap());
            });
        })
        .unwrap();
}

#[test]
fn edge_triggered_waiting_is_woken_by_each_event() {
    let kernel = kernel!(one_gpu());
    kernel
        .run(|| {
            let client = client(GPU);
            let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).unwrap();
            let flags = epoll::EventFlags::IN | epoll::EventFlags::ET;
            epoll::add(&epoll, &client, epoll::EventData::new_u64(1), flags).unwrap();
            let woken = || {
                let mut events = Vec::with_capacity(4);
                epoll::wait(&epoll, spare_capacity(&mut events), Some(&Timespec::default())).unwrap()
            };
            assert_eq!(woken(), 0);
            for _ in 0..3 {
                kernel.emit(GPU, EVENT);
                assert_eq!(woken(), 1);
                assert_eq!(woken(), 0);
            }
            assert_eq!(read(&client, 1).unwrap().len(), 1);
            assert_eq!(woken(), 0);
            assert_eq!(read(&client, 8192).unwrap().len(), 3 * EVENT.len() - 1);
            assert_eq!(woken(), 0);
            kernel.emit(GPU, EVENT);
            assert_eq!(woken(), 1);
        })
        .unwrap();
}

#[test]
fn copies_are_the_same_client() {
    let kernel = kernel!(one_gpu());
    kernel
        .run(|| {
            let first = client(GPU);
            let copies: [OwnedFd; 2] =
                [first.as_fd().try_clone_to_owned().unwrap(), rustix::io::dup(&first).unwrap()];
            let [second, third] = copies.map(|fd| SmiClient::from_fd(GPU, fd));
            assert_eq!(kernel.masks(GPU).len(), 1);
            kernel.emit(GPU, EVENT);
            assert_eq!(state(&third), PollFlags::IN);
            assert_eq!(read(&second, 8192).unwrap(), EVENT);
            assert_eq!(state(&first), PollFlags::empty());
            let closes: Vec<bool> =
                kernel.smi_fds(std::process::id()).unwrap().iter().map(|fd| fd.close_on_exec).collect();
            assert_eq!(closes, [true, true, false]);
            drop((first, second));
            assert_eq!(kernel.emit(GPU, EVENT).taken, 1);
            assert_eq!(read(&third, 8192).unwrap(), EVENT);
            drop(third);
            kernel.wait_for_clients(0).unwrap();
            assert_eq!(kernel.emit(GPU, EVENT).taken, 0);
        })
        .unwrap();
}

#[test]
fn one_that_ends_gives_what_it_has() {
    for end in [End::Eof, End::Error(Errno::IO)] {
        let kernel = kernel!(one_gpu());
        kernel
            .run(|| {
                let (before, other) = (client(GPU), client(GPU));
                kernel.emit(GPU, EVENT);
                assert_eq!(read(&other, 8192).unwrap(), EVENT);
                kernel.end(GPU, end);
                assert_eq!(state(&before), PollFlags::IN | PollFlags::HUP);
                assert_eq!(state(&other), PollFlags::HUP);
                assert_eq!(kernel.emit(GPU, EVENT).taken, 0);
                assert_eq!(read(&before, 8192).unwrap(), EVENT);
                assert_eq!(state(&before), PollFlags::HUP);
                let result = before.read(&mut [0; 8]).map_err(|error| error.errno());
                match end {
                    End::Eof => assert_eq!(result, Ok(Some(0))),
                    End::Error(errno) => assert_eq!(result, Err(errno)),
                }
                // A new one lives.
                let after = client(GPU);
                assert_eq!(kernel.emit(GPU, EVENT).taken, 1);
                assert_eq!(read(&after, 8192).unwrap(), EVENT);
            })
            .unwrap();
    }
}
