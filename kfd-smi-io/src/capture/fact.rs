//! What a capture knows besides lines of the driver: [`GpuInfo`], [`ProcessInfo`].

use std::io::Write as _;

use kfd_smi_proto::{GpuId, Pid};

use super::error::{CaptureErrorKind, Mistake};
use super::escape::push_field;
use super::fields::{Fields, hexadecimal};
use super::text::Text;
use crate::clock::Clock;
use crate::topology;

/// A GPU, or a partition of one, that is recorded.
///
/// ```
/// use kfd_smi_io::GpuId;
/// use kfd_smi_io::capture::{GpuInfo, Header, Recorder};
///
/// # fn main() -> std::io::Result<()> {
/// let mut recorder = Recorder::new(vec![], &Header::default());
/// recorder.gpu(&GpuInfo {
///     gpu: GpuId(0x1ea0),
///     name: "aldebaran".into(),
///     pci: "0000:c1:00.0".into(),
///     unique_id: Some(0x2bcc_f316_6215_06e7),
/// })?;
/// let file = recorder.finish()?;
/// assert!(file.ends_with(b"\n# gpu 1ea0 aldebaran 0000:c1:00.0 2bccf316621506e7\n"));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "these are the fields of a line of version 1")]
pub struct GpuInfo {
    /// What events and records call it.
    pub gpu: GpuId,
    /// The name of the chip; empty if it is not known.
    pub name: Text,
    /// Where it is on the PCI bus: `0000:c1:00.0`; empty if it is not known.
    pub pci: Text,
    /// The serial number of the chip, if it has one.
    pub unique_id: Option<u64>,
}

impl From<&topology::Gpu> for GpuInfo {
    fn from(gpu: &topology::Gpu) -> Self {
        Self {
            gpu: gpu.id,
            name: gpu.name.as_str().into(),
            pci: gpu.pci.to_string().into(),
            unique_id: gpu.unique_id,
        }
    }
}

impl GpuInfo {
    pub(super) fn write(&self, out: &mut Vec<u8>, redact: bool) {
        _ = write!(out, "# gpu {:x} ", self.gpu.0);
        push_field(out, self.name.as_bytes());
        out.push(b' ');
        push_field(out, self.pci.as_bytes());
        match self.unique_id.filter(|_| !redact) {
            Some(id) => _ = writeln!(out, " {id:x}"),
            None => out.extend(b" -\n"),
        }
    }

    pub(super) fn read(fields: &mut Fields<'_>) -> Result<Self, Mistake> {
        Ok(Self {
            gpu: fields.gpu()?,
            name: fields.text()?,
            pci: fields.text()?,
            unique_id: fields.read(CaptureErrorKind::Hexadecimal, |field| match field {
                b"-" => Some(None),
                _ => hexadecimal(field).map(Some),
            })?,
        })
    }
}

/// What `/proc` said of a process *after* an event named its pid: by then, it could be another one.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "these are the fields of a line of version 1")]
pub struct ProcessInfo {
    /// The number that the event named.
    pub pid: Pid,
    /// Its name, `/proc/PID/comm` without the newline; empty if it is not known.
    pub comm: Text,
    /// Its control group, the path in `/proc/PID/cgroup`; empty if it is not known.
    pub cgroup: Text,
}

impl ProcessInfo {
    pub(super) fn write(&self, out: &mut Vec<u8>, redact: bool) {
        _ = write!(out, "# process {}", self.pid.as_unsigned());
        for text in [&self.comm, &self.cgroup] {
            out.push(b' ');
            push_field(out, if redact { b"" } else { text.as_bytes() });
        }
        out.push(b'\n');
    }

    pub(super) fn read(fields: &mut Fields<'_>) -> Result<Self, Mistake> {
        Ok(Self { pid: fields.pid()?, comm: fields.text()?, cgroup: fields.text()? })
    }
}

pub(super) fn write_clock(clock: Clock, out: &mut Vec<u8>) {
    let Clock { boot, realtime, monotonic } = clock;
    // None of the clocks of Linux is ever negative.
    _ = writeln!(out, "# clock {} {} {}", boot.nanos(), realtime.max(0), monotonic.max(0));
}

pub(super) fn read_clock(fields: &mut Fields<'_>) -> Result<Clock, Mistake> {
    let mut time = || fields.time();
    let (boot, realtime, monotonic) = (time()?, time()?, time()?);
    Ok(Clock { boot, realtime: realtime.nanos().cast_signed(), monotonic: monotonic.nanos().cast_signed() })
}
