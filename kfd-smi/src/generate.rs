//! Makes up what the driver could have said, and knows what it means: for demonstrations and tests without a GPU.
//!
//! ```text
//! scenarios ─► plans ─► engine ─► driver: a fifo for each GPU, and its reader ─► log or capture
//!                                                    └─► truth
//! ```
//!
//! Each process, and whatever else happens on the machine, plans what it does next as steps with times. The engine
//! takes the steps of all in the order of their times and lets the driver insert the events. Someone reads the
//! driver's buffers a little later. What he gets is written, and entered in the books.
//!
//! Everything follows from a seed: there is no clock in it, and no order that differs from run to run.

mod driver;
mod engine;
mod kernel;
mod names;
mod output;
mod plan;
mod rng;
mod scenario;
mod truth;
mod world;

pub(crate) use engine::{Engine, Limit, Wanted};
pub(crate) use kernel::Kernel;
pub(crate) use output::Sink;
pub(crate) use scenario::Scenario;
pub(crate) use truth::Truth;
