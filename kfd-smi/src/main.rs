//! The command `kfd-smi`: see what the AMD GPU driver just did.

#![forbid(unsafe_code)]

use std::process::ExitCode;

use clap::Parser as _;

mod amount;
mod bounded;
mod cli;
mod command;
mod complain;
mod csv;
mod destination;
mod errno;
mod excerpt;
mod fields;
mod filter;
mod finding;
mod generate;
mod human;
mod input;
mod jobs;
mod json;
mod live;
mod machine;
mod merge;
mod out;
mod output;
mod pace;
mod printer;
mod processes;
mod progress;
mod record;
mod ring;
mod signals;
mod stat;
mod summary;
mod tally;
mod time;
mod watch;
mod window;
mod writer;

fn main() -> ExitCode {
    let cli = match cli::Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return cli::end(&error),
    };
    match cli.command {
        cli::Command::Generate(args) => command::generate::run(&args),
        cli::Command::Gpus(args) => command::gpus::run(&args),
        cli::Command::Monitor(args) => command::monitor::run(&args, cli.color),
        cli::Command::Record(args) => command::record::run(&args),
        cli::Command::Replay(args) => command::replay::run(&args, cli.color),
        cli::Command::Stat(args) => command::stat::run(&args, cli.color),
        cli::Command::Check(args) => command::check::run(&args),
    }
}
