//! What the tests of kfd-smi have in common: a corpus, ways to cut it, and the laws.
//!
//! A law is a plain function that panics where it does not hold, with words that say why. Property tests, fuzz
//! targets and the replay of seeds all call the same ones.

#![deny(unsafe_code)]

pub mod capture_law;
pub mod checksum;
pub mod chunks;
pub mod corpus;
#[cfg(all(feature = "fake-kernel", target_os = "linux"))]
pub mod fake_kernel;
pub mod fuzz;
pub mod kernel;
pub mod laws;
pub mod pair_law;
pub mod pair_model;
mod skip;
pub mod speed;

pub use skip::skip;
