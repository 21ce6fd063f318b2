//! The names of the Linux kernel's error numbers, whatever machine this runs on.

use std::fmt;

/// `-12 ENOMEM`
pub(crate) struct ErrorCode(pub(crate) i32);

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match name(self.0.unsigned_abs()).filter(|_| self.0 < 0) {
            Some(name) => write!(f, "{} {name}", self.0),
            None => write!(f, "{}", self.0),
        }
    }
}

/// The name of an errno, such as `ENOMEM` for 12.
fn name(errno: u32) -> Option<&'static str> {
    let name = NAMES.get(usize::try_from(errno).ok()?.checked_sub(1)?)?;
    (!name.is_empty()).then_some(name)
}

/// `asm-generic/errno-base.h` and `asm-generic/errno.h`, from 1 on; 41 and 58 are not in use.
#[rustfmt::skip]
const NAMES: [&str; 133] = [
    "EPERM", "ENOENT", "ESRCH", "EINTR", "EIO", "ENXIO", "E2BIG", "ENOEXEC", "EBADF", "ECHILD",
    "EAGAIN", "ENOMEM", "EACCES", "EFAULT", "ENOTBLK", "EBUSY", "EEXIST", "EXDEV", "ENODEV", "ENOTDIR",
    "EISDIR", "EINVAL", "ENFILE", "EMFILE", "ENOTTY", "ETXTBSY", "EFBIG", "ENOSPC", "ESPIPE", "EROFS",
    "EMLINK", "EPIPE", "EDOM", "ERANGE", "EDEADLK", "ENAMETOOLONG", "ENOLCK", "ENOSYS", "ENOTEMPTY", "ELOOP",
    "", "ENOMSG", "EIDRM", "ECHRNG", "EL2NSYNC", "EL3HLT", "EL3RST", "ELNRNG", "EUNATCH", "ENOCSI",
    "EL2HLT", "EBADE", "EBADR", "EXFULL", "ENOANO", "EBADRQC", "EBADSLT", "", "EBFONT", "ENOSTR",
    "ENODATA", "ETIME", "ENOSR", "ENONET", "ENOPKG", "EREMOTE", "ENOLINK", "EADV", "ESRMNT", "ECOMM",
    "EPROTO", "EMULTIHOP", "EDOTDOT", "EBADMSG", "EOVERFLOW", "ENOTUNIQ", "EBADFD", "EREMCHG", "ELIBACC", "ELIBBAD",
    "ELIBSCN", "ELIBMAX", "ELIBEXEC", "EILSEQ", "ERESTART", "ESTRPIPE", "EUSERS", "ENOTSOCK", "EDESTADDRREQ", "EMSGSIZE",
    "EPROTOTYPE", "ENOPROTOOPT", "EPROTONOSUPPORT", "ESOCKTNOSUPPORT", "EOPNOTSUPP", "EPFNOSUPPORT", "EAFNOSUPPORT",
    "EADDRINUSE", "EADDRNOTAVAIL", "ENETDOWN", "ENETUNREACH", "ENETRESET", "ECONNABORTED", "ECONNRESET", "ENOBUFS",
    "EISCONN", "ENOTCONN", "ESHUTDOWN", "ETOOMANYREFS", "ETIMEDOUT", "ECONNREFUSED", "EHOSTDOWN", "EHOSTUNREACH",
    "EALREADY", "EINPROGRESS", "ESTALE", "EUCLEAN", "ENOTNAM", "ENAVAIL", "EISNAM", "EREMOTEIO", "EDQUOT", "ENOMEDIUM",
    "EMEDIUMTYPE", "ECANCELED", "ENOKEY", "EKEYEXPIRED", "EKEYREVOKED", "EKEYREJECTED", "EOWNERDEAD", "ENOTRECOVERABLE",
    "ERFKILL", "EHWPOISON",
];

#[cfg(test)]
mod tests {
    use super::{ErrorCode, name};

    #[test]
    fn numbers_have_their_names() {
        // One at each place where the two headers begin, skip or end.
        for (errno, expected) in [
            (1, "EPERM"),
            (5, "EIO"),
            (12, "ENOMEM"),
            (16, "EBUSY"),
            (19, "ENODEV"),
            (22, "EINVAL"),
            (28, "ENOSPC"),
            (38, "ENOSYS"),
            (34, "ERANGE"),
            (35, "EDEADLK"),
            (40, "ELOOP"),
            (42, "ENOMSG"),
            (57, "EBADSLT"),
            (59, "EBFONT"),
            (90, "EMSGSIZE"),
            (62, "ETIME"),
            (75, "EOVERFLOW"),
            (95, "EOPNOTSUPP"),
            (105, "ENOBUFS"),
            (110, "ETIMEDOUT"),
            (117, "EUCLEAN"),
            (125, "ECANCELED"),
            (133, "EHWPOISON"),
        ] {
            assert_eq!(name(errno), Some(expected));
        }
        for unused in [0, 41, 58, 134, u32::MAX] {
            assert_eq!(name(unused), None);
        }
    }

    #[test]
    fn error_codes_have_names() {
        assert_eq!(ErrorCode(-12).to_string(), "-12 ENOMEM");
        assert_eq!(ErrorCode(75).to_string(), "75");
        assert_eq!(ErrorCode(-4000).to_string(), "-4000");
    }
}
