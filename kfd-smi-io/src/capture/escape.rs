//! Any bytes as printable ASCII, and back.

use super::error::{CaptureErrorKind, Mistake};

/// Whether a byte stands for itself in a record.
const fn is_plain(byte: u8) -> bool {
    matches!(byte, b' '..=b'~') && byte != b'\\'
}

/// Writes the bytes of a line of the driver. A blank at the end is escaped, because editors and mail programs drop it.
pub(super) fn push_line(out: &mut Vec<u8>, bytes: &[u8]) {
    match bytes {
        [before @ .., b' '] => {
            push(out, before, is_plain);
            out.extend(b"\\x20");
        }
        _ => push(out, bytes, is_plain),
    }
}

/// Writes a field of a `#` line: without blanks, and never empty.
pub(super) fn push_field(out: &mut Vec<u8>, bytes: &[u8]) {
    match bytes {
        b"" => out.push(b'-'),
        b"-" => out.extend(b"\\x2d"),
        _ => push(out, bytes, |byte| is_plain(byte) && byte != b' '),
    }
}

fn push(out: &mut Vec<u8>, mut bytes: &[u8], is_plain: fn(u8) -> bool) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    loop {
        let plain = bytes.iter().position(|byte| !is_plain(*byte)).unwrap_or(bytes.len());
        out.extend(&bytes[..plain]);
        let Some((&byte, rest)) = bytes[plain..].split_first() else { return };
        out.extend([b'\\', b'x', DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
        bytes = rest;
    }
}

/// Reads the bytes of a line of the driver, and whether a newline followed them.
pub(super) fn line(text: &[u8], out: &mut Vec<u8>) -> Result<bool, Mistake> {
    let (text, terminated) = match text {
        // No escape ends with a backslash, and every other one begins one.
        [text @ .., b'\\'] => (text, false),
        _ => (text, true),
    };
    // Nearly every line is plain, and that is seen of many bytes at once.
    if text.iter().fold(true, |plain, byte| plain & is_plain(*byte)) {
        out.extend(text);
        return Ok(terminated);
    }
    unescape(text, out)?;
    match out.iter().position(|byte| *byte == b'\n') {
        // It can only have come from an escape; where that stands is found by counting those before it.
        Some(newline) => Err((escaped_at(text, newline), CaptureErrorKind::OneLine)),
        None => Ok(terminated),
    }
}

/// Reads a field of a `#` line.
pub(super) fn field(text: &[u8]) -> Result<Vec<u8>, Mistake> {
    let mut out = vec![];
    if text != b"-" {
        unescape(text, &mut out)?;
    }
    Ok(out)
}

fn unescape(text: &[u8], out: &mut Vec<u8>) -> Result<(), Mistake> {
    let mut rest = text;
    while let Some(plain) = rest.iter().position(|byte| !is_plain(*byte)) {
        out.extend(&rest[..plain]);
        let at = text.len() - rest.len() + plain;
        rest = match rest[plain..] {
            [b'\\', b'x', high, low, ref rest @ ..] => {
                let (Some(high), Some(low)) = (digit(high), digit(low)) else {
                    return Err((at, CaptureErrorKind::Escape));
                };
                out.push(high << 4 | low);
                rest
            }
            [b'\\', ..] => return Err((at, CaptureErrorKind::Escape)),
            _ => return Err((at, CaptureErrorKind::Printable)),
        };
    }
    out.extend(rest);
    Ok(())
}

/// Where in a text without mistakes the byte of this number stands.
fn escaped_at(text: &[u8], number: usize) -> usize {
    let mut at = 0;
    for _ in 0..number {
        at += if text.get(at) == Some(&b'\\') { 4 } else { 1 };
    }
    at
}

const fn digit(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn escaped(bytes: &[u8]) -> String {
        let mut out = vec![];
        push_line(&mut out, bytes);
        String::from_utf8(out).unwrap()
    }

    fn read(text: &[u8]) -> Result<(Vec<u8>, bool), Mistake> {
        let mut out = vec![];
        line(text, &mut out).map(|terminated| (out, terminated))
    }

    #[test]
    fn every_byte_comes_back() {
        for byte in (0..=u8::MAX).filter(|byte| *byte != b'\n') {
            for bytes in [vec![byte], vec![byte, b'x'], vec![b' ', byte, byte]] {
                let text = escaped(&bytes);
                assert!(text.bytes().all(|byte| (b' '..=b'~').contains(&byte)) && !text.ends_with(' '));
                assert_eq!(read(text.as_bytes()), Ok((bytes.clone(), true)));
                assert_eq!(read([text.as_bytes(), b"\\"].concat().as_slice()), Ok((bytes, false)));
            }
        }
    }

    #[test]
    fn only_what_must_be_is_escaped() {
        assert_eq!(escaped(b"4 1 "), r"4 1\x20");
        assert_eq!(escaped(b"1 5: \"a\"  b\\\xff\0  "), r#"1 5: "a"  b\x5c\xff\x00 \x20"#);
        assert_eq!(escaped(b""), "");
        assert_eq!(read(b"4 1 "), Ok((b"4 1 ".to_vec(), true)));
        assert_eq!(read(b"\\"), Ok((vec![], false)));
    }

    #[test]
    fn mistakes_say_where() {
        use CaptureErrorKind::{Escape, OneLine, Printable};
        assert_eq!(read(br"ab\x0"), Err((2, Escape)));
        assert_eq!(read(br"ab\\"), Err((2, Escape)));
        assert_eq!(read(br"ab\n"), Err((2, Escape)));
        assert_eq!(read(br"\x41\x4G"), Err((4, Escape)));
        assert_eq!(read(br"\x4A"), Err((0, Escape)));
        assert_eq!(read(b"ab\tc"), Err((2, Printable)));
        assert_eq!(read(b"\xc2\xa0"), Err((0, Printable)));
        assert_eq!(read(br"\x00a\x0a"), Err((5, OneLine)));
    }

    #[test]
    fn fields_have_no_blanks_and_are_not_empty() {
        for bytes in [b"".as_slice(), b"-", b"--", b" ", b"a b", b"\xff\n\\"] {
            let mut text = vec![];
            push_field(&mut text, bytes);
            assert!(!text.is_empty() && !text.contains(&b' '));
            assert_eq!(field(&text).unwrap(), bytes);
        }
    }
}
