//! Events of kernels to come: any id that this library does not know.

use core::fmt;

use crate::encode::Encoder;
use crate::event::{DroppedEvents, Inconsistent};
use crate::id::EventId;
use crate::text::Trailing;

/// An event whose id is not known, kept as it is.
///
/// ```
/// use kfd_smi_proto::{Event, EventId, parse_line};
///
/// let Ok(Event::Unknown(event)) = parse_line(b"1f some new fact\n").event else { panic!() };
/// assert_eq!(event.id(), EventId(31));
/// assert_eq!(event.rest().as_bytes(), b"some new fact");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Unknown<'a> {
    id: EventId,
    rest: Trailing<'a>,
}

impl<'a> Unknown<'a> {
    /// An event with this id and, behind a blank, these bytes.
    ///
    /// # Errors
    ///
    /// [`Inconsistent`] if the id is known, or the line would be read as [`DroppedEvents`].
    pub fn new(id: EventId, rest: Trailing<'a>) -> Result<Self, Inconsistent> {
        if id.name().is_some() || DroppedEvents::is_shape_of(id, rest.as_bytes()) {
            return Err(Inconsistent);
        }
        Ok(Self { id, rest })
    }

    /// The id.
    #[must_use]
    pub const fn id(&self) -> EventId {
        self.id
    }

    /// What stands behind the id and a blank.
    #[must_use]
    pub const fn rest(&self) -> Trailing<'a> {
        self.rest
    }

    pub(crate) fn of_line(id: EventId, rest: &'a [u8]) -> Self {
        Self { id, rest: Trailing::of_line(rest) }
    }

    pub(crate) fn encode(&self, out: &mut Encoder<'_, 'a>) {
        out.text(self.rest.as_bytes());
    }
}

/// `31 "some new fact"`
impl fmt::Display for Unknown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} \"{}\"", self.id.0, self.rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::tests::{error_offset, shown, written};

    #[test]
    fn any_id_with_a_blank_behind_it_is_an_event() {
        assert_eq!(shown(b"1f some new\x07fact"), r#"unknown 31 "some new\x07fact""#);
        assert_eq!(shown(b"0 "), "unknown 0 \"\"");
        assert_eq!(written(b"ffffffff \0"), b"ffffffff \0\n");
        assert_eq!(written(b"001f x"), b"1f x\n");
        assert_eq!(error_offset(b"1f"), 2);
        assert_eq!(error_offset(b"100000000 x"), 0);
        assert_eq!(error_offset(b"1F x"), 1);
    }

    #[test]
    fn what_would_be_read_otherwise_cannot_be_made() {
        let new = |id, rest| Unknown::new(EventId(id), Trailing::new(rest).unwrap());
        assert!(new(5, b"x").is_err());
        assert!(new(14, b"1 -2 3").is_err());
        assert!(new(14, b"1 -2 99999999999").is_err());
        assert!(new(14, b"1 -2").is_ok());
        assert!(new(0, b"").is_ok());
    }
}
