//! The fast way to read a line against the grammar.

use kfd_smi_testkit::kernel::{FORMS, Values};
use kfd_smi_testkit::{corpus, laws};
use proptest::prelude::*;

use crate::generate;

proptest! {
    #[test]
    fn both_ways_say_the_same(line in generate::any_line()) {
        laws::fast_path_agrees(&line);
    }
}

#[test]
fn both_ways_say_the_same_of_the_corpus() {
    for log in corpus::logs() {
        for line in log.bytes.split(|byte| *byte == b'\n') {
            laws::fast_path_agrees(line);
        }
    }
}

/// The xorshift generator of Marsaglia.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    /// A number of any width.
    fn number(&mut self) -> u64 {
        self.next() >> self.below(64)
    }

    fn values(&mut self) -> Values {
        Values {
            nanos: (self.number() >> 1) as i64,
            pid: self.number() as i32,
            address: self.number(),
            size: self.number(),
            from: self.number() as u32,
            to: self.number() as u32,
            prefetch: self.number() as u32,
            preferred: self.number() as u32,
            trigger: self.below(6) as i32,
            error: -(self.below(200) as i32),
            text: b"python3".to_vec(),
            letter: self.below(4),
        }
    }
}

/// The neighbours of every class of bytes that the formats tell apart.
const BYTES: &[u8] = b"\0\t\n\r !'()*,-./019:;=>?@AFGLWX`afghmuwz\x7f\x80\xb0\xb9\xe1\xf0\xfa\xff";

/// Each line is printed as a kernel does, and then up to three of its bytes are replaced, removed, doubled or swapped.
#[test]
fn both_ways_say_the_same_of_a_million_mutated_lines() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut agreed_on_events = 0_u32;
    for _ in 0..1_000_000 {
        let form = FORMS[random.below(FORMS.len())];
        let mut line = form.print(&random.values());
        for _ in 0..random.below(4) {
            let at = random.below(line.len());
            match random.below(8) {
                0 => _ = line.remove(at),
                1 => line.insert(at, line[at]),
                2 => line.insert(at, BYTES[random.below(BYTES.len())]),
                3 => line.swap(at, at.saturating_sub(1)),
                _ => line[at] = BYTES[random.below(BYTES.len())],
            }
            if line.is_empty() {
                break;
            }
        }
        laws::fast_path_agrees(&line);
        agreed_on_events += u32::from(kfd_smi_proto::parse_line(&line).event.is_ok());
    }
    // Neither only good lines nor only bad ones.
    assert!((300_000..900_000).contains(&agreed_on_events), "{agreed_on_events} events");
}
