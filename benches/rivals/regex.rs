//! One regular expression per event, over bytes.

use std::str;
use std::sync::LazyLock;

use kfd_smi_testkit::checksum::{Checksum, Field};
use regex::bytes::{CaptureLocations, Regex};

/// What the groups of an expression are.
#[derive(Clone, Copy)]
enum Kind {
    Hex,
    Decimal,
    Optional,
    Letter,
    Text,
}

use Kind::{Decimal, Hex, Letter, Optional, Text};

type Group = (Field, Kind);

/// The ids, the expression for what stands behind the blank, and its groups.
const EVENTS: [(&str, &str, &[Group]); 10] = [
    ("1", "([0-9a-f]+):(.*)", &[(Field::Pid, Hex), (Field::Text, Text)]),
    ("2", "([0-9a-f]+):([0-9a-f]+)", &[(Field::Address, Hex), (Field::Size, Hex)]),
    ("34", "([0-9a-f]+)(?: (.*))?", &[(Field::From, Hex), (Field::Text, Text)]),
    (
        "5",
        r"([0-9]+) -(-?[0-9]+) @([0-9a-f]+)\(([0-9a-f]+)\) ([0-9a-f]+)->([0-9a-f]+) ([0-9a-f]+):([0-9a-f]+) (-?[0-9]+)",
        &[
            (Field::Time, Decimal),
            (Field::Pid, Decimal),
            (Field::Address, Hex),
            (Field::Size, Hex),
            (Field::From, Hex),
            (Field::To, Hex),
            (Field::Prefetch, Hex),
            (Field::Preferred, Hex),
            (Field::Trigger, Decimal),
        ],
    ),
    (
        "6",
        r"([0-9]+) -(-?[0-9]+) @([0-9a-f]+)\(([0-9a-f]+)\) ([0-9a-f]+)->([0-9a-f]+) (-?[0-9]+)(?: (-?[0-9]+))?",
        &[
            (Field::Time, Decimal),
            (Field::Pid, Decimal),
            (Field::Address, Hex),
            (Field::Size, Hex),
            (Field::From, Hex),
            (Field::To, Hex),
            (Field::Trigger, Decimal),
            (Field::Error, Optional),
        ],
    ),
    (
        "78",
        r"([0-9]+) -(-?[0-9]+) @([0-9a-f]+)\(([0-9a-f]+)\) (.)",
        &[
            (Field::Time, Decimal),
            (Field::Pid, Decimal),
            (Field::Address, Hex),
            (Field::From, Hex),
            (Field::Letter, Letter),
        ],
    ),
    (
        "9",
        "([0-9]+) -(-?[0-9]+) ([0-9a-f]+) (-?[0-9]+)",
        &[(Field::Time, Decimal), (Field::Pid, Decimal), (Field::From, Hex), (Field::Trigger, Decimal)],
    ),
    (
        "a",
        "([0-9]+) -(-?[0-9]+) ([0-9a-f]+)(?: (.))?",
        &[(Field::Time, Decimal), (Field::Pid, Decimal), (Field::From, Hex), (Field::Letter, Letter)],
    ),
    (
        "b",
        r"([0-9]+) -(-?[0-9]+) @([0-9a-f]+)\(([0-9a-f]+)\) ([0-9a-f]+) (-?[0-9]+)",
        &[
            (Field::Time, Decimal),
            (Field::Pid, Decimal),
            (Field::Address, Hex),
            (Field::Size, Hex),
            (Field::From, Hex),
            (Field::Trigger, Decimal),
        ],
    ),
    ("cd", "([0-9a-f]+) (.*)", &[(Field::Pid, Hex), (Field::Text, Text)]),
];

struct Event {
    regex: Regex,
    groups: &'static [Group],
}

/// By id.
static COMPILED: LazyLock<[Option<Event>; 14]> = LazyLock::new(|| {
    std::array::from_fn(|id| {
        let id = char::from_digit(id as u32, 16)?;
        let (_, regex, groups) = EVENTS.iter().find(|(ids, ..)| ids.contains(id))?;
        // `(?-u)`: a name is bytes. `(?s)` is not needed, since no line holds a newline.
        let regex = Regex::new(&format!("^(?-u){id} {regex}$")).expect("an expression");
        Some(Event { regex, groups })
    })
});

pub(crate) fn read(log: &[u8]) -> Checksum {
    let mut sum = Checksum::default();
    let mut locations: [Option<CaptureLocations>; 14] =
        std::array::from_fn(|id| Some(COMPILED[id].as_ref()?.regex.capture_locations()));
    let mut rest = log;
    while let Some(newline) = memchr::memchr(b'\n', rest) {
        if line(&rest[..newline], &mut locations, &mut sum).is_none() {
            break;
        }
        rest = &rest[newline + 1..];
    }
    sum
}

fn line(line: &[u8], locations: &mut [Option<CaptureLocations>; 14], sum: &mut Checksum) -> Option<()> {
    let id = char::from(*line.first()?).to_digit(16)? as usize;
    let event = COMPILED.get(id)?.as_ref()?;
    let locations = locations.get_mut(id)?.as_mut()?;
    event.regex.captures_read(locations, line)?;
    sum.add(Field::Id, id as u64);
    for (group, (field, kind)) in event.groups.iter().enumerate() {
        let Some((begin, end)) = locations.get(group + 1) else { continue };
        let bytes = &line[begin..end];
        let text = || str::from_utf8(bytes).ok();
        match kind {
            Hex => _ = sum.add(*field, u64::from_str_radix(text()?, 16).ok()?),
            Decimal if *field == Field::Time => _ = sum.add(*field, text()?.parse().ok()?),
            Decimal => _ = sum.add_signed(*field, text()?.parse().ok()?),
            Optional => _ = sum.add_optional(*field, Some(text()?.parse().ok()?)),
            Letter => _ = sum.add_optional(*field, bytes.first().copied().map(i32::from)),
            Text => _ = sum.add_text(bytes),
        }
    }
    sum.end_line();
    Some(())
}
