//! The rivals in C and C++.

use kfd_smi_testkit::checksum::Checksum;

/// Those that could be built, by name.
pub(crate) const ALL: &[(&str, super::Read)] = &[
    #[cfg(has_cpp)]
    ("from_chars", from_chars),
    ("sscanf 1 KiB", sscanf::<{ 1 << 10 }>),
    ("sscanf 8 KiB", sscanf::<{ 8 << 10 }>),
    ("sscanf 128 KiB", sscanf::<{ 128 << 10 }>),
];

/// Those that could not, and why.
pub(crate) const MISSING: &[&str] = &[
    #[cfg(not(has_cpp))]
    "from_chars, for want of a C++ compiler that has it",
];

/// The C side of a checksum.
#[derive(Default)]
#[repr(C)]
struct Parts {
    sum: u64,
    lines: u64,
}

unsafe extern "C" {
    fn kfd_smi_sscanf(text: *const u8, length: usize, sum: *mut Parts) -> usize;
    #[cfg(has_cpp)]
    fn kfd_smi_from_chars(text: *const u8, length: usize, sum: *mut Parts) -> usize;
}

#[cfg(has_cpp)]
fn from_chars(log: &[u8]) -> Checksum {
    let mut parts = Parts::default();
    // SAFETY: it reads `log.len()` bytes and no more, and both pointers are good for the call.
    unsafe { kfd_smi_from_chars(log.as_ptr(), log.len(), &raw mut parts) };
    Checksum::from_parts(parts.sum, parts.lines)
}

/// Reads of at most `N` bytes in whole lines, as the driver hands them out, each into the same buffer with a NUL behind
/// them.
fn sscanf<const N: usize>(log: &[u8]) -> Checksum {
    let mut parts = Parts::default();
    let mut buffer = vec![0; N + 1];
    let mut rest = log;
    while !rest.is_empty() {
        let most = &rest[..rest.len().min(N)];
        let Some(last) = memchr::memrchr(b'\n', most) else { break };
        let (read, behind) = rest.split_at(last + 1);
        buffer[..read.len()].copy_from_slice(read);
        buffer[read.len()] = 0;
        // SAFETY: it reads no further than the NUL at `read.len()`, and both pointers are good for the call.
        let used = unsafe { kfd_smi_sscanf(buffer.as_ptr(), read.len(), &raw mut parts) };
        if used < read.len() {
            break;
        }
        rest = behind;
    }
    Checksum::from_parts(parts.sum, parts.lines)
}
