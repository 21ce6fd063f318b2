//! Every test that crosses a crate, in one binary; those of the command are in `command/`.

mod capture;
mod chunking;
mod corpus;
mod fast;
mod generate;
mod no_alloc;
mod no_std;
mod pair;
mod printf;
mod reader;
mod round_trip;
mod seeds;
mod serde;
mod tokio;
mod trust;
mod wire_forms;
