//! Reads the events of the AMD GPU kernel driver (KFD SMI) on Linux.
//!
//! The driver gives one file descriptor per GPU, from an ioctl on `/dev/kfd`; lines of text come out of it. This crate
//! finds the GPUs, gets the file descriptors, waits for all of them in one thread and yields [`Record`]s: a line as
//! [`kfd_smi_proto`] reads it, with the GPU it came from and the time it came.
//!
//! ```text
//! topology::read ──► Kfd::smi_events ──► SmiClient::set_mask ──► EventReader::next ──► Record
//!  which GPUs         one fd each          what is wanted         one poll loop         gpu, arrival, line
//! ```
//!
//! # What a user must know
//!
//! * Without `CAP_SYS_ADMIN` a client gets resets, throttling and the events of its own process, no others'.
//! * [`EventMask::ALL_PROCESSES`] is always worth setting: without it, kernels 6.0 to 6.15 give even a privileged client
//!   nothing of others.
//! * A full buffer in the kernel drops events without a word: read on, and take [`Next::Full`] as a warning.
//! * A running client is a KFD process and holds the driver: no change of partitions, no `rmmod`, until it exits.
//!
//! # Features
//!
//! * `tokio`: `AsyncEventReader`, whose wait is a future. It brings libc with it.

#![deny(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod capture;
mod client;
mod clock;
mod error;
pub mod event_loop;
mod ioctl;
mod kfd;
mod reader;
mod record;
#[cfg(feature = "tokio")]
mod tokio;
pub mod topology;

pub use client::SmiClient;
pub use clock::Clock;
pub use error::{Error, Operation};
pub use kfd::Kfd;
pub use kfd_smi_proto as proto;
pub use kfd_smi_proto::{EventId, EventMask, GpuId, KfdVersion};
pub use reader::{EventReader, Next, Waker};
pub use record::Record;
#[cfg(feature = "tokio")]
pub use tokio::AsyncEventReader;

/// The examples of the README are compiled with the others.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
