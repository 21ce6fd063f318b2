//! Makes a call with a path for the caller, with another path.
#![allow(unsafe_code, reason = "the call is whichever the caller made")]

use std::ffi::CStr;

use rustix::io::Errno;

use super::notify::Notification;
use super::paths::Shape;

/// Makes the call, which has this shape, with another path. Returns what it returned and what it wrote.
///
/// All its arguments that are neither the path nor the output are numbers: the shapes of `openat2`, which has a
/// structure, are never forwarded.
pub(super) fn forward(call: &Notification, shape: &Shape, path: &CStr) -> Result<(i64, Vec<u8>), Errno> {
    let mut args = call.args;
    args[shape.path] = path.as_ptr() as u64;
    let mut output = vec![];
    if let Some((index, size)) = shape.output(call) {
        output.resize(size, 0);
        args[index] = output.as_mut_ptr() as u64;
    }
    let [a, b, c, d, e, f] = args;
    // SAFETY: the path is alive, the output is as large as the call supposes, the rest is numbers.
    match unsafe { libc::syscall(call.nr, a, b, c, d, e, f) } {
        -1 => Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)),
        value => Ok((value, output)),
    }
}
