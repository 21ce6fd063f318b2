//! `Arbitrary` for what cannot derive it: numbers of every width, texts without newline, events that hold
//! together.

use arbitrary::{Arbitrary, Result, Unstructured};

use crate::event::{
    Access, DroppedEvents, Event, FaultOutcome, MigrateEnd, QueueRestore, RestoreFlag, Unknown,
};
use crate::field::{BootNanos, GpuId, Location, Pid};
use crate::id::EventId;
use crate::page::{PageCount, PageNumber, PageRange, PageSize};
use crate::text::{MAX_TEXT, ResetCause, TaskName, Trailing};
use crate::throttle::Throttlers;
use crate::trigger::{EvictionTrigger, MigrateTrigger, UnmapTrigger};

/// A number whose width is as arbitrary as its digits: a uniform one nearly always has all of them.
fn number(u: &mut Unstructured<'_>) -> Result<u64> {
    let value = u64::arbitrary(u)?;
    let width = u.int_in_range(0..=64_u32)?;
    Ok(value.checked_shr(width).unwrap_or(0))
}

macro_rules! numbers {
    ($($type:ident($inner:ty);)*) => {
        $(
            impl<'a> Arbitrary<'a> for $type {
                fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
                    let negative = bool::arbitrary(u)?;
                    let value = number(u)?;
                    // The lower bits, of either sign.
                    Ok(Self((if negative { !value } else { value }) as $inner))
                }
            }
        )*
    };
}

numbers! {
    Pid(i32);
    GpuId(u32);
    Location(u32);
    PageNumber(u64);
    PageCount(u64);
    Throttlers(u64);
    MigrateTrigger(i32);
    EvictionTrigger(i32);
    UnmapTrigger(i32);
}

impl<'a> Arbitrary<'a> for BootNanos {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        Ok(Self::new(number(u)? >> 1).unwrap_or(Self::MAX))
    }
}

impl<'a> Arbitrary<'a> for PageSize {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        let shift = u.int_in_range(0..=63_u32)?;
        Ok(Self::new(1_u64.wrapping_shl(shift)).unwrap_or(Self::FOUR_KIB))
    }
}

impl<'a> Arbitrary<'a> for PageRange {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        Ok(Self { start: u.arbitrary()?, count: u.arbitrary()? })
    }
}

macro_rules! texts {
    ($($type:ident)*) => {
        $(
            impl<'a> Arbitrary<'a> for $type<'a> {
                fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
                    let bytes = <&[u8]>::arbitrary(u)?;
                    let line = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
                    let text = line.get(..MAX_TEXT).unwrap_or(line);
                    Self::new(text).map_err(|_| arbitrary::Error::IncorrectFormat)
                }
            }
        )*
    };
}

texts! { TaskName ResetCause Trailing }

/// One of the known letters as a rule, else any.
fn byte(u: &mut Unstructured<'_>, known: &[u8]) -> Result<u8> {
    if u.ratio(3, 4)? { Ok(*u.choose(known)?) } else { u8::arbitrary(u) }
}

impl<'a> Arbitrary<'a> for Access {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        Ok(Self::new(byte(u, b"RW")?).unwrap_or(Self::READ))
    }
}

impl<'a> Arbitrary<'a> for FaultOutcome {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        Ok(Self::new(byte(u, b"MU")?).unwrap_or(Self::MIGRATED))
    }
}

impl<'a> Arbitrary<'a> for RestoreFlag {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        let flag = if bool::arbitrary(u)? { Some(byte(u, b"\x000R")?) } else { None };
        Ok(Self::new(flag).unwrap_or(Self::NONE))
    }
}

impl<'a> Arbitrary<'a> for MigrateEnd<'a> {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        let (time, migration, error_code) = u.arbitrary()?;
        Self::new(time, migration, error_code, u.arbitrary()?)
            .or_else(|_| Self::new(time, migration, error_code, None))
            .map_err(|_| arbitrary::Error::IncorrectFormat)
    }
}

impl<'a> Arbitrary<'a> for QueueRestore<'a> {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        let (time, pid, node, restore) = u.arbitrary()?;
        Self::new(time, pid, node, restore, u.arbitrary()?)
            .or_else(|_| Self::new(time, pid, node, restore, None))
            .map_err(|_| arbitrary::Error::IncorrectFormat)
    }
}

impl<'a> Arbitrary<'a> for DroppedEvents {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        let id = *u.choose(&[Self::OLD_ID, Self::NEW_ID])?;
        let (time, pid, count) = u.arbitrary()?;
        Self::new(id, time, pid, count).map_err(|_| arbitrary::Error::IncorrectFormat)
    }
}

impl<'a> Arbitrary<'a> for Unknown<'a> {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        let rest = u.arbitrary()?;
        let GpuId(id) = u.arbitrary()?;
        Self::new(EventId(id), rest)
            .or_else(|_| Self::new(EventId(0xff), rest))
            .map_err(|_| arbitrary::Error::IncorrectFormat)
    }
}

impl<'a> Arbitrary<'a> for Event<'a> {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        Ok(match u.int_in_range(0..=14_u8)? {
            0 => Self::VmFault(u.arbitrary()?),
            1 => Self::ThermalThrottle(u.arbitrary()?),
            2 => Self::GpuPreReset(u.arbitrary()?),
            3 => Self::GpuPostReset(u.arbitrary()?),
            4 => Self::MigrateStart(u.arbitrary()?),
            5 => Self::MigrateEnd(u.arbitrary()?),
            6 => Self::PageFaultStart(u.arbitrary()?),
            7 => Self::PageFaultEnd(u.arbitrary()?),
            8 => Self::QueueEviction(u.arbitrary()?),
            9 => Self::QueueRestore(u.arbitrary()?),
            10 => Self::UnmapFromGpu(u.arbitrary()?),
            11 => Self::ProcessStart(u.arbitrary()?),
            12 => Self::ProcessEnd(u.arbitrary()?),
            13 => Self::DroppedEvents(u.arbitrary()?),
            _ => Self::Unknown(u.arbitrary()?),
        })
    }
}
