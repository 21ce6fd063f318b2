//! What made a GPU reduce its clocks: [`Throttlers`].

use core::fmt;

/// The reasons of a THERMAL_THROTTLE event, one bit each.
///
/// The bits are those of `amdgpu_smu.h` in Linux 5.15 and later. Earlier kernels printed the raw status of
/// the one GPU model, whose bits mean other things; nothing in the line tells which it is.
///
/// ```
/// use kfd_smi_proto::Throttlers;
///
/// let throttlers = Throttlers(1 << 36 | 1 << 50);
/// assert!(throttlers.iter().map(|one| one.name()).eq([Some("TEMP_HOTSPOT"), None]));
/// assert_eq!(throttlers.to_string(), "TEMP_HOTSPOT bit50");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Throttlers(pub u64);

/// One reason: the number of a bit in [`Throttlers`], 0 to 63.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Throttler(u8);

impl Throttlers {
    /// The reasons in ascending order of their bits.
    pub fn iter(self) -> impl Iterator<Item = Throttler> {
        (0..64).map(Throttler).filter(move |one| self.0 >> one.0 & 1 == 1)
    }
}

impl Throttler {
    /// The number of the bit.
    #[must_use]
    pub const fn bit(self) -> u8 {
        self.0
    }

    /// The name, that of `SMU_THROTTLER_…_BIT` in the kernel; `None` for a bit of a newer kernel.
    #[must_use]
    pub const fn name(self) -> Option<&'static str> {
        Some(match self.0 {
            0 => "PPT0",
            1 => "PPT1",
            2 => "PPT2",
            3 => "PPT3",
            4 => "SPL",
            5 => "FPPT",
            6 => "SPPT",
            7 => "SPPT_APU",
            16 => "TDC_GFX",
            17 => "TDC_SOC",
            18 => "TDC_MEM",
            19 => "TDC_VDD",
            20 => "TDC_CVIP",
            21 => "EDC_CPU",
            22 => "EDC_GFX",
            23 => "APCC",
            32 => "TEMP_GPU",
            33 => "TEMP_CORE",
            34 => "TEMP_MEM",
            35 => "TEMP_EDGE",
            36 => "TEMP_HOTSPOT",
            37 => "TEMP_SOC",
            38 => "TEMP_VR_GFX",
            39 => "TEMP_VR_SOC",
            40 => "TEMP_VR_MEM0",
            41 => "TEMP_VR_MEM1",
            42 => "TEMP_LIQUID0",
            43 => "TEMP_LIQUID1",
            44 => "VRHOT0",
            45 => "VRHOT1",
            46 => "PROCHOT_CPU",
            47 => "PROCHOT_GFX",
            56 => "PPM",
            57 => "FIT",
            _ => return None,
        })
    }
}

/// The name, or `bit50` for an unknown bit.
impl fmt::Display for Throttler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "bit{}", self.0),
        }
    }
}

/// The names with blanks between them; `none` if no bit is set.
impl fmt::Display for Throttlers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == 0 {
            return f.write_str("none");
        }
        for (position, one) in self.iter().enumerate() {
            if position > 0 {
                f.write_str(" ")?;
            }
            one.fmt(f)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::string::ToString as _;

    #[test]
    fn every_bit_is_there_once() {
        assert!(Throttlers(u64::MAX).iter().map(Throttler::bit).eq(0..64));
        assert_eq!(Throttlers(u64::MAX).iter().filter(|one| one.name().is_some()).count(), 34);
        assert_eq!(Throttlers(0).to_string(), "none");
        assert_eq!(Throttlers(0x8001).to_string(), "PPT0 bit15");
    }
}
