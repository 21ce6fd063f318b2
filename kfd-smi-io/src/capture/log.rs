//! Finds out what a stream is: [`Log`].

use std::io::{self, BufReader, Read};

use super::FIRST_LINE;
use super::raw::RawLog;
use super::replay::{Entry, Replay};

/// A stream that is a capture or a raw log: its first line tells.
///
/// ```
/// use kfd_smi_io::capture::{Entry, Log};
///
/// # fn main() -> std::io::Result<()> {
/// # let stream = b"3 1 job hang\n".as_slice();
/// let mut log = Log::detect(stream)?;
/// assert!(matches!(log, Log::Raw(_)));
/// while let Some(entry) = log.next_entry()? {
///     if let Entry::Record(record) = entry {
///         println!("{:?}", record.line.event);
///     }
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
#[expect(
    clippy::exhaustive_enums,
    clippy::large_enum_variant,
    reason = "there are these two, and few of them"
)]
pub enum Log<R> {
    /// It begins with exactly [`FIRST_LINE`].
    Capture(Replay<BufReader<Detected<R>>>),
    /// It begins in any other way, with a `#` for example.
    Raw(RawLog<Detected<R>>),
}

/// A stream of which the first bytes were looked at. It gives them again.
#[derive(Debug)]
pub struct Detected<R> {
    first: io::Cursor<Vec<u8>>,
    reader: R,
}

impl<R: Read> Log<R> {
    /// Reads the first bytes of a stream, no more of them than it takes to tell, and nothing twice: pipes are welcome.
    ///
    /// # Errors
    ///
    /// The reader's.
    pub fn detect(mut reader: R) -> io::Result<Self> {
        let mut first = vec![];
        // The first line, a carriage return and the newline: one byte at a time, so that it waits for none too many.
        let is_capture = loop {
            match first.strip_prefix(FIRST_LINE.as_bytes()) {
                Some(b"\n" | b"\r\n") => break true,
                Some(b"" | b"\r") => {}
                Some(_) => break false,
                None if FIRST_LINE.as_bytes().starts_with(&first) => {}
                None => break false,
            }
            let mut byte = [0];
            match reader.read(&mut byte) {
                Ok(0) => break first == FIRST_LINE.as_bytes(),
                Ok(_) => first.extend(byte),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        };
        let stream = Detected { first: io::Cursor::new(first), reader };
        Ok(if is_capture {
            Self::Capture(Replay::new(BufReader::with_capacity(1 << 16, stream)))
        } else {
            Self::Raw(RawLog::new(stream))
        })
    }

    /// What comes next; `None` at the end. A raw log has records alone.
    ///
    /// # Errors
    ///
    /// The reader's.
    pub fn next_entry(&mut self) -> io::Result<Option<Entry<'_>>> {
        match self {
            Self::Capture(replay) => replay.next_entry(),
            Self::Raw(log) => Ok(log.next_record()?.map(Entry::Record)),
        }
    }
}

impl<R: Read> Read for Detected<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.first.read(buffer)? {
            0 => self.reader.read(buffer),
            n => Ok(n),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_capture(bytes: &[u8]) -> bool {
        let log = Log::detect(bytes).unwrap();
        let is_capture = matches!(log, Log::Capture(_));
        let mut again = vec![];
        match log {
            Log::Capture(replay) => replay.into_inner().into_inner().read_to_end(&mut again).unwrap(),
            Log::Raw(log) => log.into_inner().read_to_end(&mut again).unwrap(),
        };
        assert_eq!(again, bytes, "not a byte is lost");
        is_capture
    }

    #[test]
    fn exactly_the_first_line_makes_a_capture() {
        for capture in ["", "\n", "\r\n", "\n3 1\n"] {
            assert!(is_capture(format!("# kfd-smi capture 1{capture}").as_bytes()), "{capture:?}");
        }
        for raw in [
            "",
            "#",
            "3 1\n",
            "# kfd-smi capture ",
            "# kfd-smi capture 1\r",
            "# kfd-smi capture 1 \n",
            "# kfd-smi capture 12\n",
            "# kfd-smi capture 2\n",
            " # kfd-smi capture 1\n",
            "\u{feff}# kfd-smi capture 1\n",
        ] {
            assert!(!is_capture(raw.as_bytes()), "{raw:?}");
        }
    }

    /// Gives this, and panics when asked for more.
    struct Waits<'a>(&'a [u8]);

    impl Read for Waits<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            assert!(!self.0.is_empty(), "it waits for a byte that it does not need");
            self.0.read(buffer)
        }
    }

    #[test]
    fn it_waits_for_no_byte_that_it_does_not_need() {
        assert!(matches!(Log::detect(Waits(b"3")).unwrap(), Log::Raw(_)));
        assert!(matches!(Log::detect(Waits(b"# k!")).unwrap(), Log::Raw(_)));
        assert!(matches!(Log::detect(Waits(b"# kfd-smi capture 1\n")).unwrap(), Log::Capture(_)));
    }
}
