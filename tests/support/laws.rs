//! What holds for every input.

use std::collections::BTreeSet;

use kfd_smi_proto::{
    Decoder, Event, GpuId, Line, MAX_LINE, ParseError, ParseErrorKind, Part, encode, lines, parse_line,
};

use crate::chunks;

/// The size of a decoder that holds every event. Miri fills a byte of a buffer in a millisecond, so it gets the least.
const ROOMY: usize = if cfg!(miri) { MAX_LINE + 1 } else { 16384 };

/// Everything about a line but its event, owned; the event as its own bytes or its error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    bytes: Vec<u8>,
    offset: u64,
    event: Result<Vec<u8>, ParseError>,
    forgeable: bool,
    foreign: bool,
    terminated: bool,
    part: Part,
    drained: bool,
}

impl Seen {
    fn new(line: &Line<'_>) -> Self {
        Self {
            bytes: line.bytes.to_vec(),
            offset: line.offset,
            event: line.event.map(|event| encoded(&event)),
            forgeable: line.trust.is_forgeable(),
            foreign: line.trust.is_foreign(),
            terminated: line.terminated,
            part: line.part,
            drained: line.drained_before,
        }
    }
}

/// The line of an event that can be encoded.
///
/// # Panics
///
/// If it cannot.
#[must_use]
pub fn encoded(event: &Event<'_>) -> Vec<u8> {
    encode(event, &mut [0; MAX_LINE + 1]).unwrap_or_else(|error| panic!("{event:?}: {error}")).to_vec()
}

fn shown(bytes: &[u8]) -> String {
    bytes.escape_ascii().to_string()
}

/// The lines of the input in chunks of these sizes, through a decoder of `N` bytes.
#[must_use]
pub fn decode<const N: usize>(input: &[u8], sizes: &[usize]) -> Vec<Seen> {
    decode_with(Decoder::<N>::new(), input, sizes, &[])
}

/// The same, with the source seen empty behind those chunks for which `drained` says so, over and over.
fn decode_with<const N: usize>(
    decoder: Decoder<N>,
    input: &[u8],
    sizes: &[usize],
    drained: &[bool],
) -> Vec<Seen> {
    let mut decoder = Box::new(decoder);
    let mut drained = drained.iter().cycle();
    let mut seen = vec![];
    for mut chunk in chunks::cut(input, sizes) {
        while !chunk.is_empty() {
            let fed = decoder.feed(chunk);
            chunk = &chunk[fed..];
            loop {
                let has_line = decoder.has_line();
                let line = decoder.next_line();
                assert_eq!(has_line, line.is_some(), "has_line() is of another opinion than next_line()");
                let Some(line) = line else { break };
                seen.push(Seen::new(&line));
            }
            assert!(!decoder.buffer().is_empty(), "the buffer is full after the last line was taken");
        }
        if drained.next() == Some(&true) {
            decoder.source_drained();
        }
    }
    loop {
        let has_rest = decoder.has_rest();
        let line = decoder.finish();
        assert_eq!(has_rest, line.is_some(), "has_rest() is of another opinion than finish()");
        let Some(line) = line else { return seen };
        seen.push(Seen::new(&line));
    }
}

/// Law 1, total: no input panics, and every byte is accounted for.
///
/// # Panics
///
/// If the law does not hold.
pub fn total(input: &[u8]) {
    let whole: Vec<Seen> = lines(input).map(|line| Seen::new(&line)).collect();
    for seen in [whole, decode::<128>(input, &[]), decode::<ROOMY>(input, &[])] {
        let mut again = vec![];
        for line in &seen {
            assert_eq!(line.offset, again.len() as u64, "the offset of {line:?}");
            again.extend_from_slice(&line.bytes);
            if line.terminated {
                again.push(b'\n');
            }
        }
        assert!(again == input, "lines and pieces are not the input: {}", shown(input));
    }
    for line in lines(input) {
        let (shown, offset) = match line.event {
            Ok(event) => (event.to_string(), 0),
            Err(error) => (error.to_string(), error.offset),
        };
        assert!(shown.bytes().all(|byte| (b' '..=b'~').contains(&byte)), "not printable: {shown:?}");
        assert!(offset <= line.bytes.len(), "an error behind the line: {line:?}");
        assert!(format!("{line:?}").is_ascii());
    }
}

/// Law 2, local: what a line means depends on no byte before or behind it.
///
/// # Panics
///
/// If the law does not hold.
pub fn local(before: &[u8], line: &[u8], behind: &[u8]) {
    let line = line.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let alone = parse_line(line);
    let context = [before, b"\n", line, b"\n", behind].concat();
    let offset = before.len() as u64 + 1;
    let within = lines(&context).find(|line| line.offset == offset);
    let within = within.unwrap_or_else(|| panic!("no line where {} stands", shown(line)));
    assert_eq!(within.bytes, alone.bytes);
    assert_eq!(within.event, alone.event, "{} in {}", shown(line), shown(&context));
    assert_eq!(parse_line(&context[before.len() + 1..]).event, alone.event);
}

/// Law 2 for the two ways to read a line: the fast one says what the grammar says, or nothing.
///
/// Without its newline a line is read by the grammar alone.
///
/// # Panics
///
/// If the law does not hold.
pub fn fast_path_agrees(line: &[u8]) {
    let line = line.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let grammar = parse_line(line).event;
    // Alone it is read in a window of its own; with enough behind it, where it stands.
    for behind in [b"".as_slice(), &[b'9'; 160], &[b' '; 160], &[0xff; 160]] {
        let log = [line, b"\n", behind].concat();
        assert_eq!(parse_line(&log).event, grammar, "{} with {} behind it", shown(line), shown(behind));
    }
}

/// Law 3: chunking is invisible.
///
/// # Panics
///
/// If the law does not hold.
pub fn chunking_is_invisible(input: &[u8], sizes: &[usize]) {
    assert_eq!(decode::<128>(input, sizes), decode::<128>(input, &[]), "{sizes:?}: {}", shown(input));
    // A decoder that holds every possible event says what is said of the whole log.
    let joined = join(decode::<{ MAX_LINE + 1 }>(input, sizes));
    let whole: Vec<Seen> = lines(input).map(|line| Seen::new(&line)).collect();
    assert_eq!(joined, whole, "{sizes:?}: {}", shown(input));
}

/// Puts the pieces of long lines together.
fn join(seen: Vec<Seen>) -> Vec<Seen> {
    let mut joined: Vec<Seen> = vec![];
    for piece in seen {
        match joined.last_mut() {
            Some(line) if !piece.part.begins() => {
                assert!(!line.part.ends(), "a piece without beginning: {piece:?}");
                line.bytes.extend_from_slice(&piece.bytes);
                line.terminated = piece.terminated;
                line.part = if piece.part.ends() { Part::Whole } else { Part::First };
            }
            _ => joined.push(piece),
        }
    }
    joined
}

/// Laws 4 and 9: what can be constructed can be encoded, and what was encoded is parsed to the same event.
///
/// # Panics
///
/// If the law does not hold.
pub fn round_trip_of_event(event: &Event<'_>) {
    let bytes = encoded(event);
    let line = parse_line(&bytes);
    assert!(line.terminated && line.bytes.len() + 1 == bytes.len(), "more than one line: {}", shown(&bytes));
    assert_eq!(line.event, Ok(*event), "{}", shown(&bytes));
    let needed = bytes.len();
    assert!(encode(event, &mut vec![0; needed]).is_ok());
    assert!(encode(event, &mut vec![0; needed - 1]).is_err());
}

/// Law 4 for lines: what a kernel prints is written again as it was.
///
/// # Panics
///
/// If the law does not hold.
pub fn round_trip_of_line(line: &[u8]) {
    let event = parse_line(line).event.unwrap_or_else(|error| panic!("{}: {error}", shown(line)));
    assert_eq!(shown(&encoded(&event)), shown(line));
}

/// Law 5, open: whatever is read as an event is written so that it is read as the same event, and nothing
/// that is not a number is lost.
///
/// # Panics
///
/// If the law does not hold.
pub fn open(input: &[u8]) {
    for line in lines(input) {
        let Ok(event) = line.event else { continue };
        let bytes = encoded(&event);
        assert_eq!(parse_line(&bytes).event, Ok(event), "{}", shown(line.bytes));
        let digits_aside =
            |bytes: &[u8]| bytes.iter().filter(|byte| **byte != b'0' && **byte != b'-').count();
        assert_eq!(digits_aside(&bytes), digits_aside(line.bytes) + 1, "{}", shown(line.bytes));
    }
}

/// Law 5 for kernels to come: what is appended to an event is kept, and changes nothing else.
///
/// # Panics
///
/// If the law does not hold.
pub fn what_is_appended_is_kept(event: &Event<'_>, appended: &[u8]) {
    let appended = appended.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let mut bytes = encoded(event);
    bytes.pop();
    // No number and no single letter, which could be a field of this kernel.
    bytes.extend_from_slice(b" ++");
    bytes.extend_from_slice(appended);
    let line = parse_line(&bytes);
    if bytes.len() > MAX_LINE {
        assert_eq!(line.event.map_err(|error| error.kind), Err(ParseErrorKind::LineTooLong));
        return;
    }
    // It is known by its shape alone, which is now another.
    if matches!(event, Event::DroppedEvents(_)) {
        return;
    }
    let longer = line.event.unwrap_or_else(|error| panic!("{}: {error}", shown(&bytes)));
    assert_eq!(shown(&encoded(&longer)), shown(&[&bytes[..], b"\n"].concat()));
    let facts = |event: &Event<'_>| (event.name(), event.time(), event.pid(), event.gpu());
    assert_eq!(facts(&longer), facts(event), "{}", shown(&bytes));
    let holds_text = matches!(
        event,
        Event::VmFault(_)
            | Event::GpuPreReset(_)
            | Event::GpuPostReset(_)
            | Event::ProcessStart(_)
            | Event::ProcessEnd(_)
            | Event::Unknown(_)
    );
    match longer.trailing() {
        Some(trailing) if event.trailing().is_none() => assert_eq!(&trailing.as_bytes()[2..], appended),
        Some(trailing) => assert!(trailing.as_bytes().ends_with(&bytes[bytes.len() - appended.len() - 3..])),
        None => assert!(holds_text, "nothing is appended: {}", shown(&bytes)),
    }
}

/// Law 6, bounded: pieces fit into the buffer, and a line in pieces is one malformed line.
///
/// # Panics
///
/// If the law does not hold.
pub fn bounded(input: &[u8]) {
    const N: usize = 128;
    let seen = decode::<N>(input, &[]);
    for line in &seen {
        assert!(line.bytes.len() <= N, "a piece of {} bytes", line.bytes.len());
        let is_too_long = |error: ParseError| error.kind == ParseErrorKind::LineTooLong;
        assert!(line.part == Part::Whole || line.event.clone().is_err_and(is_too_long), "{line:?}");
    }
    let events = seen.iter().filter(|line| line.event.is_ok()).count();
    let malformed = seen.iter().filter(|line| line.event.is_err() && line.part.ends()).count();
    let begun = seen.iter().filter(|line| line.part.begins()).count();
    let newlines = input.iter().filter(|byte| **byte == b'\n').count();
    let unterminated = usize::from(!input.is_empty() && !input.ends_with(b"\n"));
    assert_eq!(events + malformed, begun);
    assert_eq!(begun, newlines + unterminated, "{}", shown(input));
}

/// Trust: whatever the names, a line that the driver did not begin is marked.
///
/// Each event is a line of the driver whose name, if it carries one, can hold newlines: at most 15 bytes.
///
/// # Panics
///
/// If the law does not hold.
pub fn forged_lines_are_marked(events: &[Vec<u8>]) {
    let mut log = vec![];
    let mut begun = vec![];
    for event in events {
        begun.push(log.len() as u64);
        log.extend_from_slice(event);
        log.push(b'\n');
    }
    let mut decoder = Decoder::<ROOMY>::new();
    let mut rest = &log[..];
    while !rest.is_empty() {
        rest = &rest[decoder.feed(rest)..];
        while let Some(line) = decoder.next_line() {
            let genuine = begun.contains(&line.offset);
            assert!(genuine || line.trust.is_forgeable(), "not marked: {line:?} in {}", shown(&log));
            let fits_no_name = line.bytes.len() > 14 || line.bytes.contains(&0);
            assert!(!(fits_no_name && line.trust.is_forgeable()), "marked without need: {line:?}");
        }
    }
    // Live, with the source empty after each event, nothing genuine is marked and nothing forged is not.
    let mut decoder = Decoder::<ROOMY>::new();
    for event in events {
        decoder.feed(event);
        decoder.feed(b"\n");
        let mut first = true;
        while let Some(line) = decoder.next_line() {
            assert!(line.trust.is_forgeable() != first, "{line:?} in {}", shown(event));
            first = false;
        }
        decoder.source_drained();
    }
}

/// Trust by its definition: a line is forgeable if it and all lines between fit into what a name in front leaves of 15
/// bytes, a newline before each, unless one of them holds a NUL or the source was empty in between; and foreign if
/// it names another node.
///
/// # Panics
///
/// If the law does not hold.
pub fn trust_is_what_names_leave(input: &[u8], sizes: &[usize], drained: &[bool]) {
    const GPU: GpuId = GpuId(0x1ea0);
    let decoder = Decoder::<{ MAX_LINE + 1 }>::for_gpu(GPU);
    let seen = join(decode_with(decoder, input, sizes, drained));
    let mut ends = BTreeSet::new();
    let mut end = 0;
    for (chunk, drained) in chunks::cut(input, sizes).zip(drained.iter().cycle()) {
        end += chunk.len();
        ends.extend(drained.then_some(end as u64));
    }
    let whole: Vec<_> = lines(input).collect();
    assert_eq!(seen.len(), whole.len());
    for (index, (seen, line)) in seen.iter().zip(&whole).enumerate() {
        assert_eq!(
            (&seen.bytes[..], seen.offset, seen.terminated, seen.event.clone()),
            (line.bytes, line.offset, line.terminated, line.event.map(|event| encoded(&event))),
            "{sizes:?}: {}",
            shown(input)
        );
        assert_eq!(seen.drained, ends.contains(&line.offset), "{line:?} in {sizes:?}: {}", shown(input));
        let forgeable = |drained: &dyn Fn(u64) -> bool| {
            let mut needed = 0;
            for index in (1..=index).rev() {
                let line = &whole[index];
                needed += 1 + line.bytes.len();
                if needed > 15 || line.bytes.contains(&0) || drained(line.offset) {
                    break;
                }
                let name = whole[index - 1].event.ok().and_then(|event| event.task_name());
                if name.is_some_and(|name| name.as_bytes().len() + needed <= 15) {
                    return true;
                }
            }
            false
        };
        let live = forgeable(&|offset| ends.contains(&offset));
        assert_eq!(seen.forgeable, live, "{line:?} in {sizes:?}: {}", shown(input));
        assert_eq!(line.trust.is_forgeable(), forgeable(&|_| false), "{line:?} in {}", shown(input));
        let node =
            line.event.ok().filter(|event| matches!(event.id().0, 7..=11)).and_then(|event| event.gpu());
        assert_eq!(seen.foreign, node.is_some_and(|node| node != GPU), "{line:?}");
        assert!(!line.trust.is_foreign(), "{line:?}");
    }
}

#[cfg(test)]
mod tests;
