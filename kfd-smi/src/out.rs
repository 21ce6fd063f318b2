//! What the reading of logs comes to: lines in a format, a new capture, statistics, or a number: [`Out`].

use std::{fmt, io};

use kfd_smi_io::capture::Entry;
use kfd_smi_io::{Clock, Record as IoRecord};
use kfd_smi_proto::PageSize;

use crate::excerpt::Excerpt;
use crate::printer::Printer;
use crate::record::Record;
use crate::tally::Tally;

/// Where entries go that were chosen.
#[derive(Debug)]
pub(crate) enum Out {
    Lines(Box<Printer>),
    Capture(Box<Excerpt>),
    /// Nowhere: they are counted each for what it is.
    Tally(Box<Tally>),
    /// Nowhere: their lines are counted.
    Count(u64),
}

impl Out {
    /// Takes a line, or a piece of one, of a machine with pages of this size, if it is known.
    pub(crate) fn record(
        &mut self,
        source: &IoRecord<'_>,
        record: &Record<'_>,
        page_size: Option<PageSize>,
    ) -> io::Result<()> {
        match self {
            Self::Lines(printer) => {
                printer.set_page_size(page_size);
                printer.print(&source.line, record)
            }
            Self::Capture(excerpt) => excerpt.record(source),
            Self::Tally(tally) => {
                tally.record(source, record, page_size);
                Ok(())
            }
            Self::Count(lines) => {
                *lines += u64::from(source.line.part.ends());
                Ok(())
            }
        }
    }

    /// Takes what the capture of this name says besides records.
    pub(crate) fn fact(
        &mut self,
        name: &dyn fmt::Display,
        entry: &Entry<'_>,
        clock: Option<Clock>,
    ) -> io::Result<()> {
        match self {
            Self::Lines(printer) => printer.fact(name, entry, clock),
            Self::Capture(excerpt) => excerpt.fact(entry),
            Self::Tally(tally) => {
                tally.fact(entry);
                Ok(())
            }
            Self::Count(_) => Ok(()),
        }
    }

    /// A line of a capture is none of what stands in one.
    pub(crate) fn malformed_file_line(&mut self) {
        if let Self::Tally(tally) = self {
            tally.malformed_file_line();
        }
    }

    /// A line was left out because its time is not known.
    pub(crate) fn left_out(&mut self) {
        if let Self::Tally(tally) = self {
            tally.left_out += 1;
        }
    }

    /// Begins an input, where there are several.
    pub(crate) fn begin(&mut self, name: &dyn fmt::Display) -> io::Result<()> {
        match self {
            Self::Lines(printer) => printer.begin(name),
            Self::Tally(tally) => {
                tally.begin(&name.to_string());
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Writes out what was taken.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Lines(printer) => printer.flush(),
            Self::Capture(excerpt) => excerpt.flush(),
            Self::Tally(_) | Self::Count(_) => Ok(()),
        }
    }
}
