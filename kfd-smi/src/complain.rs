//! Standard error, where everything goes that is no event.

use std::fmt;
use std::io::{self, Write as _};
use std::process::ExitCode;

/// Exit status: some input had bad lines, and that was asked.
pub(crate) const BAD_LINES: u8 = 1;

/// Exit status: something could not be opened, read or written.
pub(crate) const FAILED: u8 = 2;

/// Says a sentence, all of it printable ASCII: paths and the words of the system can hold anything.
pub(crate) fn complain(what: &dyn fmt::Display) {
    // If nobody can hear it, the exit status still tells.
    _ = writeln!(anstream::stderr(), "kfd-smi: {}", printable(&what.to_string()));
}

/// Says why the program cannot go on, and gives its exit status.
pub(crate) fn fail(why: &dyn fmt::Display) -> ExitCode {
    complain(why);
    ExitCode::from(FAILED)
}

/// The exit status of a program that could not write to standard output.
///
/// If nobody reads any more, or nobody did when it was to end, that is no error.
pub(crate) fn write_failed(error: &io::Error) -> ExitCode {
    if matches!(error.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::Interrupted) {
        return ExitCode::SUCCESS;
    }
    fail(&format_args!("cannot write to standard output: {error}"))
}

/// A text with everything else escaped.
pub(crate) fn printable(text: &str) -> String {
    let mut printable = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            ' '..='~' => printable.push(c),
            _ => printable.extend(c.escape_default()),
        }
    }
    printable
}

#[cfg(test)]
mod tests {
    use super::printable;

    #[test]
    fn nothing_reaches_the_terminal() {
        assert_eq!(printable("a \"b\\c\" \x1b[31m\u{202e}\n"), r#"a "b\c" \u{1b}[31m\u{202e}\n"#);
    }
}
