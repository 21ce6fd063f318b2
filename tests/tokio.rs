//! `AsyncEventReader` over socket pairs, in a tokio program.

use core::future::Future;
use core::pin::pin;
use core::task::{Context, Poll, Waker as TaskWaker};
use std::io::Write as _;
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixDatagram, UnixStream};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use kfd_smi_io::{AsyncEventReader, GpuId, Next, SmiClient};

fn run<T>(future: impl Future<Output = T>) -> T {
    ::tokio::runtime::Builder::new_current_thread().enable_io().build().unwrap().block_on(future)
}

fn client(gpu: u32) -> (SmiClient, UnixStream) {
    let (ours, theirs) = UnixStream::pair().unwrap();
    theirs.set_nonblocking(true).unwrap();
    (SmiClient::from_fd(GpuId(gpu), OwnedFd::from(theirs)), ours)
}

fn bytes(next: Next<'_>) -> Vec<u8> {
    let Next::Record(record) = next else { panic!("{next:?}") };
    record.line.bytes.to_vec()
}

#[test]
fn lines_come_while_others_are_waited_for() {
    run(async {
        let ((first, mut one), (second, mut two)) = (client(1), client(2));
        let mut reader = AsyncEventReader::new([first, second]).unwrap();
        let writer = thread::spawn(move || {
            for _ in 0..200 {
                one.write_all(b"3 1\n3 ").unwrap();
                two.write_all(b"4 1\n4 2\n").unwrap();
                one.write_all(b"2\n").unwrap();
            }
        });
        let mut lines = [0; 2];
        loop {
            match reader.next().await.unwrap() {
                Next::Record(record) => lines[record.gpu.unwrap().0 as usize - 1] += 1,
                Next::Ended(_, None) => {}
                Next::Finished => break,
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(lines, [400, 400]);
        writer.join().unwrap();
    });
}

#[test]
fn nothing_is_ready_until_something_comes() {
    run(async {
        let (client, mut end) = client(1);
        let mut reader = AsyncEventReader::new([client]).unwrap();
        {
            // A wait that is given up loses nothing.
            let next = pin!(reader.next());
            assert!(matches!(next.poll(&mut Context::from_waker(TaskWaker::noop())), Poll::Pending));
        }
        end.write_all(b"3 1\n3 2\n").unwrap();
        assert_eq!(bytes(reader.next().await.unwrap()), b"3 1");
        // It is in the decoder: no file descriptor is readable.
        assert_eq!(bytes(reader.next().await.unwrap()), b"3 2");
        assert_eq!(reader.clients().count(), 1);
    });
}

/// Kernels before 5.18 give 8 bytes a read, so a read can leave the end of a line in the driver's buffer.
#[test]
fn a_line_in_many_reads_is_not_left_behind() {
    run(async {
        // A datagram is a read.
        let (ours, theirs) = UnixDatagram::pair().unwrap();
        theirs.set_nonblocking(true).unwrap();
        let client = SmiClient::from_fd(GpuId(1), OwnedFd::from(theirs));
        let mut reader = AsyncEventReader::new([client]).unwrap();
        {
            let next = pin!(reader.next());
            assert!(matches!(next.poll(&mut Context::from_waker(TaskWaker::noop())), Poll::Pending));
        }
        let line = b"8 14601738586508 -152990 @7f0f15200(1ea0) M\n";
        for piece in line.chunks(8) {
            ours.send(piece).unwrap();
        }
        // Were it left there, nothing would come for ever.
        let (done, is_done) = mpsc::channel::<()>();
        let waker = reader.waker();
        let guard = thread::spawn(move || {
            if is_done.recv_timeout(Duration::from_secs(10)) == Err(mpsc::RecvTimeoutError::Timeout) {
                waker.wake();
            }
        });
        assert_eq!(bytes(reader.next().await.unwrap()), line[..line.len() - 1]);
        drop(done);
        guard.join().unwrap();
    });
}

#[test]
fn a_waker_ends_the_wait() {
    run(async {
        let (client, _end) = client(1);
        let mut reader = AsyncEventReader::new([client]).unwrap();
        let waker = reader.waker();
        let other = thread::spawn(move || waker.wake());
        assert!(matches!(reader.next().await.unwrap(), Next::Woken));
        other.join().unwrap();
    });
}
