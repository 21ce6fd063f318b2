//! Other ways to read the same lines.
//!
//! Each folds every field of every event into a [`Checksum`], so that none can be fast by reading less. They keep plain
//! integers and know nothing of trust and offsets; a line that they do not understand ends them.

use kfd_smi_testkit::checksum::Checksum;

pub(crate) mod floors;
pub(crate) mod hand;
pub(crate) mod native;
pub(crate) mod plain_nom;
pub(crate) mod regex;
pub(crate) mod split;

/// Reads a whole log.
pub(crate) type Read = fn(&[u8]) -> Checksum;

/// The rivals that this machine has, by name; those that need a compiler which it lacks are not among them.
pub(crate) fn all() -> Vec<(&'static str, Read)> {
    let mut all: Vec<(&'static str, Read)> = vec![
        ("hand loop", hand::read),
        ("plain nom", plain_nom::read),
        ("split", split::read),
        ("regex", regex::read),
    ];
    all.extend_from_slice(native::ALL);
    all
}
