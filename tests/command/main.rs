//! The command as its users run it: arguments, bytes in, bytes and exit status out.

mod captures;
mod check;
mod findings;
mod folder;
mod formats;
mod generate;
mod golden;
mod hostile;
mod jobs;
mod live;
mod options;
mod process;
mod readme;
mod record;
mod run;
mod stat;
mod truth;
mod watch;
