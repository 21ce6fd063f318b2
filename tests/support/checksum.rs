//! What a program has understood of a log, in one number: [`Checksum`].

/// A place of a value in an event. Fields that mean the same in several events are one. C has the same list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// The id.
    Id,
    /// Nanoseconds since boot.
    Time,
    /// The pid, decimal or not.
    Pid,
    /// Page number or bit mask.
    Address,
    /// Number of pages or counter.
    Size,
    /// `from`, the GPU, or the number of a reset.
    From,
    /// `to`.
    To,
    /// `prefetch_loc`.
    Prefetch,
    /// `preferred_loc`.
    Preferred,
    /// A trigger.
    Trigger,
    /// An error code, if there is one.
    Error,
    /// A letter, if there is one.
    Letter,
    /// A name or cause, if there is one: its length.
    Text,
    /// Its first byte.
    First,
    /// Its last byte.
    Last,
}

/// Every field of every event, folded into 64 bits: a parser that misses or misreads one has another sum.
///
/// It is made to be cheap, since a benchmark pays for it, and to be the same in C. Every value counts times an odd
/// number of its field; a line turns the sum by one bit, so the order of lines counts, too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Checksum {
    sum: u64,
    lines: u64,
}

impl Checksum {
    /// That of a program which kept both numbers itself.
    #[must_use]
    pub const fn from_parts(sum: u64, lines: u64) -> Self {
        Self { sum, lines }
    }

    /// How many lines ended.
    #[must_use]
    pub const fn lines(self) -> u64 {
        self.lines
    }

    /// A number.
    #[inline(always)]
    pub const fn add(&mut self, field: Field, value: u64) -> &mut Self {
        let weight = (2 * field as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.sum = self.sum.wrapping_add(value.wrapping_mul(weight));
        self
    }

    /// A number with a sign.
    #[inline(always)]
    pub const fn add_signed(&mut self, field: Field, value: i32) -> &mut Self {
        self.add(field, value.cast_unsigned() as u64)
    }

    /// An error code or letter that an event can lack: 0 is not the same as none.
    #[inline(always)]
    pub const fn add_optional(&mut self, field: Field, value: Option<i32>) -> &mut Self {
        match value {
            Some(value) => self.add(field, value.cast_unsigned() as u64 + 1),
            None => self,
        }
    }

    /// A name or a cause. Its length and its ends tell where it was cut; what lies between cannot be misread.
    #[inline(always)]
    pub const fn add_text(&mut self, text: &[u8]) -> &mut Self {
        self.add(Field::Text, text.len() as u64 + 1);
        if let ([first, ..], [.., last]) = (text, text) {
            self.add(Field::First, *first as u64).add(Field::Last, *last as u64);
        }
        self
    }

    /// The line is done.
    #[inline(always)]
    pub const fn end_line(&mut self) {
        self.sum = self.sum.rotate_left(1);
        self.lines += 1;
    }
}
