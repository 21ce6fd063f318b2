//! What the tests of kfd-smi have in common: a corpus, ways to cut it, and the laws.
//!
//! A law is a plain function that panics where it does not hold, with words that say why. Property tests, fuzz
//! targets and the replay of seeds all call the same ones.

#![forbid(unsafe_code)]

pub mod chunks;
pub mod corpus;
pub mod kernel;
pub mod laws;
