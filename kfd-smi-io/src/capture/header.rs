//! Where a capture comes from: [`Header`].

use std::io::Write as _;

use kfd_smi_proto::{EventMask, KfdVersion, PageSize, Pid};

use super::FIRST_LINE;
use super::error::{CaptureErrorKind, Mistake};
use super::escape::push_field;
use super::fields::{Fields, decimal, hexadecimal};
use super::text::Text;

/// Which machine a capture comes from, and how it was made. What is `None` is not known, and not written.
///
/// ```
/// use kfd_smi_io::capture::{Header, Recorder};
/// use kfd_smi_io::EventMask;
///
/// # fn main() -> std::io::Result<()> {
/// let mut header = Header::default();
/// header.release = Some("6.12.95+deb13-amd64".into());
/// header.mask = Some(EventMask::EVERY | EventMask::ALL_PROCESSES);
/// header.privileged = Some(false);
/// let file = Recorder::new(vec![], &header).finish()?;
/// assert_eq!(
///     String::from_utf8(file).unwrap(),
///     "# kfd-smi capture 1\n# release 6.12.95+deb13-amd64\n# mask ffffffffffffffff\n# privileged no\n"
/// );
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Header {
    /// The program that recorded, and its version: `kfd-smi/0.1.0`.
    pub program: Option<Text>,
    /// The kind of machine, as `uname -m` says it: `x86_64`.
    pub machine: Option<Text>,
    /// The release of the kernel, as `uname -r` says it.
    pub release: Option<Text>,
    /// The version of the driver's interface. It does not tell the form of the lines.
    pub kfd_version: Option<KfdVersion>,
    /// The size of the pages that addresses and sizes are counted in.
    pub page_size: Option<PageSize>,
    /// `/proc/sys/kernel/random/boot_id`: arrival times can be compared where it is the same.
    pub boot_id: Option<Text>,
    /// The name of the host.
    pub host: Option<Text>,
    /// The process that recorded. It is a KFD process itself, and receives the evictions of its own queues.
    pub recorder: Option<Pid>,
    /// Which events were asked for.
    pub mask: Option<EventMask>,
    /// Whether it had `CAP_SYS_ADMIN`, without which others' events are missing.
    pub privileged: Option<bool>,
    /// Whether names were replaced: see [redaction](super#redaction).
    pub redacted: bool,
}

impl Header {
    /// Writes the first line of a segment and what is known, in the order of the fields above.
    pub(super) fn write(&self, out: &mut Vec<u8>, redact: bool) {
        let line = |out: &mut Vec<u8>, word: &str, value: &[u8]| {
            out.extend([b"# ", word.as_bytes(), b" "].concat());
            push_field(out, value);
            out.push(b'\n');
        };
        let text = |out: &mut Vec<u8>, word, value: &Option<Text>| {
            if let Some(value) = value {
                line(out, word, value.as_bytes());
            }
        };
        // Writing to memory does not fail.
        _ = writeln!(out, "{FIRST_LINE}");
        text(out, "program", &self.program);
        text(out, "machine", &self.machine);
        text(out, "release", &self.release);
        if let Some(version) = self.kfd_version {
            line(out, "kfd", version.to_string().as_bytes());
        }
        if let Some(size) = self.page_size {
            line(out, "page-size", size.bytes().to_string().as_bytes());
        }
        text(out, "boot-id", &self.boot_id);
        if !redact {
            text(out, "host", &self.host);
        }
        if let Some(recorder) = self.recorder {
            line(out, "recorder", recorder.as_unsigned().to_string().as_bytes());
        }
        if let Some(mask) = self.mask {
            line(out, "mask", format!("{:x}", mask.bits()).as_bytes());
        }
        if let Some(privileged) = self.privileged {
            line(out, "privileged", if privileged { b"yes" } else { b"no" });
        }
        if redact || self.redacted {
            line(out, "redacted", b"yes");
        }
    }

    /// Whether this word begins a line of the header.
    pub(super) fn has(word: &[u8]) -> bool {
        const WORDS: [&[u8]; 11] = [
            b"program",
            b"machine",
            b"release",
            b"kfd",
            b"page-size",
            b"boot-id",
            b"host",
            b"recorder",
            b"mask",
            b"privileged",
            b"redacted",
        ];
        WORDS.contains(&word)
    }

    /// Takes the value of one such line.
    pub(super) fn read(&mut self, word: &[u8], fields: &mut Fields<'_>) -> Result<(), Mistake> {
        match word {
            b"program" => self.program = Some(fields.text()?),
            b"machine" => self.machine = Some(fields.text()?),
            b"release" => self.release = Some(fields.text()?),
            b"kfd" => self.kfd_version = Some(fields.read(CaptureErrorKind::Version, version)?),
            b"page-size" => {
                self.page_size =
                    Some(fields.read(CaptureErrorKind::PageSize, |field| PageSize::new(decimal(field)?))?);
            }
            b"boot-id" => self.boot_id = Some(fields.text()?),
            b"host" => self.host = Some(fields.text()?),
            b"recorder" => self.recorder = Some(fields.pid()?),
            b"mask" => {
                let mask = fields.read(CaptureErrorKind::Hexadecimal, hexadecimal)?;
                self.mask = Some(EventMask::from_bits(mask));
            }
            b"privileged" => self.privileged = Some(fields.read(CaptureErrorKind::YesOrNo, yes_or_no)?),
            _ => self.redacted = fields.read(CaptureErrorKind::YesOrNo, yes_or_no)?,
        }
        Ok(())
    }
}

fn version(field: &[u8]) -> Option<KfdVersion> {
    let dot = field.iter().position(|byte| *byte == b'.')?;
    let number = |field| decimal(field).and_then(|number| u32::try_from(number).ok());
    Some(KfdVersion { major: number(&field[..dot])?, minor: number(&field[dot + 1..])? })
}

fn yes_or_no(field: &[u8]) -> Option<bool> {
    match field {
        b"yes" => Some(true),
        b"no" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let header = Header {
            program: Some("kfd-smi/0.1.0".into()),
            machine: Some("x86_64".into()),
            release: Some("6.1 \\\n#".into()),
            kfd_version: Some(KfdVersion { major: 1, minor: 17 }),
            page_size: PageSize::new(65536),
            boot_id: Some("".into()),
            host: Some("-".into()),
            recorder: Some(Pid(4242)),
            mask: Some(EventMask::from_bits(u64::MAX)),
            privileged: Some(true),
            redacted: true,
        };
        let mut file = vec![];
        header.write(&mut file, false);
        let mut again = Header::default();
        for line in file.split(|byte| *byte == b'\n').skip(1).filter(|line| !line.is_empty()) {
            let mut fields = Fields::new(line);
            fields.take();
            let (word, _) = fields.take();
            assert!(Header::has(word));
            again.read(word, &mut fields).unwrap();
        }
        assert_eq!(again, header);
    }
}
