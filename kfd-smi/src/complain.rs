//! Standard error, where everything goes that is no event.

use std::fmt;
use std::io::Write as _;

/// Exit status: some input had bad lines, and that was asked.
pub(crate) const BAD_LINES: u8 = 1;

/// Exit status: something could not be opened, read or written.
pub(crate) const FAILED: u8 = 2;

/// Says a sentence, all of it printable ASCII: paths and the words of the system can hold anything.
pub(crate) fn complain(what: &dyn fmt::Display) {
    // If nobody can hear it, the exit status still tells.
    _ = writeln!(anstream::stderr(), "kfd-smi: {}", printable(&what.to_string()));
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
