//! How to read events in an event loop of your own. There is no code here.
//!
//! [`EventReader`](crate::EventReader) has a loop of its own, and `AsyncEventReader` (feature
//! `tokio`) is at home in tokio's. For any other, a [`SmiClient`](crate::SmiClient) lends its file descriptor
//! ([`AsFd`](std::os::fd::AsFd)) and a [`Decoder`](crate::proto::Decoder) makes lines of what is read.
//!
//! # What the file descriptor does
//!
//! * It is readable while the kernel's buffer holds something, and wakes at each new event: level-triggered and
//!   edge-triggered waits both work.
//! * It never blocks. A read of an empty buffer fails with `EAGAIN`, which [`SmiClient::read`](crate::SmiClient::read)
//!   gives as `None`, whatever the flags of the file descriptor.
//! * It is never writable in the sense of `poll`, and never hangs up.
//!
//! # The loop
//!
//! ```no_run
//! use kfd_smi_io::SmiClient;
//! use kfd_smi_io::proto::{Decoder, Line};
//!
//! # fn handle(line: Line<'_>) {}
//! /// Called when the file descriptor is readable.
//! fn readable(client: &SmiClient, decoder: &mut Decoder) -> Result<(), kfd_smi_io::Error> {
//!     loop {
//!         while let Some(line) = decoder.next_line() {
//!             handle(line);
//!         }
//!         match client.read(decoder.buffer())? {
//!             Some(n) => decoder.advance(n),
//!             // The kernel's buffer is empty: what comes next begins a new event.
//!             None => return Ok(decoder.source_drained()),
//!         }
//!     }
//! }
//! ```
//!
//! With an edge-triggered wait, read until `None`, as here: otherwise what is left makes no new edge.
//!
//! # Lines that wait in the decoder
//!
//! One read gives many lines. A loop that takes one line and then waits for the file descriptor can wait for ever: the
//! kernel's buffer is empty, and the lines are in the decoder. Ask [`Decoder::has_line`](crate::proto::Decoder::has_line)
//! before you wait, or take all of them, as above.
//!
//! # epoll, mio, calloop
//!
//! * **epoll**: `epoll_ctl(EPOLL_CTL_ADD)` with `client.as_fd()` and `EPOLLIN`.
//! * **mio**: `SourceFd(&client.as_fd().as_raw_fd())` with `Interest::READABLE`; mio is edge-triggered, so read until `None`.
//! * **calloop**: `Generic::new(client, Interest::READ, Mode::Level)`.
//!
//! Whichever it is: no program that you start inherits the file descriptor, and it goes on after [`Kfd`](crate::Kfd) is
//! dropped.
