//! What a replay comes to: lines in a format, a new capture, or a number: [`Out`].

use std::io;

use kfd_smi_io::capture::Entry;
use kfd_smi_io::{Clock, Record as IoRecord};

use crate::excerpt::Excerpt;
use crate::printer::Printer;
use crate::record::Record;

/// Where entries go that were chosen.
#[derive(Debug)]
pub(crate) enum Out {
    Lines(Box<Printer>),
    Capture(Box<Excerpt>),
    /// Nowhere: their lines are counted.
    Count(u64),
}

impl Out {
    /// Takes a line, or a piece of one.
    pub(crate) fn record(&mut self, source: &IoRecord<'_>, record: &Record<'_>) -> io::Result<()> {
        match self {
            Self::Lines(printer) => printer.print(&source.line, record),
            Self::Capture(excerpt) => excerpt.record(source),
            Self::Count(lines) => {
                *lines += u64::from(source.line.part.ends());
                Ok(())
            }
        }
    }

    /// Takes what a capture says besides records.
    pub(crate) fn fact(&mut self, entry: &Entry<'_>, clock: Option<Clock>) -> io::Result<()> {
        match self {
            Self::Lines(printer) => printer.fact(entry, clock),
            Self::Capture(excerpt) => excerpt.fact(entry),
            Self::Count(_) => Ok(()),
        }
    }

    /// Begins an input, where there are several.
    pub(crate) fn begin(&mut self, name: &dyn std::fmt::Display) -> io::Result<()> {
        match self {
            Self::Lines(printer) => printer.begin(name),
            _ => Ok(()),
        }
    }

    /// Writes out what was taken.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Lines(printer) => printer.flush(),
            Self::Capture(excerpt) => excerpt.flush(),
            Self::Count(_) => Ok(()),
        }
    }
}
