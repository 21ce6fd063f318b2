//! Input from hell: nothing panics, nothing is lost, and nothing reaches a terminal.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;

use crate::folder::Folder;
use crate::run::{Ran, command, replay};

/// Printable ASCII and line ends alone.
pub(crate) fn assert_harmless(ran: &Ran, what: &str) {
    let harmless = |byte: &u8| matches!(byte, b' '..=b'~' | b'\n' | b'\r');
    assert!(ran.stdout.iter().all(harmless), "{what}: {}", ran.stdout.escape_ascii());
    assert!(!ran.text().replace("\r\n", "\n").contains('\r'), "{what}");
    assert!(ran.stderr.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\n')), "{what}: {:?}", ran.stderr);
}

#[test]
fn no_byte_of_a_name_reaches_a_terminal() {
    let mut log = vec![];
    for byte in (0..=u8::MAX).filter(|byte| *byte != b'\n') {
        let name = [b'a', byte, b'[', b'2', b'J'];
        for head in
            [&b"1 5:"[..], b"c 5 ", b"3 1 ", b"5 1 -2 @3(4) 5->6 7:8 9 ", b"f ", b"bad ", b"7 1 -2 @3(4) "]
        {
            log.extend([head, &name, b"\n"].concat());
        }
        log.extend([b"7 1 -2 @3(4) ".as_slice(), &[byte], b"\na 1 -2 3 ", &[byte], b"\n"].concat());
    }
    log.extend("1 5:\u{202e}\u{9b}31m\u{2028}\u{1f980}\n".bytes());
    for format in ["human", "json", "csv"] {
        assert_harmless(&replay(&["--format", format], &log), format);
    }
}

#[test]
fn no_byte_of_a_file_name_reaches_a_terminal() {
    let name = "a\x1b[2J\u{202e}\n.smi";
    let folder = Folder::with(&[(name, b"bad\n3 1\r\n")]);
    for format in ["human", "json", "csv"] {
        for files in [&[name][..], &[name, name], &[name, "\x1b[missing"]] {
            let ran = folder.replay(&[&["--format", format], files].concat());
            assert_harmless(&ran, format);
            assert!(
                ran.stderr.contains("1 of 2 lines malformed") || ran.stderr.contains("2 of 2"),
                "{}",
                ran.stderr
            );
        }
    }
    // Names that are no text are told apart, and arguments that are names do no harm either.
    for name in [&b"a\xff"[..], b"a\xfe"] {
        fs::write(folder.path().join(OsStr::from_bytes(name)), b"3 1\n").unwrap();
    }
    let mut both = command(&["replay", "--format", "json"]);
    both.args([OsStr::from_bytes(b"a\xff"), OsStr::from_bytes(b"a\xfe")]);
    let ran: Ran = both.current_dir(folder.path()).output().unwrap().into();
    assert!(ran.lines()[0].contains(r#""input":"a\\xff""#) && ran.lines()[1].contains(r#""input":"a\\xfe""#));
    let ran: Ran = command(&["replay", "--\x1b]0;x\x07"]).output().unwrap().into();
    assert_eq!(ran.status, 2);
    assert_harmless(&ran, "arguments");
}

/// `lines = events + malformed`, whatever the bytes.
#[test]
fn every_line_is_a_record() {
    let zeros = vec![0; 1 << 20];
    let newlines = vec![b'\n'; 100_000];
    let binary: Vec<u8> = (0..200_000_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let crlf = b"3 1\r\n1 5:a\r\n\r\n".repeat(1000);
    let open_line = vec![b'x'; 1 << 20];
    for (what, log) in [
        ("zeros", zeros),
        ("newlines", newlines),
        ("binary", binary),
        ("crlf", crlf),
        ("one line", open_line),
    ] {
        let newlines = log.iter().filter(|byte| **byte == b'\n').count();
        let lines = newlines + usize::from(!log.ends_with(b"\n"));
        for format in ["human", "json"] {
            let ran = replay(&["--format", format], &log);
            assert_eq!(ran.lines().len(), lines, "{what}");
            assert_eq!(ran.status, 0, "{what}");
            assert_harmless(&ran, what);
        }
        assert_eq!(replay(&["--format", "raw"], &log).stdout, log, "{what}");
    }
    assert_eq!(replay(&[], b"").text(), "");
    assert_eq!(replay(&[], b"").stderr, "");
}

/// A log cut anywhere: what stands before the cut is read as in the whole one.
#[test]
fn a_cut_log_is_read_up_to_the_cut() {
    let log = fs::read(kfd_smi_testkit::corpus::folder().join("linux-6.12.95/driver.smi")).unwrap();
    let whole = replay(&["--format", "json"], &log);
    for cut in 0..log.len() {
        let ran = replay(&["--format", "json"], &log[..cut]);
        let complete = log[..cut].iter().filter(|byte| **byte == b'\n').count();
        assert_eq!(ran.lines()[..complete], whole.lines()[..complete]);
        let open = usize::from(cut > 0 && log[cut - 1] != b'\n');
        assert_eq!(ran.lines().len(), complete + open);
        assert_eq!(ran.lines()[complete..].iter().filter(|line| line.contains("unterminated")).count(), open);
        assert_eq!(ran.stderr.contains("has no newline"), open == 1);
    }
}

#[test]
fn a_bad_line_stands_in_its_place_with_the_reason() {
    let ran = replay(&[], b"3 1\n5 job hang\n4 1\n");
    assert_eq!(
        ran.lines()[1].trim_start(),
        "-  malformed                                   line 2: expected a decimal number at byte 2 of a \
         MIGRATE_START line: \"5 job hang\""
    );
    assert_eq!(
        ran.stderr,
        "kfd-smi: standard input: 1 of 3 lines malformed, the first is line 2: expected a decimal number at byte 2 \
         of a MIGRATE_START line\n"
    );
}

#[test]
fn one_summary_names_what_happened_to_the_file() {
    let dos = replay(&[], b"3 1\r\n4 1\r\n").stderr;
    assert!(dos.contains("2 of 2 lines end in a carriage return: the file has DOS line ends"), "{dos}");
    let pasted = replay(&[], b"3 1 job hang\n4 1\na 1 -2 3 \n").stderr;
    assert!(pasted.contains("looks pasted"), "{pasted}");
    assert!(
        pasted.contains("without their NUL: 1") && pasted.contains("without the blank at their end: 1"),
        "{pasted}"
    );
    assert_eq!(replay(&[], b"3 1 job hang\n4 1 \na 1 -2 3 \0\n").stderr, "");
}
