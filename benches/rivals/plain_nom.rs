//! The lines in nom 8, as somebody writes them first: the combinators that come with it, one after the other.

use std::str;

use kfd_smi_testkit::checksum::{Checksum, Field};
use nom::bytes::complete::{tag, take_till};
use nom::character::complete::{anychar, char, hex_digit1, i32, u64};
use nom::combinator::{map_res, opt};
use nom::sequence::{delimited, preceded, separated_pair, terminated};
use nom::{IResult, Parser as _};

pub(crate) fn read(log: &[u8]) -> Checksum {
    let mut sum = Checksum::default();
    let mut rest = log;
    while !rest.is_empty() {
        match terminated(event, char('\n')).parse(rest) {
            Ok((behind, event)) => {
                rest = behind;
                event.fold(&mut sum);
            }
            Err(_) => break,
        }
    }
    sum
}

enum Event<'a> {
    VmFault { pid: u32, name: &'a [u8] },
    Throttle { bitmask: u64, counter: u64 },
    Reset { id: u32, seq: u32, cause: Option<&'a [u8]> },
    MigrateStart { common: Common, range: Range, route: (u32, u32), wishes: (u32, u32), trigger: i32 },
    MigrateEnd { common: Common, range: Range, route: (u32, u32), trigger: i32, error: Option<i32> },
    PageFault { id: u32, common: Common, page: u64, node: u32, letter: char },
    Eviction { common: Common, node: u32, trigger: i32 },
    Restore { common: Common, node: u32, letter: Option<char> },
    Unmap { common: Common, range: Range, node: u32, trigger: i32 },
    Process { id: u32, pid: u32, name: &'a [u8] },
}

struct Common {
    nanos: u64,
    pid: i32,
}

struct Range {
    address: u64,
    size: u64,
}

fn hex64(input: &[u8]) -> IResult<&[u8], u64> {
    map_res(map_res(hex_digit1, str::from_utf8), |digits| u64::from_str_radix(digits, 16)).parse(input)
}

fn hex32(input: &[u8]) -> IResult<&[u8], u32> {
    map_res(map_res(hex_digit1, str::from_utf8), |digits| u32::from_str_radix(digits, 16)).parse(input)
}

fn text(input: &[u8]) -> IResult<&[u8], &[u8]> {
    take_till(|byte| byte == b'\n').parse(input)
}

fn common(input: &[u8]) -> IResult<&[u8], Common> {
    separated_pair(u64, tag(" -"), i32).map(|(nanos, pid)| Common { nanos, pid }).parse(input)
}

fn range(input: &[u8]) -> IResult<&[u8], Range> {
    (preceded(char('@'), hex64), delimited(char('('), hex64, char(')')))
        .map(|(address, size)| Range { address, size })
        .parse(input)
}

fn route(input: &[u8]) -> IResult<&[u8], (u32, u32)> {
    separated_pair(hex32, tag("->"), hex32).parse(input)
}

fn event(input: &[u8]) -> IResult<&[u8], Event<'_>> {
    let (input, id) = terminated(hex32, char(' ')).parse(input)?;
    let blank = || char(' ');
    match id {
        1 => separated_pair(hex32, char(':'), text)
            .map(|(pid, name)| Event::VmFault { pid, name })
            .parse(input),
        2 => separated_pair(hex64, char(':'), hex64)
            .map(|(bitmask, counter)| Event::Throttle { bitmask, counter })
            .parse(input),
        3 | 4 => (hex32, opt(preceded(blank(), text)))
            .map(|(seq, cause)| Event::Reset { id, seq, cause })
            .parse(input),
        5 => (
            terminated(common, blank()),
            terminated(range, blank()),
            terminated(route, blank()),
            terminated(separated_pair(hex32, char(':'), hex32), blank()),
            i32,
        )
            .map(|(common, range, route, wishes, trigger)| Event::MigrateStart {
                common,
                range,
                route,
                wishes,
                trigger,
            })
            .parse(input),
        6 => (
            terminated(common, blank()),
            terminated(range, blank()),
            terminated(route, blank()),
            i32,
            opt(preceded(blank(), i32)),
        )
            .map(|(common, range, route, trigger, error)| Event::MigrateEnd {
                common,
                range,
                route,
                trigger,
                error,
            })
            .parse(input),
        7 | 8 => (
            terminated(common, blank()),
            preceded(char('@'), hex64),
            delimited(char('('), hex32, char(')')),
            preceded(blank(), anychar),
        )
            .map(|(common, page, node, letter)| Event::PageFault { id, common, page, node, letter })
            .parse(input),
        9 => (terminated(common, blank()), terminated(hex32, blank()), i32)
            .map(|(common, node, trigger)| Event::Eviction { common, node, trigger })
            .parse(input),
        10 => (terminated(common, blank()), hex32, opt(preceded(blank(), anychar)))
            .map(|(common, node, letter)| Event::Restore { common, node, letter })
            .parse(input),
        11 => (terminated(common, blank()), terminated(range, blank()), terminated(hex32, blank()), i32)
            .map(|(common, range, node, trigger)| Event::Unmap { common, range, node, trigger })
            .parse(input),
        12 | 13 => separated_pair(hex32, char(' '), text)
            .map(|(pid, name)| Event::Process { id, pid, name })
            .parse(input),
        _ => nom::combinator::fail().parse(input),
    }
}

impl Common {
    fn fold(&self, id: u64, sum: &mut Checksum) {
        sum.add(Field::Id, id).add(Field::Time, self.nanos).add_signed(Field::Pid, self.pid);
    }
}

impl Range {
    fn fold(&self, sum: &mut Checksum) {
        sum.add(Field::Address, self.address).add(Field::Size, self.size);
    }
}

impl Event<'_> {
    fn fold(&self, sum: &mut Checksum) {
        let letter = |letter: char| Some(letter as i32);
        match self {
            Self::VmFault { pid, name } => {
                sum.add(Field::Id, 1).add(Field::Pid, u64::from(*pid)).add_text(name);
            }
            Self::Throttle { bitmask, counter } => {
                sum.add(Field::Id, 2).add(Field::Address, *bitmask).add(Field::Size, *counter);
            }
            Self::Reset { id, seq, cause } => {
                sum.add(Field::Id, u64::from(*id)).add(Field::From, u64::from(*seq));
                if let Some(cause) = cause {
                    sum.add_text(cause);
                }
            }
            Self::MigrateStart { common, range, route, wishes, trigger } => {
                common.fold(5, sum);
                range.fold(sum);
                sum.add(Field::From, route.0.into()).add(Field::To, route.1.into());
                sum.add(Field::Prefetch, wishes.0.into()).add(Field::Preferred, wishes.1.into());
                sum.add_signed(Field::Trigger, *trigger);
            }
            Self::MigrateEnd { common, range, route, trigger, error } => {
                common.fold(6, sum);
                range.fold(sum);
                sum.add(Field::From, route.0.into()).add(Field::To, route.1.into());
                sum.add_signed(Field::Trigger, *trigger).add_optional(Field::Error, *error);
            }
            Self::PageFault { id, common, page, node, letter: byte } => {
                common.fold(u64::from(*id), sum);
                sum.add(Field::Address, *page).add(Field::From, u64::from(*node));
                sum.add_optional(Field::Letter, letter(*byte));
            }
            Self::Eviction { common, node, trigger } => {
                common.fold(9, sum);
                sum.add(Field::From, u64::from(*node)).add_signed(Field::Trigger, *trigger);
            }
            Self::Restore { common, node, letter: byte } => {
                common.fold(10, sum);
                sum.add(Field::From, u64::from(*node)).add_optional(Field::Letter, byte.and_then(letter));
            }
            Self::Unmap { common, range, node, trigger } => {
                common.fold(11, sum);
                range.fold(sum);
                sum.add(Field::From, u64::from(*node)).add_signed(Field::Trigger, *trigger);
            }
            Self::Process { id, pid, name } => {
                sum.add(Field::Id, u64::from(*id)).add(Field::Pid, u64::from(*pid)).add_text(name);
            }
        }
        sum.end_line();
    }
}
