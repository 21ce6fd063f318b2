//! What the laws are tried on: lines as kernels print them, the same damaged, and worse.

use kfd_smi_testkit::kernel::{FORMS, Form, Values};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

/// Numbers of every width, and the ends of their range.
fn number() -> impl Strategy<Value = u64> {
    prop_oneof![
        (any::<u64>(), 0..64_u32).prop_map(|(value, width)| value >> width),
        select(vec![0, 1, 9, 10, 15, 16, u32::MAX.into(), u64::MAX]),
    ]
}

fn signed() -> impl Strategy<Value = i32> {
    number().prop_flat_map(|value| select(vec![value as i32, (value as i32).wrapping_neg(), !value as i32]))
}

/// Text as it can stand in a line.
fn text(bytes: impl Strategy<Value = u8>, longest: usize) -> impl Strategy<Value = Vec<u8>> {
    vec(bytes.prop_filter("a newline ends the line", |byte| *byte != b'\n'), 0..=longest)
}

/// What the driver prints from.
pub(crate) fn values() -> impl Strategy<Value = Values> {
    let text = prop_oneof![
        text(prop_oneof![b' '..=b'~', any::<u8>()], 15),
        select(vec![b"python3".to_vec(), b"job hang on ring:gfx_0.0.0".to_vec(), b"-1 5".to_vec()]),
    ];
    let numbers = (number(), signed(), number(), number(), number(), number());
    (numbers, number(), number(), signed(), signed(), text, any::<usize>()).prop_map(
        |(numbers, prefetch, preferred, trigger, error, text, letter)| {
            let (nanos, pid, address, size, from, to) = numbers;
            Values {
                nanos: (nanos >> 1) as i64,
                pid,
                address,
                size,
                from: from as u32,
                to: to as u32,
                prefetch: prefetch as u32,
                preferred: preferred as u32,
                trigger,
                error,
                text,
                letter,
            }
        },
    )
}

pub(crate) fn form() -> impl Strategy<Value = Form> {
    select(FORMS)
}

/// A line that some kernel prints, newline included.
pub(crate) fn kernel_line() -> impl Strategy<Value = Vec<u8>> {
    (form(), values()).prop_map(|(form, values)| form.print(&values))
}

/// What can happen to a line on its way.
#[derive(Clone, Debug)]
enum Damage {
    Replace(u8),
    Insert(u8),
    Remove,
    Double,
    CutBehind,
    CutBefore,
}

fn damage() -> impl Strategy<Value = Damage> {
    let byte = || prop_oneof![any::<u8>(), select(b"\0\n\r\t -+@():>xAF09f".to_vec())];
    prop_oneof![
        byte().prop_map(Damage::Replace),
        byte().prop_map(Damage::Insert),
        Just(Damage::Remove),
        Just(Damage::Double),
        Just(Damage::CutBehind),
        Just(Damage::CutBefore),
    ]
}

/// A line of a kernel, damaged once or more.
pub(crate) fn mutated_line() -> impl Strategy<Value = Vec<u8>> {
    (kernel_line(), vec((damage(), any::<usize>()), 1..4)).prop_map(|(mut line, damages)| {
        for (damage, at) in damages {
            if line.is_empty() {
                break;
            }
            let at = at % line.len();
            match damage {
                Damage::Replace(byte) => line[at] = byte,
                Damage::Insert(byte) => line.insert(at, byte),
                Damage::Remove => _ = line.remove(at),
                Damage::Double => line.insert(at, line[at]),
                Damage::CutBehind => line.truncate(at),
                Damage::CutBefore => _ = line.drain(..at),
            }
        }
        line
    })
}

/// A line or something like it.
pub(crate) fn any_line() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        4 => kernel_line(),
        8 => mutated_line(),
        1 => vec(any::<u8>(), 0..40),
        // Around the buffer of the smallest decoder, and around the longest line.
        1 => (prop_oneof![120..140_usize, 250..260_usize, 4090..4100_usize], any::<u8>())
            .prop_map(|(length, byte)| [vec![byte; length], b"\n".to_vec()].concat()),
    ]
}

/// A log of some such lines.
pub(crate) fn log() -> impl Strategy<Value = Vec<u8>> {
    vec(any_line(), 0..12).prop_map(|lines| lines.concat())
}
