//! The driver's `printf` formats, with the numbers as C has them: a second opinion on the encoder.
//!
//! It knows nothing of the library. What a [`Form`] prints is what some kernel prints, byte for byte, as long as the
//! name has at most 15 bytes and the numbers are of their C types.

/// The values that an event is printed from. Every format takes those it needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Values {
    /// `ktime_get_boottime_ns()`, never negative.
    pub nanos: i64,
    /// A `pid_t`.
    pub pid: i32,
    /// Page number or 64-bit mask.
    pub address: u64,
    /// Number of pages or 64-bit counter.
    pub size: u64,
    /// `from`, `node`, or the sequence number of a reset.
    pub from: u32,
    /// `to`.
    pub to: u32,
    /// `prefetch_loc`.
    pub prefetch: u32,
    /// `preferred_loc`.
    pub preferred: u32,
    /// A trigger.
    pub trigger: i32,
    /// An error code, or the number of dropped events.
    pub error: i32,
    /// Task name or reset cause: no newline in it.
    pub text: Vec<u8>,
    /// Picks one of the letters of a format.
    pub letter: usize,
}

/// One of the driver's formats: an event as some range of kernels prints it.
#[derive(Clone, Copy, Debug)]
pub struct Form {
    /// The kernels, for people.
    pub kernels: &'static str,
    /// The letters that these kernels put in for `%c`.
    pub letters: &'static [u8],
    /// The format as it stands in the driver, its id in front.
    pub format: &'static str,
    print: fn(&Values, u8) -> Vec<u8>,
}

/// Declares forms: the kernels, the letters, the format in C, and the same in Rust.
macro_rules! forms {
    ($($kernels:literal $letters:literal $format:literal => |$v:ident, $c:ident| $line:expr;)*) => {
        /// Every format of every kernel.
        pub const FORMS: &[Form] = &[$(Form {
            kernels: $kernels,
            letters: $letters,
            format: $format,
            print: |$v, $c| { _ = $c; $line },
        },)*];
    };
}

forms! {
    "5.8" b"" "1 %x:%s\n" => |v, c| with_text(format!("1 {:x}:", v.pid), v);
    "5.10 to 5.14" b"" "2 %x:%llx\n" => |v, c| format!("2 {:x}:{:x}\n", v.from, v.size).into();
    "5.15" b"" "2 %llx:%llx\n" => |v, c| format!("2 {:x}:{:x}\n", v.address, v.size).into();
    "5.10 to 6.10" b"" "3 %x\n" => |v, c| format!("3 {:x}\n", v.from).into();
    "6.11" b"" "3 %x %s\n" => |v, c| with_text(format!("3 {:x} ", v.from), v);
    "5.10 to 6.10" b"" "4 %x\n" => |v, c| format!("4 {:x}\n", v.from).into();
    "6.11" b"" "4 %x %s\n" => |v, c| with_text(format!("4 {:x} ", v.from), v);
    "6.0" b"" "5 %lld -%d @%lx(%lx) %x->%x %x:%x %d\n" => |v, c| format!(
        "5 {} -{} @{:x}({:x}) {:x}->{:x} {:x}:{:x} {}\n",
        v.nanos, v.pid, v.address, v.size, v.from, v.to, v.prefetch, v.preferred, v.trigger
    ).into();
    "6.0 to 6.12" b"" "6 %lld -%d @%lx(%lx) %x->%x %d\n" => |v, c| format!(
        "6 {} -{} @{:x}({:x}) {:x}->{:x} {}\n",
        v.nanos, v.pid, v.address, v.size, v.from, v.to, v.trigger
    ).into();
    "6.13" b"" "6 %lld -%d @%lx(%lx) %x->%x %d %d\n" => |v, c| format!(
        "6 {} -{} @{:x}({:x}) {:x}->{:x} {} {}\n",
        v.nanos, v.pid, v.address, v.size, v.from, v.to, v.trigger, v.error
    ).into();
    "6.0" b"RW" "7 %lld -%d @%lx(%x) %c\n" => |v, c| with_letter(
        format!("7 {} -{} @{:x}({:x}) ", v.nanos, v.pid, v.address, v.from), c
    );
    "6.0" b"MU" "8 %lld -%d @%lx(%x) %c\n" => |v, c| with_letter(
        format!("8 {} -{} @{:x}({:x}) ", v.nanos, v.pid, v.address, v.from), c
    );
    "6.0" b"" "9 %lld -%d %x %d\n" => |v, c| format!(
        "9 {} -{} {:x} {}\n", v.nanos, v.pid, v.from, v.trigger
    ).into();
    "6.0 to 6.11" b"" "a %lld -%d %x\n" => |v, c| format!("a {} -{} {:x}\n", v.nanos, v.pid, v.from).into();
    "6.0" b"R\x000" "a %lld -%d %x %c\n" => |v, c| with_letter(
        format!("a {} -{} {:x} ", v.nanos, v.pid, v.from), c
    );
    "6.0" b"" "b %lld -%d @%lx(%lx) %x %d\n" => |v, c| format!(
        "b {} -{} @{:x}({:x}) {:x} {}\n", v.nanos, v.pid, v.address, v.size, v.from, v.trigger
    ).into();
    "6.16" b"" "c %x %s\n" => |v, c| with_text(format!("c {:x} ", v.pid), v);
    "6.16" b"" "d %x %s\n" => |v, c| with_text(format!("d {:x} ", v.pid), v);
    "none" b"" "e %lld -%d %u\n" => |v, c| format!("e {} -{} {}\n", v.nanos, v.pid, v.from).into();
}

impl Form {
    /// The letter that these values pick, NUL where the format has none.
    #[must_use]
    pub fn letter(&self, values: &Values) -> u8 {
        self.letters.get(values.letter % self.letters.len().max(1)).copied().unwrap_or(0)
    }

    /// The line with its newline.
    #[must_use]
    pub fn print(&self, values: &Values) -> Vec<u8> {
        (self.print)(values, self.letter(values))
    }
}

fn with_text(head: String, values: &Values) -> Vec<u8> {
    [head.as_bytes(), &values.text, b"\n"].concat()
}

fn with_letter(head: String, letter: u8) -> Vec<u8> {
    [head.as_bytes(), &[letter], b"\n"].concat()
}
