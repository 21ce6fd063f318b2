//! `lost_events`: the kernel does not say what it drops, so this is what tells of it.

use std::time::Duration;

use kfd_smi_proto::{AbandonReason, Event, Paired, Span, SpanKind};

use super::{At, Candidate, Rule, Seen, Sink};
use crate::amount::Count;

/// What was counted besides lines. Each is a fact; none says how many events are missing, but `lost` and `dropped`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Evidence {
    /// Records for which the recorder had no room.
    pub(crate) lost: u64,
    /// Events that the kernel says it dropped.
    pub(crate) dropped: u64,
    /// Reads that found the buffer of the kernel full.
    pub(crate) full: u64,
    /// File descriptors that failed or were closed.
    pub(crate) ended: u64,
    /// Captures of the same boot that were joined.
    pub(crate) restarts: u64,
    /// Captures of other boots that were joined.
    pub(crate) boots: u64,
    /// Lines that are no event, or in a capture no record.
    pub(crate) malformed: u64,
}

impl Evidence {
    pub(crate) fn merge(&mut self, other: &Self) {
        self.lost = self.lost.saturating_add(other.lost);
        self.dropped = self.dropped.saturating_add(other.dropped);
        self.full += other.full;
        self.ended += other.ended;
        self.restarts += other.restarts;
        self.boots += other.boots;
        self.malformed += other.malformed;
    }

    /// Whether any of it tells that events are missing.
    pub(crate) fn is_sign(&self) -> bool {
        self.count() > 0
    }

    /// How many signs there were.
    pub(super) fn count(&self) -> u64 {
        self.signs().iter().fold(0, |sum, (count, _)| sum.saturating_add(*count))
    }

    /// How often there was a sign of each kind, and which.
    fn signs(&self) -> [(u64, String); 6] {
        let Self { lost, dropped, full, ended, restarts, malformed, .. } = self;
        [
            (*lost, format!("the recorder had no room for {}", Count(*lost, "record"))),
            (*dropped, format!("the kernel dropped {}", Count(*dropped, "event"))),
            (*full, format!("the buffer of the kernel was full {}", Count(*full, "time"))),
            (*ended, format!("{} dropped out of the watch", Count(*ended, "GPU"))),
            (*restarts, format!("the recording was begun again {}", Count(*restarts, "time"))),
            (*malformed, Count(*malformed, "malformed line").to_string()),
        ]
    }
}

/// STARTs and ENDs that miss each other although they cannot.
#[derive(Clone, Debug)]
pub(super) struct Orphans {
    /// After so long in a segment, the start of a migration or fault must have been in it: what takes longer has expired.
    /// In nanoseconds.
    expiry: u64,
    ends: Seen,
    starts: Seen,
    /// Whether this kernel always ends a migration: those that print an error code do.
    always_ends: bool,
    /// The first time of this segment.
    first: Option<u64>,
    /// Whether something was pushed out: then what became of its end is known.
    pushed_out: bool,
}

impl Orphans {
    pub(super) fn new(expiry: Duration) -> Self {
        Self {
            expiry: expiry.as_nanos().try_into().unwrap_or(u64::MAX),
            ends: Seen::default(),
            starts: Seen::default(),
            always_ends: false,
            first: None,
            pushed_out: false,
        }
    }

    pub(super) fn end_segment(&mut self) {
        self.first = None;
        self.always_ends = false;
    }

    pub(super) fn event(&mut self, at: &At, event: &Event<'_>) {
        // A time that was made up would be too early.
        if self.first.is_none() && !at.forgeable {
            self.first = at.now.map(kfd_smi_proto::BootNanos::nanos);
        }
        if let Event::MigrateEnd(end) = event {
            self.always_ends |= end.error_code().is_some();
        }
    }

    pub(super) fn paired(&mut self, at: &At, paired: &Paired, results: &[Paired]) {
        match paired {
            Paired::OrphanEnd(SpanKind::Migrate | SpanKind::PageFault) => {
                let is_settled = at
                    .nanos
                    .zip(self.first)
                    .is_some_and(|(now, first)| now.saturating_sub(first) > self.expiry);
                let has_expired = results
                    .iter()
                    .any(|paired| matches!(paired, Paired::Abandoned(_, AbandonReason::Expired)));
                if is_settled && !has_expired && !at.forgeable && !self.pushed_out {
                    self.ends.add(at);
                }
            }
            Paired::Abandoned(_, AbandonReason::PushedOut) => self.pushed_out = true,
            // The END can be this line, only late.
            Paired::Abandoned(span, AbandonReason::Expired)
                if !results.iter().any(|paired| matches!(paired, Paired::OrphanEnd(_))) =>
            {
                self.open(span, u64::MAX, at);
            }
            _ => {}
        }
    }

    /// The END of a START did not come, in so many nanoseconds up to here.
    pub(super) fn open(&mut self, span: &Span, age: u64, at: &At) {
        if span.activity.kind() == SpanKind::Migrate && age > self.expiry && self.always_ends {
            self.starts.add(&At { forgeable: span.forgeable, ..*at });
        }
    }

    /// `signs` says where what is counted in `evidence` stood, and how much of it could be forged.
    pub(super) fn found(&self, evidence: &Evidence, signs: &Seen, out: &mut Sink<'_, '_>) {
        let mut seen = self.ends;
        seen.merge(&self.starts);
        seen.merge(signs);
        let (ends, starts) = (self.ends.count, self.starts.count);
        let own = [
            (ends, format!("{} without the start of its migration or fault", Count(ends, "end"))),
            (starts, format!("{} without an end, on a kernel that ends all", Count(starts, "migration"))),
        ];
        let all: Vec<_> = evidence.signs().into_iter().chain(own).filter(|(count, _)| *count > 0).collect();
        let count = all.iter().fold(0_u64, |sum, (count, _)| sum.saturating_add(*count));
        let words: Vec<_> = all.into_iter().map(|(_, words)| words).collect();
        let seen = Seen { count, ..seen };
        out.rule(Rule::LostEvents, [(count, Candidate::new(seen, None, None))].into_iter(), |_, _| {
            format!("events may be missing: {}", words.join("; "))
        });
    }
}
