//! The event lines of the AMD GPU kernel driver (KFD SMI): parser, encoder, decoder.
//!
//! The driver reports page faults, migrations, evictions, resets and throttling as lines of text, read from a
//! file descriptor that an ioctl on `/dev/kfd` returns, one per GPU. Their formats changed over the years
//! without a new version. This crate knows every form of every kernel since Linux 5.8, goes by the shape of a
//! line and never by a version, and gives an event or a clear error for any bytes whatever.
//!
//! It does no I/O, reads no clock, allocates nothing and has no unsafe code: it runs in a monitor, in firmware and
//! in a browser. A log needs no GPU:
//!
//! ```
//! use kfd_smi_proto::{Event, lines};
//!
//! let log = b"7 14601738586508 -152990 @7f0f15200(1ea0) W\n\
//!             6 14601738596508 -152990 @7f0f15200(200) 0->1ea0 1 -12\n\
//!             a 14601738599999 -152990 1ea0 \0\n";
//! for line in lines(log) {
//!     match line.event {
//!         Ok(Event::MigrateEnd(end)) => assert_eq!(end.error_code(), Some(-12)),
//!         Ok(event) => println!("{event}"),
//!         Err(error) => eprintln!("byte {}: {error}", line.offset),
//!     }
//! }
//! ```
//!
//! # The way of the bytes
//!
//! ```text
//! EventMask ──► the driver's fd ──► chunks ──► Decoder ──► Line ──► Event ──► encode
//!  what to           (yours)        of any     puts lines   with      typed     the same
//!  ask for                          size       together     Trust               bytes again
//!                                                             │
//!                                                             ├──► Pairer ──► Interval ──► Statistics
//!                                                             │    START                   what all
//!                                                             │    with END                comes to
//!                                                             └───────────────────────────────▲
//! ```
//!
//! * Ask: [`EventMask`], [`EventId`], [`KfdVersion`].
//! * Read: [`Decoder`] from chunks of any size, [`lines`] over a whole log, [`parse_line`] for one.
//! * Understand: [`Line`] holds an [`Event`] or a [`ParseError`], and how far to trust it, [`Trust`].
//! * Show: everything that came from the kernel is escaped by its `Display`; [`Escaped`] does that for any bytes.
//! * Write: [`encode()`] gives the kernel's bytes.
//! * Pair: [`Pairer`] makes an [`Interval`] of a START and its END, and accounts for those that have none.
//! * Count: [`Statistics`] over lines and intervals; [`EventCounts`] and [`Histogram`] for your own.
//!
//! Addresses and sizes are in pages: [`PageRange`]. Times are nanoseconds since boot: [`BootNanos`].
//!
//! # Features
//!
//! * `std` (default): finds newlines with the widest instructions of the running processor. It gates no item.
//! * `serde`: `Serialize` for events, lines, errors and intervals; `Deserialize` as well for ids, masks,
//!   versions, errors and the numbers in events.
//! * `defmt`: `Format` for the same, for logs of firmware.
//! * `arbitrary`: `Arbitrary` for events and what they hold, for fuzzing and property tests. It needs `std`.

#![no_std]
#![forbid(unsafe_code)]
#![deny(
    clippy::alloc_instead_of_core,
    clippy::std_instead_of_core,
    clippy::arithmetic_side_effects,
    clippy::exhaustive_enums,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used
)]
#![cfg_attr(
    test,
    allow(
        clippy::arithmetic_side_effects,
        clippy::indexing_slicing,
        clippy::panic,
        clippy::unwrap_used,
        reason = "a test may fail"
    )
)]
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "arbitrary")]
extern crate std;

#[cfg(feature = "arbitrary")]
mod any;
mod decoder;
mod encode;
mod error;
mod event;
#[cfg(fast_path)]
mod fast;
mod field;
mod grammar;
mod id;
mod line;
mod mask;
mod page;
mod pair;
mod stats;
mod text;
mod throttle;
mod trigger;
mod trust;
mod version;
mod word;

pub use decoder::Decoder;
pub use encode::{EncodeError, encode};
pub use error::{Expected, ParseError, ParseErrorKind};
pub use event::{
    Access, DroppedEvents, Event, FaultOutcome, GpuReset, Inconsistent, MigrateEnd, MigrateStart, Migration,
    PageFaultEnd, PageFaultStart, Process, QueueEviction, QueueRestore, RestoreFlag, ThermalThrottle,
    Unknown, UnmapFromGpu, VmFault,
};
pub use field::{BootNanos, GpuId, Location, Pid};
pub use id::EventId;
pub use line::{Line, Lines, MAX_LINE, Part, lines, parse_line};
pub use mask::EventMask;
pub use page::{PageCount, PageNumber, PageRange, PageSize};
pub use pair::{
    AbandonReason, Activity, DeviceToDevice, Interval, PairCount, PairCounts, Paired, Pairer, Span, SpanKind,
};
pub use stats::{EventCounts, Faults, Histogram, Migrations, Queues, Statistics};
pub use text::{Escaped, MAX_TEXT, ResetCause, TaskName, TextError, Trailing};
pub use throttle::{Throttler, Throttlers};
pub use trigger::{EvictionTrigger, MigrateTrigger, UnmapTrigger};
pub use trust::{Trust, TrustTracker};
pub use version::KfdVersion;

/// The examples of the README run with the others.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
