//! The command as its users run it: arguments, bytes in, bytes and exit status out.

mod formats;
mod golden;
mod hostile;
mod options;
mod process;
mod readme;
mod run;
