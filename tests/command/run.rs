//! Runs the command.

use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, Command, Output, Stdio};

/// The command, away from the environment of whoever runs the tests.
pub(crate) fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kfd-smi"));
    command.args(args).stdin(Stdio::null()).env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE");
    command
}

/// Sends a signal, by its name without SIG.
pub(crate) fn signal(child: &Child, name: &str) {
    let signal = match name {
        "INT" => Signal::INT,
        "TERM" => Signal::TERM,
        "HUP" => Signal::HUP,
        "STOP" => Signal::STOP,
        "CONT" => Signal::CONT,
        _ => panic!("no signal {name}"),
    };
    kill_process(Pid::from_child(child), signal).unwrap();
}

/// Reads one line of what a command prints and goes away, which must end the command without a word.
pub(crate) fn head(mut child: Child) -> String {
    let mut first = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut first).unwrap();
    assert!(first.ends_with('\n'));
    let mut stderr = String::new();
    child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    assert_eq!((child.wait().unwrap().code(), stderr.as_str()), (Some(0), ""));
    first
}

/// What a run printed and how it ended.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
    pub(crate) status: i32,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        Self {
            stdout: output.stdout,
            stderr: String::from_utf8(output.stderr).unwrap(),
            status: output.status.code().expect("no signal ended it"),
        }
    }
}

impl Ran {
    pub(crate) fn text(&self) -> &str {
        str::from_utf8(&self.stdout).unwrap()
    }

    pub(crate) fn lines(&self) -> Vec<&str> {
        self.text().lines().collect()
    }
}

/// Runs `kfd-smi replay` with these arguments on these bytes as standard input.
pub(crate) fn replay(args: &[&str], input: &[u8]) -> Ran {
    feed(&[&["replay"], args].concat(), input)
}

/// Runs the command with these arguments on these bytes as standard input.
pub(crate) fn feed(args: &[&str], input: &[u8]) -> Ran {
    let mut child = command(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command runs");
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    // A command that ends before it has read all of its input is none of this thread's business.
    let writer = std::thread::spawn(move || stdin.write_all(&input));
    let output = child.wait_with_output().unwrap();
    _ = writer.join().unwrap();
    output.into()
}
