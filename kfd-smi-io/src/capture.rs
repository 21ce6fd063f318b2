//! The capture file: [`Recorder`] writes it, [`Replay`] reads it. [`RawLog`] reads a plain log, and [`Log`] whichever of
//! the two it is given.
//!
//! ```
//! use kfd_smi_io::capture::{Entry, Log};
//!
//! # fn main() -> std::io::Result<()> {
//! # let file = b"# kfd-smi capture 1\n9325639937 1f4b : 3 1 job hang\n".as_slice();
//! let mut log = Log::detect(file)?;
//! while let Some(entry) = log.next_entry()? {
//!     match entry {
//!         Entry::Record(record) => println!("{:?} {:?}", record.gpu, record.line.event),
//!         Entry::Malformed(error) => eprintln!("{error}"),
//!         _ => {}
//!     }
//! }
//! # Ok(())
//! # }
//! ```
//!
//! Records come from live reading, captures and raw logs as the same [`Record`](crate::Record). What a
//! capture gives is what was recorded: arrival, GPU, bytes, trust, and whether the source was seen empty before.
//!
#![doc = include_str!("../CAPTURE.md")]

mod error;
mod escape;
mod fact;
mod fields;
mod header;
mod log;
mod raw;
mod recorder;
mod redact;
mod replay;
mod row;
mod seam;
mod streams;
mod text;

pub use error::{CaptureError, CaptureErrorKind};
pub use fact::{GpuInfo, ProcessInfo};
pub use header::Header;
pub use log::{Detected, Log};
pub use raw::RawLog;
pub use recorder::Recorder;
pub use replay::{Entry, Replay};
pub use text::Text;

/// What the file begins with, without the newline. Nothing else is a capture.
pub const FIRST_LINE: &str = "# kfd-smi capture 1";

/// The longest line of the file in bytes, its end not counted: [a piece of a line](self#records) with every byte
/// escaped, and what stands in front of it.
pub const MAX_FILE_LINE: usize = 65_600;

/// So many GPUs can be recorded at once in one segment. Eight GPUs in eight partitions each are 64.
pub const MAX_GPUS: usize = 256;

/// The most bytes of a line that one record holds.
const MAX_PIECE: usize = 16384;
