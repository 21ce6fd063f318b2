//! Law 6: nothing is allocated between two events.

use core::cell::Cell;
use std::alloc::{GlobalAlloc, Layout, System};

use kfd_smi_proto::{BootNanos, Decoder, MAX_LINE, Paired, Pairer, Statistics, encode, lines, parse_line};
use kfd_smi_testkit::corpus;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

/// Counts what each thread asks for.
struct Counting;

// SAFETY: it hands everything on to the allocator of the system.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of `dealloc`, and `alloc` gave what `System` gave.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

pub(crate) fn allocations(run: impl FnOnce()) -> u64 {
    let before = ALLOCATIONS.get();
    run();
    ALLOCATIONS.get() - before
}

#[test]
fn the_allocator_counts() {
    assert_eq!(allocations(|| drop(core::hint::black_box(Box::new(1)))), 1);
    assert_eq!(allocations(|| drop(core::hint::black_box(vec![0; 100]))), 1);
    assert_eq!(allocations(|| ()), 0);
}

/// Takes what is printed, as a fixed buffer would.
struct Sink(usize);

impl core::fmt::Write for Sink {
    fn write_str(&mut self, text: &str) -> core::fmt::Result {
        self.0 += text.len();
        Ok(())
    }
}

#[test]
fn nothing_is_allocated_from_the_first_chunk_to_the_last_line() {
    use core::fmt::Write as _;

    for log in corpus::logs() {
        let count = allocations(|| {
            let mut sink = Sink(0);
            let mut buffer = [0; MAX_LINE + 1];
            let mut decoder: Decoder = Decoder::new();
            let mut decoded = 0;
            for mut chunk in log.bytes.chunks(1000) {
                while !chunk.is_empty() {
                    chunk = &chunk[decoder.feed(chunk)..];
                    while let Some(line) = decoder.next_line() {
                        decoded += usize::from(line.part.ends());
                        if let Ok(event) = line.event {
                            assert!(encode(&event, &mut buffer).is_ok());
                        }
                        write!(sink, "{:?} {}", line.event, line.trust).unwrap();
                    }
                }
            }
            while let Some(line) = decoder.finish() {
                decoded += usize::from(line.part.ends());
            }
            assert_eq!(lines(&log.bytes).count(), decoded);
            assert_eq!(parse_line(&log.bytes).offset, 0);
            assert_eq!(sink.0 == 0, log.bytes.is_empty());
        });
        assert_eq!(count, 0, "{}", log.path.display());
    }
}

#[test]
fn nothing_is_allocated_while_lines_are_paired_and_counted() {
    let logs = corpus::logs();
    let mut pairer: Box<Pairer> = Box::default();
    let mut statistics = Box::<Statistics>::default();
    let mut intervals = 0;
    let count = allocations(|| {
        let mut put = |pairer: &mut Pairer, line: &kfd_smi_proto::Line<'_>| {
            statistics.line(line);
            pairer.pair(line, None, BootNanos::new(line.offset), |paired| {
                intervals += usize::from(matches!(paired, Paired::Interval(_)));
                statistics.paired(&paired);
            });
        };
        for log in &logs {
            lines(&log.bytes).for_each(|line| put(&mut pairer, &line));
        }
        // More STARTs than there is room for.
        for round in 0..5000_u32 {
            let mut line = *b"9 1000000000 -00000 1ea0 2";
            for (place, digit) in line[14..19].iter_mut().zip([10_000, 1000, 100, 10, 1]) {
                *place = b'0' + (round / digit % 10) as u8;
            }
            put(&mut pairer, &parse_line(&line));
        }
        pairer.expire(BootNanos::MAX, |paired| statistics.paired(&paired));
        assert!(pairer.counts().queue.pushed_out >= 5000 - 1024);
        assert!(statistics.faults.durations.quantile(50, 100).is_some());
    });
    assert_eq!((count, intervals > 0), (0, true));
}
