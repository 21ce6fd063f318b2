//! The logs of the corpus that benches read.

use kfd_smi_testkit::corpus;
use kfd_smi_testkit::speed::SpeedLog;

use crate::rivals::split;

/// A log in `tests/data/speed`. Its values were not kept, so they are those that the standard library finds in it.
pub(crate) fn of_corpus(name: &'static str) -> SpeedLog {
    let path = corpus::folder().join("speed").join(name).with_extension("smi");
    let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let checksum = split::read(&bytes);
    let lines = bytes.iter().filter(|byte| **byte == b'\n').count() as u64;
    assert_eq!(checksum.lines(), lines, "{} was not read to its end", path.display());
    SpeedLog { name, bytes, checksum }
}
