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

/// One reason: the number of a bit in [`Throttlers`], 0 to 63. An open set.
///
/// ```
/// use kfd_smi_proto::{Throttler, Throttlers};
///
/// assert!(Throttlers(0x10_0000_0000).contains(Throttler::TEMP_HOTSPOT));
/// assert_eq!(Throttler::new(36), Some(Throttler::TEMP_HOTSPOT));
/// assert_eq!(Throttler::new(64), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Throttler(u8);

impl Throttlers {
    /// The reasons in ascending order of their bits.
    pub fn iter(self) -> impl Iterator<Item = Throttler> {
        (0..64).map(Throttler).filter(move |one| self.contains(*one))
    }

    /// Whether this is one of the reasons.
    #[must_use]
    pub const fn contains(self, one: Throttler) -> bool {
        self.0 >> one.0 & 1 == 1
    }
}

/// One row for each bit: its number, our name, the name in the kernel.
macro_rules! throttlers {
    ($($bit:literal $constant:ident $name:literal $c:literal;)*) => {
        impl Throttler {
            $(
                #[doc = concat!("Bit ", $bit, ".")]
                #[doc(alias = $c)]
                pub const $constant: Self = Self($bit);
            )*

            /// The name, that of `SMU_THROTTLER_…_BIT` in the kernel; `None` for a bit of a newer kernel.
            #[must_use]
            pub const fn name(self) -> Option<&'static str> {
                match self {
                    $(Self::$constant => Some($name),)*
                    _ => None,
                }
            }
        }
    };
}

throttlers! {
    0 PPT0 "PPT0" "SMU_THROTTLER_PPT0_BIT";
    1 PPT1 "PPT1" "SMU_THROTTLER_PPT1_BIT";
    2 PPT2 "PPT2" "SMU_THROTTLER_PPT2_BIT";
    3 PPT3 "PPT3" "SMU_THROTTLER_PPT3_BIT";
    4 SPL "SPL" "SMU_THROTTLER_SPL_BIT";
    5 FPPT "FPPT" "SMU_THROTTLER_FPPT_BIT";
    6 SPPT "SPPT" "SMU_THROTTLER_SPPT_BIT";
    7 SPPT_APU "SPPT_APU" "SMU_THROTTLER_SPPT_APU_BIT";
    16 TDC_GFX "TDC_GFX" "SMU_THROTTLER_TDC_GFX_BIT";
    17 TDC_SOC "TDC_SOC" "SMU_THROTTLER_TDC_SOC_BIT";
    18 TDC_MEM "TDC_MEM" "SMU_THROTTLER_TDC_MEM_BIT";
    19 TDC_VDD "TDC_VDD" "SMU_THROTTLER_TDC_VDD_BIT";
    20 TDC_CVIP "TDC_CVIP" "SMU_THROTTLER_TDC_CVIP_BIT";
    21 EDC_CPU "EDC_CPU" "SMU_THROTTLER_EDC_CPU_BIT";
    22 EDC_GFX "EDC_GFX" "SMU_THROTTLER_EDC_GFX_BIT";
    23 APCC "APCC" "SMU_THROTTLER_APCC_BIT";
    32 TEMP_GPU "TEMP_GPU" "SMU_THROTTLER_TEMP_GPU_BIT";
    33 TEMP_CORE "TEMP_CORE" "SMU_THROTTLER_TEMP_CORE_BIT";
    34 TEMP_MEM "TEMP_MEM" "SMU_THROTTLER_TEMP_MEM_BIT";
    35 TEMP_EDGE "TEMP_EDGE" "SMU_THROTTLER_TEMP_EDGE_BIT";
    36 TEMP_HOTSPOT "TEMP_HOTSPOT" "SMU_THROTTLER_TEMP_HOTSPOT_BIT";
    37 TEMP_SOC "TEMP_SOC" "SMU_THROTTLER_TEMP_SOC_BIT";
    38 TEMP_VR_GFX "TEMP_VR_GFX" "SMU_THROTTLER_TEMP_VR_GFX_BIT";
    39 TEMP_VR_SOC "TEMP_VR_SOC" "SMU_THROTTLER_TEMP_VR_SOC_BIT";
    40 TEMP_VR_MEM0 "TEMP_VR_MEM0" "SMU_THROTTLER_TEMP_VR_MEM0_BIT";
    41 TEMP_VR_MEM1 "TEMP_VR_MEM1" "SMU_THROTTLER_TEMP_VR_MEM1_BIT";
    42 TEMP_LIQUID0 "TEMP_LIQUID0" "SMU_THROTTLER_TEMP_LIQUID0_BIT";
    43 TEMP_LIQUID1 "TEMP_LIQUID1" "SMU_THROTTLER_TEMP_LIQUID1_BIT";
    44 VRHOT0 "VRHOT0" "SMU_THROTTLER_VRHOT0_BIT";
    45 VRHOT1 "VRHOT1" "SMU_THROTTLER_VRHOT1_BIT";
    46 PROCHOT_CPU "PROCHOT_CPU" "SMU_THROTTLER_PROCHOT_CPU_BIT";
    47 PROCHOT_GFX "PROCHOT_GFX" "SMU_THROTTLER_PROCHOT_GFX_BIT";
    56 PPM "PPM" "SMU_THROTTLER_PPM_BIT";
    57 FIT "FIT" "SMU_THROTTLER_FIT_BIT";
}

impl Throttler {
    /// The reason with this bit; `None` from 64 on.
    #[must_use]
    pub const fn new(bit: u8) -> Option<Self> {
        if bit < 64 { Some(Self(bit)) } else { None }
    }

    /// The number of the bit.
    #[must_use]
    pub const fn bit(self) -> u8 {
        self.0
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
