//! Eight bytes of a line as one word, and the window in which such words lie.

/// The last place in a window at which a word is read or written: all ones, so that it is a mask.
pub(crate) const LAST_WORD: usize = 127;

/// How many bytes from the beginning of a line are accessed, at most.
pub(crate) const WINDOW: usize = LAST_WORD + size_of::<u64>();

/// A word of eight such bytes.
pub(crate) const fn each(byte: u8) -> u64 {
    u64::from_ne_bytes([byte; 8])
}
