//! Which system calls are stopped: the seccomp filter, a BPF program.
//!
//! It sees numbers only, no paths. So calls with a path are all stopped, those on a file descriptor only if its number
//! is one that the fake kernel gives out ([`FIRST_FD`] and up), and `ioctl` also by the driver's letter.

use std::os::raw::c_long;

use libc::sock_filter;

use super::paths;

/// The lowest number of a file descriptor whose reads and writes are answered here. A program that has so many
/// files open of its own only gets slower.
pub(super) const FIRST_FD: u32 = 700;

/// The letter of the ioctls of `/dev/kfd`.
pub(super) const KFD_IOCTL: u8 = b'K';

/// The calls that are stopped if their file descriptor is one that the fake kernel gave out.
const FD_CALLS: &[c_long] = &[
    libc::SYS_read,
    libc::SYS_write,
    libc::SYS_readv,
    libc::SYS_writev,
    libc::SYS_pread64,
    libc::SYS_fcntl,
    libc::SYS_dup,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_dup2,
    libc::SYS_dup3,
];

/// Where `struct seccomp_data` has what.
const NR: usize = 0;
const ARCH: usize = 4;
/// The low half, which comes first on the processors there are.
const fn arg(index: usize) -> usize {
    16 + 8 * index
}

/// The `AUDIT_ARCH_…` of this processor, if the fake kernel knows it.
const AUDIT_ARCH: Option<u32> = if cfg!(all(target_arch = "x86_64", target_pointer_width = "64")) {
    Some(0xc000_003e)
} else if cfg!(all(target_arch = "aarch64", target_endian = "little")) {
    Some(0xc000_00b7)
} else {
    None
};

/// The program, `None` for a processor whose calls are not known here.
pub(super) fn program() -> Option<Vec<sock_filter>> {
    let mut program = vec![load(ARCH)];
    // Calls in the convention of another architecture are none of ours.
    program.extend([jump(libc::BPF_JEQ, AUDIT_ARCH?, 1, 0), ret(libc::SECCOMP_RET_ALLOW), load(NR)]);
    for nr in paths::calls() {
        program.extend(when(libc::BPF_JEQ, number(nr), &[ret(libc::SECCOMP_RET_USER_NOTIF)]));
    }
    let on_our_fd = [
        &[load(arg(0))],
        &when(libc::BPF_JGE, FIRST_FD, &[ret(libc::SECCOMP_RET_USER_NOTIF)])[..],
        &[ret(libc::SECCOMP_RET_ALLOW)],
    ]
    .concat();
    for nr in FD_CALLS {
        program.extend(when(libc::BPF_JEQ, number(*nr), &on_our_fd));
    }
    let letter = statement(libc::BPF_ALU | libc::BPF_AND | libc::BPF_K, 0xff00);
    let of_driver = when(libc::BPF_JEQ, u32::from(KFD_IOCTL) << 8, &[ret(libc::SECCOMP_RET_USER_NOTIF)]);
    let ioctl = [&[load(arg(1)), letter], &of_driver[..], &on_our_fd].concat();
    program.extend(when(libc::BPF_JEQ, number(libc::SYS_ioctl), &ioctl));
    // A ring would read without a call. Programs go on without one where it is missing.
    let missing = ret(libc::SECCOMP_RET_ERRNO | number(libc::ENOSYS.into()));
    program.extend(when(libc::BPF_JEQ, number(libc::SYS_io_uring_setup), &[missing]));
    program.push(ret(libc::SECCOMP_RET_ALLOW));
    Some(program)
}

fn number(nr: c_long) -> u32 {
    u32::try_from(nr).expect("system calls have small numbers")
}

/// These instructions, passed over unless the comparison holds.
fn when(comparison: u32, value: u32, then: &[sock_filter]) -> Vec<sock_filter> {
    let over = u8::try_from(then.len()).expect("the blocks are short");
    [&[jump(comparison, value, 0, over)], then].concat()
}

fn load(offset: usize) -> sock_filter {
    let offset = u32::try_from(offset).expect("the structure is small");
    statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, offset)
}

fn ret(action: u32) -> sock_filter {
    statement(libc::BPF_RET | libc::BPF_K, action)
}

fn statement(code: u32, k: u32) -> sock_filter {
    instruction(code, k, 0, 0)
}

fn jump(comparison: u32, k: u32, jt: u8, jf: u8) -> sock_filter {
    instruction(libc::BPF_JMP | comparison | libc::BPF_K, k, jt, jf)
}

fn instruction(code: u32, k: u32, jt: u8, jf: u8) -> sock_filter {
    sock_filter { code: u16::try_from(code).expect("codes have 16 bits"), jt, jf, k }
}
