//! Numbers, sizes, times and rates as people read them.

use std::fmt;

/// So many of something, whose plural ends in s: `1 VM fault`, `2 VM faults`.
pub(crate) struct Count(pub(crate) u64, pub(crate) &'static str);

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(count, what) = self;
        write!(f, "{count} {what}{}", if *count == 1 { "" } else { "s" })
    }
}

/// A size in bytes: `4 KiB`, `173.4062 MiB`, or with as many digits as are asked for: `173.4 MiB`.
pub(crate) struct Bytes(pub(crate) u128);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(u32, &str); 4] = [(40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")];
        let unit = UNITS.iter().find(|(shift, _)| self.0 >> shift > 0);
        let Some((shift, name)) = unit else { return write!(f, "{} B", self.0) };
        if self.0.trailing_zeros() >= *shift {
            write!(f, "{} {name}", self.0 >> shift)
        } else {
            let digits = f.precision().unwrap_or(4);
            write!(f, "{:.digits$} {name}", self.0 as f64 / (1_u64 << shift) as f64)
        }
    }
}

/// A time in nanoseconds: `600 ns`, `39.135 ms`, `1 h 02 min 03 s`.
pub(crate) struct Nanos(pub(crate) u128);

impl fmt::Display for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Nothing is shown as more than it is.
        let thousandths = |unit: u128| (self.0 / unit, self.0 % unit / (unit / 1000));
        let (whole, part, name) = match self.0 {
            0..1_000 => return write!(f, "{} ns", self.0),
            1_000..1_000_000 => (self.0 / 1_000, self.0 % 1_000, "us"),
            1_000_000..1_000_000_000 => {
                let (whole, part) = thousandths(1_000_000);
                (whole, part, "ms")
            }
            1_000_000_000..120_000_000_000 => {
                let (whole, part) = thousandths(1_000_000_000);
                (whole, part, "s")
            }
            _ => {
                let seconds = self.0 / 1_000_000_000;
                let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
                return if hours > 0 {
                    write!(f, "{hours} h {minutes:02} min {:02} s", seconds % 60)
                } else {
                    write!(f, "{minutes} min {:02} s", seconds % 60)
                };
            }
        };
        write!(f, "{whole}.{part:03} {name}")
    }
}

/// Bytes a second, rounded down; `None` if no time passed.
pub(crate) const fn bytes_per_second(bytes: u128, nanos: u128) -> Option<u128> {
    bytes.saturating_mul(1_000_000_000).checked_div(nanos)
}

/// Bytes a second as GB/s, with two digits behind the point: a GB is 10^9 bytes.
pub(crate) struct Rate(pub(crate) u128);

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.2}", self.0 as f64 / 1e9)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_four_digits_unless_they_are_whole() {
        for (bytes, shown) in [
            (0, "0 B"),
            (1023, "1023 B"),
            (4096, "4 KiB"),
            (2 << 20, "2 MiB"),
            (44_392 * 4096, "173.4062 MiB"),
            (432_865_280, "412.8125 MiB"),
            (3 << 30, "3 GiB"),
            (u128::from(u64::MAX), "16777216.0000 TiB"),
        ] {
            assert_eq!(Bytes(bytes).to_string(), shown);
        }
        assert_eq!(format!("{:.1}", Bytes(44_392 * 4096)), "173.4 MiB");
    }

    #[test]
    fn times_have_the_unit_that_fits() {
        for (nanos, shown) in [
            (0, "0 ns"),
            (999, "999 ns"),
            (12_345, "12.345 us"),
            (39_135_300, "39.135 ms"),
            (119_999_999_999, "119.999 s"),
            (120_000_000_000, "2 min 00 s"),
            (3_723_000_000_000, "1 h 02 min 03 s"),
        ] {
            assert_eq!(Nanos(nanos).to_string(), shown);
        }
        assert_eq!(
            bytes_per_second(432_865_280, 827_859_200).map(|rate| Rate(rate).to_string()),
            Some("0.52".into())
        );
        assert_eq!(bytes_per_second(5, 0), None);
    }
}
