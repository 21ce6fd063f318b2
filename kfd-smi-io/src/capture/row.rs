//! The line of the file that holds a record: [`Row`].

use kfd_smi_proto::{BootNanos, GpuId};

use super::error::{CaptureErrorKind, Mistake};
use super::escape;
use super::fields::{Fields, gpu, time};

/// A record without the bytes of its line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) arrival: BootNanos,
    pub(super) gpu: GpuId,
    /// Where that stands.
    pub(super) gpu_at: usize,
    pub(super) drained: bool,
    /// Whether a newline followed the bytes.
    pub(super) terminated: bool,
}

impl Row {
    /// Reads a record, and appends the bytes of its line.
    pub(super) fn read(row: &[u8], bytes: &mut Vec<u8>) -> Result<Self, Mistake> {
        let mut fields = Fields::new(row);
        let (arrival, at) = fields.take();
        let arrival = time(arrival).ok_or((at, CaptureErrorKind::Time))?;
        // A blank stands before each field.
        let mut field = || {
            if fields.is_at_end() { Err((row.len(), CaptureErrorKind::Space)) } else { Ok(fields.take()) }
        };
        let (id, gpu_at) = field()?;
        let gpu = gpu(id).ok_or((gpu_at, CaptureErrorKind::Gpu))?;
        let (mark, at) = field()?;
        let drained = match mark {
            b":" => true,
            b"+" => false,
            _ => return Err((at, CaptureErrorKind::Mark)),
        };
        // Before an empty line the blank may be missing: editors and mail programs drop it.
        let at = fields.at();
        let terminated = escape::line(fields.rest(), bytes).map_err(|(offset, kind)| (at + offset, kind))?;
        Ok(Self { arrival, gpu, gpu_at, drained, terminated })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mistake(row: &str) -> Mistake {
        Row::read(row.as_bytes(), &mut vec![]).unwrap_err()
    }

    #[test]
    fn the_line_is_all_that_stands_behind_the_mark() {
        let read = |row: &str| {
            let mut bytes = vec![];
            let row = Row::read(row.as_bytes(), &mut bytes).unwrap();
            (row.arrival.nanos(), row.gpu.0, row.drained, bytes, row.terminated)
        };
        assert_eq!(read("12 1ea0 :  a b\\x20"), (12, 0x1ea0, true, b" a b ".to_vec(), true));
        assert_eq!(read("0 0 + a\\"), (0, 0, false, b"a".to_vec(), false));
        assert_eq!(read("0 0 +"), (0, 0, false, vec![], true));
        assert_eq!(read("0 0 + "), (0, 0, false, vec![], true));
    }

    #[test]
    fn mistakes_say_where() {
        use CaptureErrorKind::{Escape, Gpu, Mark, Printable, Space, Time};
        assert_eq!(mistake(""), (0, Time));
        assert_eq!(mistake(" 1 + x"), (0, Time));
        assert_eq!(mistake("1"), (1, Space));
        assert_eq!(mistake("1  + x"), (2, Gpu));
        assert_eq!(mistake("1 1ea0"), (6, Space));
        assert_eq!(mistake("1 1ea0 "), (7, Mark));
        assert_eq!(mistake("1 1ea0 +x"), (7, Mark));
        assert_eq!(mistake("1 1ea0 + x\\y"), (10, Escape));
        assert_eq!(mistake("1 1ea0 + x\t"), (10, Printable));
    }
}
