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
use crate::csv::Rows;
use crate::human::Human;
use crate::jobs::{Jobs, Look};
use crate::json;
use crate::output::Output;
use crate::record::Record;
use crate::signals::Stop;

/// Where records go.
#[derive(Debug)]
pub(crate) struct Printer {
    form: Form,
    out: Output,
    /// Others who write lines, too.
    jobs: Option<Jobs>,
}

/// How records are printed.
#[derive(Debug)]
enum Form {
    Human(Human),
    Json,
    Csv(Box<Rows>),
    Raw {
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
        let mut out = Output::new(stop);
        let form = match format {
            Format::Human => {
                let colored = match color.into() {
                    anstream::ColorChoice::Auto => {
                        AutoStream::choice(&io::stdout()) != anstream::ColorChoice::Never
                    }
                    choice => choice != anstream::ColorChoice::Never,
                };
                Form::Human(Human::new(page_size, clock, colored))
            }
            Format::Json => Form::Json,
            Format::Csv => {
                let mut rows = Rows::new();
                rows.header(&mut out)?;
                Form::Csv(Box::new(rows))
            }
            Format::Raw => Form::Raw { open: false },
        };
        Ok(Self { form, out, jobs: None })
    }

    /// Lets up to so many other threads write lines.
    pub(crate) fn with_threads(self, threads: usize) -> Self {
        Self { jobs: (threads > 0).then(|| Jobs::new(threads)), ..self }
    }

    /// Begins an input, where there are several.
    pub(crate) fn begin(&mut self, name: &dyn fmt::Display) -> io::Result<()> {
        self.settle()?;
        match self.form {
            Form::Human(_) => writeln!(self.out, "==> {name} <=="),
            _ => Ok(()),
        }
    }

    /// From here on lines are of a machine with pages of this size, if it is known.
    pub(crate) fn set_page_size(&mut self, page_size: Option<PageSize>) {
        if let Form::Human(human) = &mut self.form {
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
        if let Form::Human(_) = self.form {
            self.settle()?;
        }
        match (&mut self.form, entry) {
            (Form::Human(human), entry) => return human.fact(entry, clock, &mut self.out),
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
        match (&mut self.jobs, self.form.look()) {
            (Some(jobs), Some(look)) if Jobs::takes(line, record) => {
                jobs.push(look, record);
                while let Some(lines) = jobs.next() {
                    self.out.write_all(&lines?)?;
                }
            }
            _ => {
                self.settle()?;
                self.form.write(line, record, &mut self.out)?;
            }
        }
        if self.out.is_large() { self.out.flush() } else { Ok(()) }
    }

    /// Takes all the lines that others write.
    fn settle(&mut self) -> io::Result<()> {
        while let Some(lines) = self.jobs.as_mut().and_then(Jobs::wait) {
            self.out.write_all(&lines?)?;
        }
        Ok(())
    }

    /// Writes out what was printed.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.settle()?;
        self.out.flush()
    }
}

impl Form {
    /// How others would write the same; the lines themselves are not worth it.
    const fn look(&self) -> Option<Look> {
        match self {
            Self::Human(human) => Some(Look::Human(*human)),
            Self::Json => Some(Look::Json),
            Self::Csv(_) => Some(Look::Csv),
            Self::Raw { .. } => None,
        }
    }

    fn write(&mut self, line: &Line<'_>, record: &Record<'_>, out: &mut Output) -> io::Result<()> {
        if let Self::Raw { open } = self {
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
            Self::Human(human) => human.write(record, out),
            Self::Json => json::write(record, out),
            Self::Csv(rows) => rows.write(record, out),
            Self::Raw { .. } => Ok(()),
        }
    }
}
