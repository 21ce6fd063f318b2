//! The command `kfd-smi`: see what the AMD GPU driver just did.

#![forbid(unsafe_code)]

use std::process::ExitCode;

use clap::Parser as _;

mod cli;
mod complain;
mod csv;
mod errno;
mod fields;
mod filter;
mod gpus;
mod human;
mod input;
mod json;
mod live;
mod monitor;
mod output;
mod printer;
mod progress;
mod record;
mod replay;
mod signals;
mod summary;
mod time;

fn main() -> ExitCode {
    let cli = cli::Cli::parse();
    match cli.command {
        cli::Command::Gpus(args) => gpus::run(&args),
        cli::Command::Monitor(args) => monitor::run(&args, cli.color),
        cli::Command::Replay(args) => replay::run(&args, cli.color),
    }
}
