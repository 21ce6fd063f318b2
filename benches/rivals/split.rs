//! The standard library alone: lines, `split` at blanks, `from_str_radix`.

use std::str;

use kfd_smi_testkit::checksum::{Checksum, Field};

pub(crate) fn read(log: &[u8]) -> Checksum {
    let mut sum = Checksum::default();
    let Ok(log) = str::from_utf8(log) else { return sum };
    // Not `lines`: that would take a carriage return from a name.
    for text in log.split_terminator('\n') {
        if line(text, &mut sum).is_none() {
            break;
        }
    }
    sum
}

fn hex64(text: &str) -> Option<u64> {
    u64::from_str_radix(text, 16).ok()
}

fn hex32(text: &str) -> Option<u64> {
    u32::from_str_radix(text, 16).ok().map(u64::from)
}

/// `@ADDRESS(SIZE)`
fn parenthesised(text: &str) -> Option<(&str, &str)> {
    text.strip_prefix('@')?.strip_suffix(')')?.split_once('(')
}

fn line(line: &str, sum: &mut Checksum) -> Option<()> {
    let (id, rest) = line.split_once(' ')?;
    let id = hex32(id)?;
    sum.add(Field::Id, id);
    let mut fields = rest.split(' ');
    let time_and_pid = |fields: &mut str::Split<'_, char>, sum: &mut Checksum| {
        sum.add(Field::Time, fields.next()?.parse().ok()?);
        sum.add_signed(Field::Pid, fields.next()?.strip_prefix('-')?.parse().ok()?);
        Some(())
    };
    let range = |fields: &mut str::Split<'_, char>, sum: &mut Checksum| {
        let (address, size) = parenthesised(fields.next()?)?;
        sum.add(Field::Address, hex64(address)?).add(Field::Size, hex64(size)?);
        Some(())
    };
    let route = |fields: &mut str::Split<'_, char>, sum: &mut Checksum| {
        let (from, to) = fields.next()?.split_once("->")?;
        sum.add(Field::From, hex32(from)?).add(Field::To, hex32(to)?);
        Some(())
    };
    let letter = |text: &str| text.bytes().next().map(i32::from);
    match id {
        1 => {
            let (pid, name) = rest.split_once(':')?;
            sum.add(Field::Pid, hex32(pid)?).add_text(name.as_bytes());
        }
        2 => {
            let (bitmask, counter) = rest.split_once(':')?;
            sum.add(Field::Address, hex64(bitmask)?).add(Field::Size, hex64(counter)?);
        }
        3 | 4 => match rest.split_once(' ') {
            Some((seq, cause)) => _ = sum.add(Field::From, hex32(seq)?).add_text(cause.as_bytes()),
            None => _ = sum.add(Field::From, hex32(rest)?),
        },
        5 => {
            time_and_pid(&mut fields, sum)?;
            range(&mut fields, sum)?;
            route(&mut fields, sum)?;
            let (prefetch, preferred) = fields.next()?.split_once(':')?;
            sum.add(Field::Prefetch, hex32(prefetch)?).add(Field::Preferred, hex32(preferred)?);
            sum.add_signed(Field::Trigger, fields.next()?.parse().ok()?);
        }
        6 => {
            time_and_pid(&mut fields, sum)?;
            range(&mut fields, sum)?;
            route(&mut fields, sum)?;
            sum.add_signed(Field::Trigger, fields.next()?.parse().ok()?);
            if let Some(error) = fields.next() {
                sum.add_optional(Field::Error, Some(error.parse().ok()?));
            }
        }
        7 | 8 => {
            time_and_pid(&mut fields, sum)?;
            let (page, node) = parenthesised(fields.next()?)?;
            sum.add(Field::Address, hex64(page)?).add(Field::From, hex32(node)?);
            sum.add_optional(Field::Letter, Some(letter(fields.next()?)?));
        }
        9 => {
            time_and_pid(&mut fields, sum)?;
            sum.add(Field::From, hex32(fields.next()?)?);
            sum.add_signed(Field::Trigger, fields.next()?.parse().ok()?);
        }
        10 => {
            time_and_pid(&mut fields, sum)?;
            sum.add(Field::From, hex32(fields.next()?)?);
            sum.add_optional(Field::Letter, fields.next().and_then(letter));
        }
        11 => {
            time_and_pid(&mut fields, sum)?;
            range(&mut fields, sum)?;
            sum.add(Field::From, hex32(fields.next()?)?);
            sum.add_signed(Field::Trigger, fields.next()?.parse().ok()?);
        }
        12 | 13 => {
            let (pid, name) = rest.split_once(' ')?;
            sum.add(Field::Pid, hex32(pid)?).add_text(name.as_bytes());
        }
        _ => return None,
    }
    sum.end_line();
    Some(())
}
