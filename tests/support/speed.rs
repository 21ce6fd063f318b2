//! Logs of any size to measure on, and what stands in them.
//!
//! The numbers come from a seed, so a log can be made again. Nothing here knows the library: a parser that is measured is
//! right if its [`Checksum`] is that of the [`SpeedLog`].

use crate::checksum::{Checksum, Field};
use crate::kernel::{FORMS, Form, Values};

mod realistic;
mod uniform;

pub use realistic::realistic;
pub use uniform::uniform;

/// A log to measure on.
#[derive(Clone, Debug, Default)]
pub struct SpeedLog {
    /// What it is called.
    pub name: &'static str,
    /// Its bytes: whole lines.
    pub bytes: Vec<u8>,
    /// What its fields come to.
    pub checksum: Checksum,
}

impl SpeedLog {
    fn new(name: &'static str) -> Self {
        Self { name, ..Self::default() }
    }

    /// How many lines it has.
    #[must_use]
    pub const fn lines(&self) -> u64 {
        self.checksum.lines()
    }

    fn push(&mut self, form: &Form, values: &Values) {
        self.bytes.extend_from_slice(&form.print(values));
        add(&mut self.checksum, form, values);
    }
}

/// The form whose format is this.
fn form(format: &str) -> &'static Form {
    FORMS.iter().find(|form| form.format == format).unwrap_or_else(|| panic!("no kernel prints {format:?}"))
}

/// The fields that this form prints.
fn add(sum: &mut Checksum, form: &Form, v: &Values) {
    let (id, conversions) = form.format.split_once(' ').expect("an id with a blank behind it");
    sum.add(Field::Id, u64::from_str_radix(id, 16).expect("a hexadecimal id"));
    let timed = |sum: &mut Checksum| {
        sum.add(Field::Time, v.nanos.cast_unsigned()).add_signed(Field::Pid, v.pid);
    };
    let text = |sum: &mut Checksum| {
        if conversions.contains("%s") {
            sum.add_text(&v.text);
        }
    };
    let letter = |sum: &mut Checksum| {
        if conversions.contains("%c") {
            sum.add_optional(Field::Letter, Some(i32::from(form.letter(v))));
        }
    };
    let from = |sum: &mut Checksum| _ = sum.add(Field::From, v.from.into());
    let range = |sum: &mut Checksum| _ = sum.add(Field::Address, v.address).add(Field::Size, v.size);
    match id {
        "1" | "c" | "d" => {
            sum.add_signed(Field::Pid, v.pid);
            text(sum);
        }
        "2" => {
            let mask = if form.kernels == "5.15" { v.address } else { v.from.into() };
            sum.add(Field::Address, mask).add(Field::Size, v.size);
        }
        "3" | "4" => {
            from(sum);
            text(sum);
        }
        "5" | "6" => {
            timed(sum);
            range(sum);
            from(sum);
            sum.add(Field::To, v.to.into()).add_signed(Field::Trigger, v.trigger);
            if id == "5" {
                sum.add(Field::Prefetch, v.prefetch.into()).add(Field::Preferred, v.preferred.into());
            } else if conversions.ends_with("%d %d\n") {
                sum.add_optional(Field::Error, Some(v.error));
            }
        }
        "7" | "8" => {
            timed(sum);
            sum.add(Field::Address, v.address);
            from(sum);
            letter(sum);
        }
        "9" => {
            timed(sum);
            from(sum);
            sum.add_signed(Field::Trigger, v.trigger);
        }
        "a" => {
            timed(sum);
            from(sum);
            letter(sum);
        }
        "b" => {
            timed(sum);
            range(sum);
            from(sum);
            sum.add_signed(Field::Trigger, v.trigger);
        }
        _ => panic!("no log to measure on has {:?}", form.format),
    }
    sum.end_line();
}

/// Numbers from a seed: `SplitMix64`.
#[derive(Clone, Debug)]
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut value = self.0;
        value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        value ^ (value >> 31)
    }

    /// Below `end`, which is small beside 2^64.
    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    fn within(&mut self, first: u64, last: u64) -> u64 {
        first + self.below(last - first + 1)
    }

    /// So many times out of a thousand.
    fn chance(&mut self, permille: u64) -> bool {
        self.below(1000) < permille
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize]
    }

    /// One of them, each as often as its weight says.
    fn weighted<T: Copy>(&mut self, from: &[(u64, T)]) -> T {
        let mut left = self.below(from.iter().map(|(weight, _)| weight).sum());
        for (weight, value) in from {
            match left.checked_sub(*weight) {
                Some(rest) => left = rest,
                None => return *value,
            }
        }
        unreachable!("less than the sum of the weights")
    }

    /// A number of so many digits or fewer: every number of digits is as likely as the others.
    fn digits(&mut self, base: u64, most: u32) -> u64 {
        let digits = self.within(1, most.into()) as u32;
        let least = if digits == 1 { 0 } else { base.pow(digits - 1) };
        self.within(least, base.pow(digits) - 1)
    }
}

/// No values yet.
const NOTHING: Values = Values {
    nanos: 0,
    pid: 0,
    address: 0,
    size: 0,
    from: 0,
    to: 0,
    prefetch: 0,
    preferred: 0,
    trigger: 0,
    error: 0,
    text: vec![],
    letter: 0,
};

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::corpus;

    /// How often each id comes, by its first byte, in thousandths, and the bytes of a line in tenths.
    fn shape(log: &[u8]) -> (BTreeMap<u8, u64>, usize) {
        let lines: Vec<_> = log.split_inclusive(|byte| *byte == b'\n').collect();
        let mut ids = BTreeMap::new();
        for line in &lines {
            *ids.entry(line[0]).or_insert(0) += 1;
        }
        let count = lines.len();
        (ids.into_iter().map(|(id, n)| (id, n * 1000 / count as u64)).collect(), log.len() * 10 / count)
    }

    /// What is printed counts, and nothing else: else a parser could be right without reading all.
    #[test]
    fn a_value_counts_where_it_is_printed() {
        let changes: [fn(&mut Values); 12] = [
            |v| v.nanos += 1,
            |v| v.pid += 1,
            |v| v.address += 1,
            |v| v.size += 1,
            |v| v.from += 1,
            |v| v.to += 1,
            |v| v.prefetch += 1,
            |v| v.preferred += 1,
            |v| v.trigger += 1,
            |v| v.error += 1,
            |v| v.text.push(b'x'),
            |v| v.letter += 1,
        ];
        for form in FORMS.iter().filter(|form| !form.format.starts_with('e')) {
            let sum = |values: &Values| {
                let mut sum = Checksum::default();
                add(&mut sum, form, values);
                sum
            };
            for (index, change) in changes.iter().enumerate() {
                let mut changed = NOTHING;
                change(&mut changed);
                let is_printed = form.print(&changed) != form.print(&NOTHING);
                assert_eq!(sum(&changed) != sum(&NOTHING), is_printed, "change {index} of {}", form.format);
            }
        }
    }

    #[test]
    fn a_seed_makes_the_same_log_again_and_another_seed_another() {
        for generate in [realistic, uniform] {
            let log = generate(1, 100_000);
            assert!(log.bytes.len() >= 100_000 && log.bytes.ends_with(b"\n"));
            assert_eq!(log.bytes, generate(1, 100_000).bytes);
            assert_ne!(log.bytes, generate(2, 100_000).bytes);
            assert_eq!(log.lines(), log.bytes.iter().filter(|byte| **byte == b'\n').count() as u64);
        }
    }

    #[test]
    fn the_realistic_log_has_the_shape_of_the_one_in_the_corpus() {
        let logs = corpus::logs();
        let log = logs.iter().find(|log| log.path.ends_with("speed/realistic.smi")).unwrap();
        let (there, there_length) = shape(&log.bytes);
        let (here, here_length) = shape(&realistic(1, 2_000_000).bytes);
        for id in b"123456789ab" {
            let (there, here) = (there.get(id).copied().unwrap_or(0), here.get(id).copied().unwrap_or(0));
            assert!(there.abs_diff(here) <= 20, "id {}: {there} and {here} of 1000", char::from(*id));
        }
        assert!(here_length.abs_diff(there_length) <= 10, "{there_length} and {here_length}");
    }

    #[test]
    fn the_uniform_log_has_every_form_and_all_events_alike() {
        let log = uniform(1, 1_000_000);
        let (ids, _) = shape(&log.bytes);
        assert_eq!(ids.keys().copied().collect::<Vec<_>>(), b"123456789abcd");
        assert!(ids.values().all(|share| (60..95).contains(share)), "{ids:?}");
        for tail in [b" \0\n", b" R\n", b" 0\n"] {
            assert!(log.bytes.windows(3).any(|bytes| bytes == tail));
        }
    }
}
