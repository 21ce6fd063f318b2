//! The memory of a caller.
#![allow(unsafe_code, reason = "the memory is that of another process")]

use std::io;

use libc::iovec;

/// The kernel's limit for a path, with its NUL.
const PATH_MAX: usize = 4096;

/// No page is smaller, so a read up to such a border does not run into a missing page behind the last byte.
const PAGE: u64 = 4096;

/// Reads so many bytes.
pub(super) fn read(tid: u32, address: u64, buffer: &mut [u8]) -> io::Result<()> {
    let len = buffer.len();
    let local = iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: len };
    // SAFETY: the local buffer is as long as it says; the other address is checked by the kernel.
    let read = unsafe { libc::process_vm_readv(pid(tid), &raw const local, 1, &remote(address, len), 1, 0) };
    whole(read, len)
}

/// Writes these bytes.
pub(super) fn write(tid: u32, address: u64, bytes: &[u8]) -> io::Result<()> {
    let len = bytes.len();
    let local = iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: len };
    // SAFETY: the local buffer is as long as it says and only read; the other address is checked by the kernel.
    let written =
        unsafe { libc::process_vm_writev(pid(tid), &raw const local, 1, &remote(address, len), 1, 0) };
    whole(written, len)
}

/// Reads the bytes before the next NUL.
pub(super) fn read_path(tid: u32, mut address: u64) -> io::Result<Vec<u8>> {
    let mut path = vec![];
    while path.len() < PATH_MAX {
        let mut chunk = [0; PAGE as usize];
        let chunk = &mut chunk[(address % PAGE) as usize..];
        read(tid, address, chunk)?;
        let end = chunk.iter().position(|byte| *byte == 0);
        path.extend_from_slice(&chunk[..end.unwrap_or(chunk.len())]);
        if end.is_some() {
            return Ok(path);
        }
        address += chunk.len() as u64;
    }
    Err(io::Error::from_raw_os_error(libc::ENAMETOOLONG))
}

fn pid(tid: u32) -> libc::pid_t {
    tid.cast_signed()
}

fn remote(address: u64, len: usize) -> iovec {
    iovec { iov_base: address as *mut libc::c_void, iov_len: len }
}

/// A piece is no use: its rest is on a page that is not there.
fn whole(result: isize, len: usize) -> io::Result<()> {
    match result {
        -1 => Err(io::Error::last_os_error()),
        n if n.cast_unsigned() == len => Ok(()),
        _ => Err(io::Error::from_raw_os_error(libc::EFAULT)),
    }
}
