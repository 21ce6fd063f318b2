//! Prints records in the format asked for.

use std::fmt;
use std::io::{self, Write as _};
use std::mem;

use anstream::AutoStream;
use kfd_smi_io::Clock;
use kfd_smi_io::capture::Entry;
use kfd_smi_proto::{Line, PageSize};

use crate::cli::{ClockChoice, Color, Format};
use crate::complain::complain;
use crate::csv;
use crate::human::Human;
use crate::json;
use crate::output::Output;
use crate::record::Record;
use crate::signals::Stop;

/// Where records go.
#[derive(Debug)]
pub(crate) enum Printer {
    Human(Human, Output),
    Json(Output),
    Csv(Box<csv::Writer<Output>>),
    Raw {
        out: Output,
        /// Whether the last line had no newline: it gets one if another line follows.
        open: bool,
    },
}

impl Printer {
    pub(crate) fn new(
        format: Format,
        color: Color,
        page_size: Option<PageSize>,
        clock: Option<ClockChoice>,
        stop: Stop,
    ) -> io::Result<Self> {
        let out = Output::new(stop);
        Ok(match format {
            Format::Human => {
                let colored = match color.into() {
                    anstream::ColorChoice::Auto => {
                        AutoStream::choice(&io::stdout()) != anstream::ColorChoice::Never
                    }
                    choice => choice != anstream::ColorChoice::Never,
                };
                Self::Human(Human::new(page_size, clock, colored), out)
            }
            Format::Json => Self::Json(out),
            Format::Csv => Self::Csv(Box::new(csv::Writer::new(out)?)),
            Format::Raw => Self::Raw { out, open: false },
        })
    }

    /// Begins an input, where there are several.
    pub(crate) fn begin(&mut self, name: &dyn fmt::Display) -> io::Result<()> {
        match self {
            Self::Human(_, out) => writeln!(out, "==> {name} <=="),
            _ => Ok(()),
        }
    }

    /// From here on lines are of a machine with pages of this size, if it is known.
    pub(crate) fn set_page_size(&mut self, page_size: Option<PageSize>) {
        if let Self::Human(human, _) = self {
            human.set_page_size(page_size);
        }
    }

    /// Prints what the capture of this name says besides records: for people where it stands, else on standard error if
    /// something is missing.
    pub(crate) fn fact(
        &mut self,
        name: &dyn fmt::Display,
        entry: &Entry<'_>,
        clock: Option<Clock>,
    ) -> io::Result<()> {
        match (self, entry) {
            (Self::Human(human, out), entry) => return human.fact(entry, clock, out),
            (_, Entry::Lost(records)) => complain(&format_args!(
                "{name}: {records} records are missing: the recorder had no room for them"
            )),
            (_, Entry::Full(gpu)) => complain(&format_args!(
                "{name}: the driver's buffer of GPU {gpu} was full: events may be missing"
            )),
            (_, Entry::End(gpu, reason)) => complain(&format_args!("{name}: GPU {gpu} ended: {reason}")),
            _ => {}
        }
        Ok(())
    }

    /// Prints a line, or one piece of a long one.
    pub(crate) fn print(&mut self, line: &Line<'_>, record: &Record<'_>) -> io::Result<()> {
        self.write(line, record)?;
        let out = match self {
            Self::Human(_, out) | Self::Json(out) | Self::Raw { out, .. } => out,
            Self::Csv(rows) => rows.out(),
        };
        if out.is_large() { self.flush() } else { Ok(()) }
    }

    fn write(&mut self, line: &Line<'_>, record: &Record<'_>) -> io::Result<()> {
        if let Self::Raw { out, open } = self {
            if mem::replace(open, line.part.ends() && !line.terminated) {
                out.write_all(b"\n")?;
            }
            out.write_all(line.bytes)?;
            return if line.terminated { out.write_all(b"\n") } else { Ok(()) };
        }
        if !line.part.ends() {
            return Ok(());
        }
        match self {
            Self::Human(human, out) => human.write(record, out),
            Self::Json(out) => json::write(record, out),
            Self::Csv(rows) => rows.write(record),
            Self::Raw { .. } => Ok(()),
        }
    }

    /// Writes out what was printed.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Human(_, out) | Self::Json(out) | Self::Raw { out, .. } => out.flush(),
            Self::Csv(rows) => rows.flush(),
        }
    }
}
