//! What the fuzz targets in `fuzz/` do with their bytes, so that the tests replay the seeds through the same laws.
//!
//! Where bytes stand for something (cuts, events, reads), they are read from the front, each number in as few bytes as
//! will do: a seed can be written by hand, and what was found can be read. `fuzz/README.md` lists the layouts.

use arbitrary::{Arbitrary as _, Result, Unstructured};
use kfd_smi_proto::{Event, lines};

use crate::capture_law::{self, Step};
use crate::kernel::{FORMS, Values};
use crate::laws;
use crate::pair_law;

/// A fuzz target: `fuzz/fuzz_targets/NAME.rs`, with its seeds in `fuzz/seeds/NAME/`.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Its name.
    pub name: &'static str,
    /// Panics if a law does not hold for the bytes.
    pub run: fn(&[u8]),
}

/// Every target.
pub const TARGETS: &[Target] = &[
    Target { name: "line", run: line },
    Target { name: "decoder", run: decoder },
    Target { name: "event", run: event },
    Target { name: "trust", run: trust },
    Target { name: "capture", run: capture },
    Target { name: "fast", run: fast },
    Target { name: "pair", run: pair },
];

/// Any bytes as a log: laws 1, 2, 4 and 5.
///
/// # Panics
///
/// If a law does not hold.
pub fn line(data: &[u8]) {
    laws::total(data);
    laws::open(data);
    let mut before = 0;
    // Each costs as much as the whole input.
    for line in lines(data).take(8) {
        let behind = (before + line.bytes.len() + 1).min(data.len());
        laws::local(&data[..before], line.bytes, &data[behind..]);
        if let Ok(event) = line.event {
            laws::round_trip_of_event(&event);
        }
        before = behind;
    }
}

/// A way to cut a log, and the log: laws 1, 3 and 6 for decoders that are small and large.
///
/// # Panics
///
/// If a law does not hold.
pub fn decoder(data: &[u8]) {
    let mut data = Unstructured::new(data);
    let Ok((sizes, drained)) = cuts(&mut data) else { return };
    let log = data.take_rest();
    laws::total(log);
    laws::chunking_is_invisible(log, &sizes);
    laws::bounded(log);
    laws::trust_is_what_names_leave(log, &sizes, &drained);
}

/// Sizes of chunks, and whether the source was seen empty behind each.
fn cuts(data: &mut Unstructured<'_>) -> Result<(Vec<usize>, Vec<bool>)> {
    let count = data.int_in_range(0..=7_u8)?;
    let cuts = (0..count).map(|_| u16::arbitrary(data)).collect::<Result<Vec<_>>>()?;
    Ok(cuts.into_iter().map(|cut| (usize::from(cut & 0x7fff), cut & 0x8000 != 0)).unzip())
}

/// An event, and what a newer kernel appends to it: laws 4, 5 and 9.
///
/// # Panics
///
/// If a law does not hold.
pub fn event(data: &[u8]) {
    let mut data = Unstructured::new(data);
    let Ok(event) = Event::arbitrary(&mut data) else { return };
    laws::round_trip_of_event(&event);
    laws::open(&laws::encoded(&event));
    laws::what_is_appended_is_kept(&event, data.take_rest());
}

/// Events of processes with hostile names, and the same bytes as a log: what can be forged is marked, and no more.
///
/// # Panics
///
/// If a law does not hold.
pub fn trust(data: &[u8]) {
    laws::trust_is_what_names_leave(data, &[], &[false]);
    let mut data = Unstructured::new(data);
    let (mut events, mut drained) = (vec![], vec![]);
    while !data.is_empty() {
        let Ok((event, empty_behind)) = hostile_event(&mut data) else { break };
        events.push(event);
        drained.push(empty_behind);
    }
    laws::forged_lines_are_marked(&events);
    let sizes: Vec<usize> = events.iter().map(|event| event.len() + 1).collect();
    let log: Vec<u8> = events.iter().flat_map(|event| [event, &b"\n"[..]].concat()).collect();
    laws::trust_is_what_names_leave(&log, &sizes, &drained);
}

/// An event without its newline, and whether the source was seen empty behind it.
fn hostile_event(data: &mut Unstructured<'_>) -> Result<(Vec<u8>, bool)> {
    let kind = u8::arbitrary(data)?;
    let drained = kind & 0x80 != 0;
    let number = u8::arbitrary(data)?;
    let head = match kind & 3 {
        0 => format!("1 {number:x}:"),
        1 => format!("c {number:x} "),
        2 => format!("d {number:x} "),
        _ => {
            let others: Vec<_> =
                FORMS.iter().filter(|form| !form.format.starts_with(['1', 'c', 'd'])).collect();
            let values = Values {
                nanos: u32::arbitrary(data)?.into(),
                pid: number.into(),
                address: number.into(),
                size: 1,
                from: u16::arbitrary(data)?.into(),
                to: 0x1ea0,
                prefetch: 0,
                preferred: u32::MAX,
                trigger: number.into(),
                error: 0,
                text: name(data)?.into_iter().filter(|byte| *byte != b'\n').collect(),
                letter: usize::from(number),
            };
            let mut line = others[usize::from(kind >> 2 & 0x1f) % others.len()].print(&values);
            line.pop();
            return Ok((line, drained));
        }
    };
    Ok(([head.into_bytes(), name(data)?].concat(), drained))
}

/// What the kernel keeps of the name that a process gives itself: any 15 bytes but NUL.
fn name(data: &mut Unstructured<'_>) -> Result<Vec<u8>> {
    let length = data.int_in_range(0..=15_usize)?.min(data.len());
    Ok(data.bytes(length)?.iter().copied().filter(|byte| *byte != 0).collect())
}

/// Any bytes as a capture file. Those that begin with a NUL are reads that are recorded, too: law 8.
///
/// # Panics
///
/// If a law does not hold.
pub fn capture(data: &[u8]) {
    capture_law::every_line_of_a_file_is_accounted_for(data);
    let Some((0, steps)) = data.split_first() else {
        capture_law::a_cut_file_says_less(data, [data.len() / 2]);
        let copy = capture_law::copy(data, false);
        assert!(capture_law::copy(&copy, false) == copy, "a copy of a copy is another file");
        return;
    };
    let mut data = Unstructured::new(steps);
    let Ok((kept, rotated, length, room)) = data.arbitrary::<(u8, u8, u16, u16)>() else { return };
    let steps = steps_of(&mut data);
    capture_law::capture_is_the_identity(&steps);
    capture_law::gaps_do_not_show(&steps, &bits(kept), &bits(rotated));
    capture_law::redaction_keeps_the_rest(&steps);
    capture_law::a_full_disk_loses_nothing(&steps, usize::from(room), kept & 1 != 0);
    let (_, file) = capture_law::record(&steps, false);
    capture_law::a_cut_file_says_less(&file, [usize::from(length) % (file.len() + 1)]);
}

fn bits(byte: u8) -> [bool; 8] {
    core::array::from_fn(|bit| byte >> bit & 1 != 0)
}

/// What happens to a recorder. A read is of the bytes that follow, or of one byte over and over: decoders are large.
fn steps_of(data: &mut Unstructured<'_>) -> Vec<Step> {
    let mut steps = vec![];
    let mut room = 40_000;
    while !data.is_empty() && steps.len() < 24 {
        let Ok((kind, time, length)) = data.arbitrary::<(u8, u8, u8)>() else { break };
        let gpu = [1, 0x1ea0, 0xfc7d, u32::MAX][usize::from(kind & 3)];
        let mut bytes = match kind >> 4 & 3 {
            0 => {
                steps.push(Step::End(gpu));
                continue;
            }
            1 => {
                let Ok(byte) = u8::arbitrary(data) else { break };
                vec![byte; (usize::from(length) * 128).min(room)]
            }
            _ => data.bytes(usize::from(length).min(data.len())).unwrap_or_default().to_vec(),
        };
        room = room.saturating_sub(bytes.len());
        bytes.extend((kind & 8 != 0).then_some(b'\n'));
        steps.push(Step::Read { gpu, arrival: 1 << (time % 64), drained: kind & 4 != 0, bytes });
    }
    steps
}

/// Lines, each read in both ways: law 2.
///
/// # Panics
///
/// If the law does not hold.
pub fn fast(data: &[u8]) {
    data.split(|byte| *byte == b'\n').take(16).for_each(laws::fast_path_agrees);
}

/// What a pairer sees: laws 6 and 7.
///
/// # Panics
///
/// If a law does not hold.
pub fn pair(data: &[u8]) {
    pair_law::pair(data);
}
