//! `EventReader` over socket pairs, which stand for the driver's file descriptors.

use std::io::Write as _;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::Duration;

use kfd_smi_io::proto::lines;
use kfd_smi_io::{EventReader, GpuId, Next, SmiClient};
use kfd_smi_testkit::corpus;
use proptest::collection::vec;
use proptest::prelude::*;

use crate::{generate, no_alloc};

/// A reader of so many GPUs, numbered from 1, and the ends to write to.
fn reader(gpus: u32) -> (EventReader, Vec<UnixStream>) {
    let mut reader = EventReader::new().unwrap();
    let ends = (1..=gpus).map(|gpu| {
        let (ours, theirs) = UnixStream::pair().unwrap();
        theirs.set_nonblocking(true).unwrap();
        reader.add(SmiClient::from_fd(GpuId(gpu), OwnedFd::from(theirs)));
        ours
    });
    let ends = ends.collect();
    (reader, ends)
}

/// What a reader says, in short.
#[derive(Debug, PartialEq, Eq)]
enum Said {
    Line(u32, Vec<u8>),
    Ended(u32),
    Woken,
    TimedOut,
    Finished,
}

fn said(next: Next<'_>) -> Said {
    match next {
        Next::Record(record) => {
            assert!(record.arrival.is_some());
            Said::Line(record.gpu.unwrap().0, record.line.bytes.to_vec())
        }
        Next::Ended(gpu, None) => Said::Ended(gpu.0),
        Next::Woken => Said::Woken,
        Next::TimedOut => Said::TimedOut,
        Next::Finished => Said::Finished,
        other => panic!("{other:?}"),
    }
}

fn line(gpu: u32, bytes: &[u8]) -> Said {
    Said::Line(gpu, bytes.to_vec())
}

#[test]
fn lines_come_in_the_order_of_the_gpus_one_read_each() {
    let (mut reader, mut ends) = reader(3);
    ends[2].write_all(b"3 3\n").unwrap();
    ends[0].write_all(b"3 1\n4 1\n3 ").unwrap();
    assert_eq!(said(reader.next(None).unwrap()), line(1, b"3 1"));
    // What comes meanwhile waits until every GPU had its turn.
    ends[0].write_all(b"2\n").unwrap();
    ends[1].write_all(b"3 5\n").unwrap();
    assert_eq!(said(reader.next(None).unwrap()), line(1, b"4 1"));
    assert_eq!(said(reader.next(None).unwrap()), line(3, b"3 3"));
    assert_eq!(said(reader.next(None).unwrap()), line(1, b"3 2"));
    assert_eq!(said(reader.next(None).unwrap()), line(2, b"3 5"));
    assert_eq!(said(reader.try_next().unwrap()), Said::TimedOut);
    assert_eq!(said(reader.next(Some(Duration::from_millis(1))).unwrap()), Said::TimedOut);
}

#[test]
fn a_flood_on_one_gpu_does_not_silence_the_others() {
    let (mut reader, mut ends) = reader(2);
    let mut flood = ends.remove(0);
    let mut quiet = ends.remove(0);
    let writer = thread::spawn(move || while flood.write_all(&b"9 1 -2 3 4\n".repeat(1000)).is_ok() {});
    let mut others = 0;
    for seq in 0..20 {
        quiet.write_all(format!("3 {seq:x}\n").as_bytes()).unwrap();
        // At most one read of the flood comes first, and one that began before.
        let limit = 2 * 16384 / 11 + 2;
        for _ in 0..limit {
            if let Said::Line(2, _) = said(reader.next(None).unwrap()) {
                others += 1;
                break;
            }
        }
    }
    assert_eq!(others, 20);
    drop(reader);
    writer.join().unwrap();
}

#[test]
fn a_gpu_that_ends_gives_its_last_line_and_leaves_the_others_alone() {
    let (mut reader, mut ends) = reader(2);
    ends[0].write_all(b"3 1\n3 2").unwrap();
    drop(ends.remove(0));
    assert_eq!(said(reader.next(None).unwrap()), line(1, b"3 1"));
    let Next::Record(last) = reader.next(None).unwrap() else { panic!() };
    assert!(!last.line.terminated);
    assert_eq!(said(reader.next(None).unwrap()), Said::Ended(1));
    assert_eq!(reader.clients().map(SmiClient::gpu).collect::<Vec<_>>(), [GpuId(2)]);
    ends[0].write_all(b"4 1\n").unwrap();
    assert_eq!(said(reader.next(None).unwrap()), line(2, b"4 1"));
    drop(ends);
    assert_eq!(said(reader.next(None).unwrap()), Said::Ended(2));
    assert_eq!(said(reader.next(None).unwrap()), Said::Finished);
    assert_eq!(said(reader.next(None).unwrap()), Said::Finished);
}

/// A file descriptor that cannot be read ends with an error that names it.
#[test]
fn a_gpu_that_fails_ends_with_its_error() {
    let (mut reader, mut ends) = reader(1);
    let folder = std::fs::File::open(corpus::folder()).unwrap();
    reader.add(SmiClient::from_fd(GpuId(0x1ea0), OwnedFd::from(folder)));
    ends[0].write_all(b"3 1\n").unwrap();
    assert_eq!(said(reader.next(None).unwrap()), line(1, b"3 1"));
    let Next::Ended(GpuId(0x1ea0), Some(error)) = reader.next(None).unwrap() else { panic!() };
    assert_eq!(error.errno(), rustix::io::Errno::ISDIR);
    assert!(error.to_string().starts_with("cannot read the events of GPU 0x1ea0"), "{error}");
    assert_eq!(said(reader.try_next().unwrap()), Said::TimedOut);
}

#[test]
fn a_gpu_can_be_ended() {
    let (mut reader, mut ends) = reader(3);
    ends[1].write_all(b"3 1\n3 2\n3").unwrap();
    assert_eq!(said(reader.next(None).unwrap()), line(2, b"3 1"));
    reader.end(GpuId(1));
    reader.end(GpuId(2));
    assert_eq!(said(reader.next(None).unwrap()), Said::Ended(1));
    assert_eq!(said(reader.next(None).unwrap()), line(2, b"3 2"));
    assert_eq!(said(reader.next(None).unwrap()), line(2, b"3"));
    assert_eq!(said(reader.next(None).unwrap()), Said::Ended(2));
    ends[2].write_all(b"4 1\n").unwrap();
    assert_eq!(said(reader.next(None).unwrap()), line(3, b"4 1"));
}

#[test]
fn a_waker_ends_the_wait_from_another_thread() {
    let (mut reader, mut ends) = reader(1);
    let waker = reader.waker();
    let other = thread::spawn(move || {
        waker.wake();
        waker.wake();
    });
    assert_eq!(said(reader.next(None).unwrap()), Said::Woken);
    other.join().unwrap();
    // Used twice: said once or twice, and then no more.
    while said(reader.try_next().unwrap()) == Said::Woken {}
    // Lines that were read already come first.
    ends[0].write_all(b"3 1\n3 2\n").unwrap();
    reader.waker().wake();
    assert_eq!(said(reader.next(None).unwrap()), line(1, b"3 1"));
    assert_eq!(said(reader.next(None).unwrap()), line(1, b"3 2"));
    assert_eq!(said(reader.next(None).unwrap()), Said::Woken);
    assert_eq!(said(reader.try_next().unwrap()), Said::TimedOut);
}

#[test]
fn an_empty_source_ends_what_a_name_could_forge() {
    let (mut reader, mut ends) = reader(1);
    let mut next = |bytes: &[u8], lines: usize| {
        ends[0].write_all(bytes).unwrap();
        let mut seen = vec![];
        for _ in 0..lines {
            let Next::Record(record) = reader.next(None).unwrap() else { panic!() };
            seen.push((record.line.trust.is_forgeable(), record.line.drained_before));
        }
        assert_eq!(said(reader.try_next().unwrap()), Said::TimedOut);
        seen
    };
    assert_eq!(next(b"1 5:a\n3 1\n", 2), [(false, false), (true, false)]);
    assert_eq!(next(b"1 5:a\n", 1), [(false, true)]);
    assert_eq!(next(b"3 1\n3 1\n", 2), [(false, true), (false, false)]);
}

/// Also where the reader does nothing but wait for the next line.
#[test]
fn a_wait_begins_with_an_empty_source() {
    let (mut reader, mut ends) = reader(1);
    let writer = thread::spawn(move || {
        for _ in 0..20 {
            ends[0].write_all(b"1 5:a\n").unwrap();
            thread::sleep(Duration::from_millis(2));
        }
        ends
    });
    let mut drained = 0;
    for _ in 0..20 {
        let Next::Record(record) = reader.next(None).unwrap() else { panic!() };
        drained += usize::from(record.line.drained_before);
        assert!(record.line.drained_before || record.line.trust.is_forgeable() || drained == 0);
    }
    // However the two threads are scheduled: some of the lines were waited for.
    assert!(drained > 0);
    writer.join().unwrap();
}

#[test]
fn nothing_is_allocated_between_two_events() {
    let (mut reader, mut ends) = reader(3);
    let mut round = |reader: &mut EventReader| {
        for end in &mut ends {
            end.write_all(b"9 14601738586508 -152990 1ea0 2\n1 5:name\n").unwrap();
        }
        let mut lines = 0;
        while let Next::Record(record) = reader.try_next().unwrap() {
            lines += usize::from(record.line.event.is_ok());
        }
        assert_eq!(lines, 6);
    };
    round(&mut reader);
    assert_eq!(no_alloc::allocations(|| (0..10).for_each(|_| round(&mut reader))), 0);
}

proptest! {
    /// Whatever is written, in whatever pieces, to whichever GPU: each GPU's lines are those of its bytes.
    #[test]
    fn interleaving_does_not_show(
        logs in vec(generate::log(), 1..4),
        cuts in vec((any::<usize>(), 1..60_usize, any::<bool>()), 0..40),
    ) {
        let (mut reader, mut ends) = reader(logs.len() as u32);
        let mut left: Vec<&[u8]> = logs.iter().map(Vec::as_slice).collect();
        let mut seen: Vec<Vec<Vec<u8>>> = vec![vec![]; logs.len()];
        let mut take = |reader: &mut EventReader, limit: usize| {
            for _ in 0..limit {
                let Next::Record(record) = reader.try_next().unwrap() else { break };
                let lines = &mut seen[record.gpu.unwrap().0 as usize - 1];
                match lines.last_mut() {
                    Some(line) if !record.line.part.begins() => line.extend_from_slice(record.line.bytes),
                    _ => lines.push(record.line.bytes.to_vec()),
                }
            }
        };
        for (gpu, size, read) in cuts {
            let gpu = gpu % logs.len();
            let (piece, rest) = left[gpu].split_at(size.min(left[gpu].len()));
            ends[gpu].write_all(piece).unwrap();
            left[gpu] = rest;
            take(&mut reader, if read { 3 } else { 0 });
        }
        for (end, rest) in ends.iter_mut().zip(left) {
            end.write_all(rest).unwrap();
        }
        drop(ends);
        for _ in 0..=logs.len() {
            take(&mut reader, usize::MAX);
        }
        let expected: Vec<Vec<Vec<u8>>> =
            logs.iter().map(|log| lines(log).map(|line| line.bytes.to_vec()).collect()).collect();
        prop_assert_eq!(seen, expected);
    }
}
