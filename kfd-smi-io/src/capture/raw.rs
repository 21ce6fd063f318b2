//! Reads a plain log: [`RawLog`].

use std::io::{self, Read};

use kfd_smi_proto::Decoder;

use crate::record::Record;

/// Reads a raw log: the bytes of one file descriptor of the driver, as they came.
///
/// Nothing but the lines is known, so its records have no GPU and no arrival time.
///
/// ```
/// use kfd_smi_io::capture::RawLog;
///
/// # fn main() -> std::io::Result<()> {
/// let mut log = RawLog::new(b"3 1 job hang\n4 1 \n".as_slice());
/// let mut events = 0;
/// while let Some(record) = log.next_record()? {
///     assert!(record.gpu.is_none() && record.arrival.is_none());
///     events += usize::from(record.line.event.is_ok());
/// }
/// assert_eq!(events, 2);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct RawLog<R> {
    reader: R,
    decoder: Box<Decoder>,
    ended: bool,
}

impl<R: Read> RawLog<R> {
    /// Reads a raw log. If the stream can also be a capture, see [`Log`](super::Log).
    pub fn new(reader: R) -> Self {
        Self { reader, decoder: Box::new(Decoder::new()), ended: false }
    }

    /// The next line, or piece of one; `None` at the end.
    ///
    /// # Errors
    ///
    /// The reader's.
    pub fn next_record(&mut self) -> io::Result<Option<Record<'_>>> {
        while !self.ended && !self.decoder.has_line() {
            match self.reader.read(self.decoder.buffer()) {
                Ok(0) => self.ended = true,
                Ok(n) => self.decoder.advance(n),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        let line = if self.ended { self.decoder.finish() } else { self.decoder.next_line() };
        Ok(line.map(|line| Record::new(None, None, line)))
    }
}

impl<R> RawLog<R> {
    /// Gives back the reader. Lines that were read ahead are lost.
    pub fn into_inner(self) -> R {
        self.reader
    }
}
