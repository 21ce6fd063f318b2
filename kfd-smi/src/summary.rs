//! What was wrong with an input, said once at its end.

use kfd_smi_proto::{Event, ParseError, Trailing};

use crate::record::Record;

/// Counts what is wrong with the lines of one input.
#[derive(Debug, Default)]
pub(crate) struct Summary {
    lines: u64,
    malformed: u64,
    /// The first malformed line: its number, and why.
    first: Option<(u64, ParseError)>,
    unterminated: bool,
    /// Lines of a capture that are no records; each was said where it stood.
    malformed_file_lines: u64,
    /// What the input looks like, if it is none that can be read.
    foreign: Option<&'static str>,
    /// Lines that end in a carriage return: all or most of them in a file with DOS line ends.
    dos: u64,
    /// Restores that end in a blank: the kernel prints a NUL behind it.
    lost_nul: u64,
    /// Resets that end without the blank, and those that have a cause: one kernel prints either both or neither.
    no_blank: u64,
    with_cause: u64,
    /// Process events that end behind the pid: the kernel prints a blank there.
    no_name: u64,
    /// Lines that begin with a blank or a tab.
    indented: u64,
}

impl Summary {
    /// Takes the first bytes of the input.
    pub(crate) fn begin(&mut self, bytes: &[u8]) {
        self.foreign = FOREIGN.iter().find(|(magic, _)| bytes.starts_with(magic)).map(|(_, what)| *what);
    }

    /// Takes one record of the input, printed or not.
    pub(crate) fn add(&mut self, record: &Record<'_>) {
        self.lines += 1;
        if let Err(error) = &record.event {
            self.malformed += 1;
            self.first.get_or_insert((record.seq, *error));
        }
        self.unterminated |= record.unterminated;
        self.dos += u64::from(record.length.is_none() && record.bytes.ends_with(b"\r"));
        // A capture keeps every byte, and a process does as it likes.
        if record.origin.arrival.is_some() || record.trust.is_forgeable() {
            return;
        }
        match &record.event {
            Ok(Event::QueueRestore(restore)) => {
                let empty = restore.trailing().map(Trailing::as_bytes) == Some(b"");
                self.lost_nul += u64::from(empty && restore.restore().byte().is_none());
            }
            Ok(Event::GpuPreReset(reset)) => self.with_cause += u64::from(reset.cause.is_some()),
            Ok(Event::GpuPostReset(reset)) => self.no_blank += u64::from(reset.cause.is_none()),
            Ok(_) => {}
            Err(_) => {
                self.indented += u64::from(matches!(record.bytes, [b' ' | b'\t', ..]));
                self.no_name += u64::from(is_process_without_name(record.bytes));
            }
        }
    }

    /// Takes a line of a capture that is no record.
    pub(crate) fn add_malformed_file_line(&mut self) {
        self.malformed_file_lines += 1;
    }

    /// Whether a line was malformed or cut short.
    pub(crate) fn is_bad(&self) -> bool {
        self.malformed > 0 || self.unterminated || self.malformed_file_lines > 0
    }

    /// The sentences to print, each a line of its own.
    pub(crate) fn sentences(&self) -> Vec<String> {
        let mut sentences = Vec::new();
        let lines = self.lines;
        if let Some((seq, error)) = self.first {
            let malformed = self.malformed;
            sentences
                .push(format!("{malformed} of {lines} lines malformed, the first is line {seq}: {error}"));
        }
        if let Some(what) = self.foreign.filter(|_| self.malformed > 0) {
            sentences.push(what.to_owned());
        }
        if self.unterminated {
            sentences.push("the last line has no newline: its last field may be cut short".to_owned());
        }
        // A single one can stand in a name.
        if self.dos > self.lines / 2 {
            let dos = self.dos;
            sentences.push(format!(
                "{dos} of {lines} lines end in a carriage return: the file has DOS line ends, `tr -d '\\r'` removes them"
            ));
        }
        let signs = self.signs_of_pasting();
        if !signs.is_empty() {
            let signs = signs.join(", ");
            sentences.push(format!("the file looks pasted from a terminal, which loses bytes: {signs}"));
        }
        sentences
    }

    fn signs_of_pasting(&self) -> Vec<String> {
        // Kernels that print no cause print no blank either.
        let no_blank = self.no_name + if self.with_cause > 0 { self.no_blank } else { 0 };
        [
            ("queue_restore lines without their NUL", self.lost_nul),
            ("lines without the blank at their end", no_blank),
            ("lines with a blank at their beginning", self.indented),
        ]
        .into_iter()
        .filter(|(_, count)| *count > 0)
        .map(|(what, count)| format!("{what}: {count}"))
        .collect()
    }
}

/// What other files begin with, and what to do with them.
const FOREIGN: [(&[u8], &str); 8] = [
    (b"\x1f\x8b", "the file looks compressed: `zcat FILE | kfd-smi replay -` reads it"),
    (b"\x28\xb5\x2f\xfd", "the file looks compressed: `zstdcat FILE | kfd-smi replay -` reads it"),
    (b"\xfd7zXZ\0", "the file looks compressed: `xzcat FILE | kfd-smi replay -` reads it"),
    (b"BZh", "the file looks compressed: `bzcat FILE | kfd-smi replay -` reads it"),
    (b"\xff\xfe", "the file looks like UTF-16: `iconv -f UTF-16 -t UTF-8 FILE | kfd-smi replay -` reads it"),
    (b"\xef\xbb\xbf", "the file begins with a byte order mark: an editor has saved it"),
    (b"# kfd-smi capture ", "the file looks like a capture of another version of kfd-smi"),
    (b"# ", "the file looks like a capture that lost its first line, which is `# kfd-smi capture 1`"),
];

/// Whether a line is that of a process event up to the pid, and no more.
fn is_process_without_name(line: &[u8]) -> bool {
    matches!(line, [b'c' | b'd', b' ', pid @ ..] if !pid.is_empty() && pid.iter().all(u8::is_ascii_hexdigit))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Numbering, Origin};

    fn sentences(log: &[u8]) -> Vec<String> {
        let mut summary = Summary::default();
        let mut numbering = Numbering::new(None);
        for line in kfd_smi_proto::lines(log) {
            summary.add(&numbering.record(&line, Origin::default()));
        }
        summary.sentences()
    }

    #[test]
    fn a_good_log_needs_no_word() {
        let log = b"3 1 job hang\n4 1 \na 1 -2 3 \0\na 1 -2 3\nc 5 \nff what\n";
        assert_eq!(sentences(log), [""; 0]);
        assert_eq!(sentences(b"3 1\n4 1\n"), [""; 0]);
        assert_eq!(sentences(b""), [""; 0]);
    }

    #[test]
    fn the_first_malformed_line_is_named() {
        assert_eq!(
            sentences(b"3 1\nnonsense\n\n3 2"),
            [
                "2 of 4 lines malformed, the first is line 2: expected a hexadecimal number at byte 0 of a line",
                "the last line has no newline: its last field may be cut short"
            ]
        );
    }

    #[test]
    fn dos_line_ends_are_named_also_where_every_line_is_an_event() {
        let [dos] = &sentences(b"1 5:name\r\n3 1 x\r\n")[..] else { panic!("one sentence") };
        assert!(dos.starts_with("2 of 2 lines end in a carriage return"), "{dos}");
        assert_eq!(sentences(b"3 1\r\n").len(), 2);
        assert_eq!(sentences(b"1 5:name\r\n3 1 x\n"), [""; 0]);
    }

    #[test]
    fn files_of_others_are_recognised() {
        for (begin, sign) in [
            (&b"\x1f\x8b\x08\0\n"[..], "`zcat"),
            (b"\x28\xb5\x2f\xfd\x24", "`zstdcat"),
            (b"\xfd7zXZ\0\0\x04", "`xzcat"),
            (b"BZh91AY&SY", "`bzcat"),
            (b"\xff\xfe3\0 \0", "UTF-16"),
            (b"\xef\xbb\xbf3 1\n", "byte order mark"),
            (b"# kfd-smi capture 2\n", "another version"),
            (b"# program kfd-smi/0.1.0\n", "lost its first line"),
        ] {
            let mut summary = Summary::default();
            summary.begin(begin);
            assert!(summary.sentences().is_empty());
            summary.add(&Numbering::new(None).record(&kfd_smi_proto::parse_line(begin), Origin::default()));
            assert!(summary.sentences()[1].contains(sign), "{:?}", summary.sentences());
        }
        let mut summary = Summary::default();
        summary.begin(b"3 1");
        assert_eq!(summary.foreign, None);
    }

    #[test]
    fn a_name_makes_no_log_look_pasted() {
        assert_eq!(sentences(b"1 5:\n4 1\n3 9 MES hang\n4 9 \n"), [""; 0]);
    }

    #[test]
    fn a_pasted_log_is_recognised_by_what_it_lost() {
        let pasted = |log| sentences(log).into_iter().find(|sentence| sentence.contains("pasted"));
        assert!(pasted(b"a 1 -2 3 \n").unwrap().ends_with("queue_restore lines without their NUL: 1"));
        assert!(pasted(b"3 1 job hang\n4 1\n").unwrap().ends_with("lines without the blank at their end: 1"));
        assert!(pasted(b"c 2559e\n").unwrap().ends_with("lines without the blank at their end: 1"));
        assert!(pasted(b"  3 1\n\t3 1\n").unwrap().ends_with("lines with a blank at their beginning: 2"));
        assert_eq!(pasted(b"a 1 -2 3 R \n"), None);
        assert_eq!(pasted(b"hello\n"), None);
    }
}
