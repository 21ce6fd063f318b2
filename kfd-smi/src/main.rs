//! The command `kfd-smi`: see what the AMD GPU driver just did.

#![forbid(unsafe_code)]

use std::process::ExitCode;

use clap::Parser as _;

mod cli;
mod csv;
mod errno;
mod fields;
mod filter;
mod human;
mod input;
mod json;
mod output;
mod printer;
mod progress;
mod record;
mod replay;
mod signals;
mod summary;

fn main() -> ExitCode {
    let cli = cli::Cli::parse();
    match cli.command {
        cli::Command::Replay(args) => replay::run(&args, cli.color),
    }
}
