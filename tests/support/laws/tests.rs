//! The laws on a handful of inputs: fast enough for Miri, and for a run after every change to a line of the library.
//!
//! Property tests and fuzz targets call the same laws on what they make up.

use super::*;
use crate::kernel::{FORMS, Values};

/// Numbers of the usual size, none at all, and the largest.
fn values() -> [Values; 3] {
    let usual = Values {
        nanos: 14_601_738_586_508,
        pid: 152_990,
        address: 0x7_f0f1_5200,
        size: 0x2c02,
        from: 0,
        to: 0x1ea0,
        prefetch: 0x1ea0,
        preferred: u32::MAX,
        trigger: 1,
        error: -12,
        text: b"my app: 1 2".to_vec(),
        letter: 0,
    };
    let none = Values {
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
        letter: 1,
    };
    let largest = Values {
        nanos: i64::MAX,
        pid: i32::MIN,
        address: u64::MAX,
        size: u64::MAX,
        from: u32::MAX,
        to: u32::MAX,
        prefetch: u32::MAX,
        preferred: u32::MAX,
        trigger: i32::MIN,
        error: i32::MAX,
        text: (1..16).map(|byte| if byte == b'\n' { b'\\' } else { byte }).collect(),
        letter: 2,
    };
    [usual, none, largest]
}

/// Every form of every event, once with each of the values.
fn kernel_lines() -> Vec<Vec<u8>> {
    values().iter().flat_map(|values| FORMS.iter().map(|form| form.print(values))).collect()
}

/// What no kernel prints, and a last line without newline.
fn hostile() -> Vec<u8> {
    let long = [b"5 ".as_slice(), &[b'x'; 300]].concat();
    let lines: [&[u8]; 14] = [
        b"1 2559e:a",
        b"9 1 -2 3 4",
        b"\xff\xfe\x1b[2J\\\"",
        b"",
        b"\0",
        b"3 1\r",
        b"f what is this?",
        b"100000000 x",
        b"9 99999999999999999999 -1 2 3",
        b"7 1 -2 @3(4) WW",
        b"6 1 -2 @3(4) 0->1 1 later and more",
        b"a 1 -2 3  \0 x",
        &long,
        b"8 1 -2 @3(4",
    ];
    lines.join(&b'\n')
}

#[test]
fn laws_of_bytes() {
    // Miri takes half a second for each line.
    let lines = if cfg!(miri) { FORMS.len() } else { usize::MAX };
    let log: Vec<u8> = kernel_lines().into_iter().take(lines).flatten().chain(hostile()).collect();
    total(&log);
    open(&log);
    bounded(&log);
    chunking_is_invisible(&log, &[7, 1, 13]);
}

/// Kernels before 5.18 hand out 8 bytes a read, and a byte is the least.
#[test]
#[cfg_attr(miri, ignore = "slow there, and the library's own tests go through chunks of a byte")]
fn chunks_of_a_byte_and_of_eight() {
    let log = [&hostile(), &b"\n"[..], &kernel_lines()[..FORMS.len()].concat()].concat();
    for sizes in [&[1], &[8]] {
        chunking_is_invisible(&log, sizes);
    }
}

#[test]
fn laws_of_lines() {
    for line in kernel_lines() {
        round_trip_of_line(&line);
        local(b"1 5:a", &line, b"-12\n");
        local(b"", &line[..line.len() / 2], &line);
        let event = parse_line(&line).event.unwrap();
        round_trip_of_event(&event);
    }
}

#[test]
fn law_of_names() {
    let name = |name: &[u8]| [b"1 2559e:", name].concat();
    forged_lines_are_marked(&[
        name(b"a\n9 1 -2 3 4"),
        b"3 1 job hang on ring:gfx_0.0.0".to_vec(),
        name(b"\n1 5:x\n1 5:y"),
        name(b"\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n"),
        b"a 14601738599999 -152990 1ea0 \0".to_vec(),
    ]);
}
