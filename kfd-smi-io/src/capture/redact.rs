//! Replaces what processes call themselves.

use kfd_smi_proto::{Event, Line, ResetCause, TaskName, Trailing};

/// Writes the bytes of a line with every free text replaced by as many `x`.
///
/// The numbers of the line, its length, and so the budget that its name leaves stay as they are. NULs stay, too: they
/// are in no name, and a line with one is never forgeable.
pub(super) fn redact(line: &Line<'_>, out: &mut Vec<u8>) {
    // In every form of every event, the free text ends the line.
    let kept = line.bytes.len().saturating_sub(text(line).len());
    let (kept, text) = line.bytes.split_at(kept);
    out.clear();
    out.extend(kept);
    out.extend(text.iter().map(|byte| if *byte == 0 { 0 } else { b'x' }));
}

/// What of a line can be, or hold, the name of a task.
fn text<'a>(line: &Line<'a>) -> &'a [u8] {
    // What is no event can be the rest of a name that has a newline in it, or be glued to an event with a name.
    let Ok(event) = line.event else { return line.bytes };
    let text = match event {
        Event::Unknown(unknown) => Some(unknown.rest().as_bytes()),
        // The driver's own words, unless a name can have made the line up.
        Event::GpuPreReset(reset) | Event::GpuPostReset(reset) if line.trust.is_forgeable() => {
            reset.cause.map(ResetCause::as_bytes)
        }
        _ => event.task_name().map(TaskName::as_bytes).or_else(|| event.trailing().map(Trailing::as_bytes)),
    };
    text.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use kfd_smi_proto::lines;

    /// The log with every line redacted.
    fn redacted(log: &[u8]) -> String {
        let mut all = vec![];
        let mut out = vec![];
        for line in lines(log) {
            redact(&line, &mut out);
            all.extend(&out);
            all.push(b'\n');
        }
        assert_eq!(all.len(), log.len());
        all.escape_ascii().to_string().replace("\\n", "\n")
    }

    #[test]
    fn names_are_replaced_and_numbers_stay() {
        assert_eq!(redacted(b"1 2559e:my app:1\nc 7 \nd 7 a\0b\n"), "1 2559e:xxxxxxxx\nc 7 \nd 7 x\\x00x\n");
        let line = b"5 14601738586508 -152990 @7f0f15200(2c02) 0->1ea0 1ea0:ffffffff 1\n";
        assert_eq!(redacted(line).as_bytes(), line);
        assert_eq!(redacted(b"3 1 job hang on ring:gfx\n4 1 \n"), "3 1 job hang on ring:gfx\n4 1 \n");
    }

    #[test]
    fn the_rest_of_a_name_is_replaced_whatever_it_looks_like() {
        assert_eq!(redacted(b"1 5:a\nsecret\n"), "1 5:x\nxxxxxx\n");
        assert_eq!(redacted(b"1 5:a\n3 1 secret\n"), "1 5:x\n3 1 xxxxxx\n");
        assert_eq!(redacted(b"1 5:a\nff secret\n"), "1 5:x\nff xxxxxx\n");
        assert_eq!(redacted(b"1 5:\n9 1 -2 3 4 bob\n"), "1 5:\n9 1 -2 3 4 xxx\n");
        assert_eq!(redacted(b"1 5:\n6 1 -2 @3(4) 0->5 1 x9 b\n"), "1 5:\n6 1 -2 @3(4) 0->5 1 xxxx\n");
        assert_eq!(redacted(b"9 1 -2 3 4\x001 5:secret\n"), "xxxxxxxxxx\\x00xxxxxxxxxx\n");
    }
}
