//! The lines of each GPU, put together from its records.

use kfd_smi_proto::{BootNanos, Decoder, GpuId};

use super::MAX_GPUS;
use super::seam::Seam;
use crate::record::Record;

/// The streams of the GPUs of a segment. Few: what is asked for is looked up one by one.
#[derive(Debug, Default)]
pub(super) struct Streams(Vec<Stream>);

/// The lines of one GPU.
#[derive(Debug)]
pub(super) struct Stream {
    gpu: GpuId,
    decoder: Box<Decoder>,
    /// When its last record came, and which line of the file that was.
    arrival: Option<BootNanos>,
    last: u64,
    /// How many bytes the decoder was given that no record had.
    made_up: u64,
    /// Whether a seam said that a line is open, and no record went on with it.
    awaited: bool,
}

impl Streams {
    /// The stream of this GPU, begun if there is none; `None` if there are too many.
    pub(super) fn find_or_begin(&mut self, gpu: GpuId) -> Option<usize> {
        match self.find(gpu) {
            None if self.0.len() < MAX_GPUS => {
                self.0.push(Stream {
                    gpu,
                    decoder: Box::new(Decoder::for_gpu(gpu)),
                    arrival: None,
                    last: 0,
                    made_up: 0,
                    awaited: false,
                });
                Some(self.0.len() - 1)
            }
            found => found,
        }
    }

    pub(super) fn find(&self, gpu: GpuId) -> Option<usize> {
        self.0.iter().position(|stream| stream.gpu == gpu)
    }

    /// Of those that end within a line, the one whose last record came first.
    pub(super) fn first_open(&self) -> Option<usize> {
        let open = self.0.iter().enumerate().filter(|(_, stream)| stream.is_open());
        open.min_by_key(|(_, stream)| stream.last).map(|(index, _)| index)
    }

    pub(super) fn get(&mut self, index: usize) -> &mut Stream {
        &mut self.0[index]
    }

    pub(super) fn remove(&mut self, gpu: GpuId) {
        self.0.retain(|stream| stream.gpu != gpu);
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}

impl Stream {
    /// Whether the last record did not end its line. Of a line that only a seam speaks of there is nothing to say.
    pub(super) const fn is_open(&self) -> bool {
        self.decoder.has_rest() && !self.awaited
    }

    /// Begins a record.
    pub(super) fn record(&mut self, arrival: BootNanos, drained: bool, file_line: u64) {
        self.arrival = Some(arrival);
        self.last = file_line;
        self.awaited = false;
        // Within a line the mark means nothing, and must not hide the one of its beginning.
        if drained && !self.is_open() {
            self.decoder.source_drained();
        }
    }

    /// Takes bytes of a record until a line waits, and tells how many.
    pub(super) fn feed(&mut self, bytes: &[u8]) -> usize {
        self.decoder.feed(bytes)
    }

    pub(super) fn has_line(&mut self) -> bool {
        self.decoder.has_line()
    }

    pub(super) fn next_line(&mut self) -> Option<Record<'_>> {
        let mut line = self.decoder.next_line()?;
        line.offset = line.offset.saturating_sub(self.made_up);
        Some(Record::new(Some(self.gpu), self.arrival, line))
    }

    /// The last line, whose end is missing.
    pub(super) fn finish(&mut self) -> Option<Record<'_>> {
        let mut line = self.decoder.finish()?;
        line.offset = line.offset.saturating_sub(self.made_up);
        Some(Record::new(Some(self.gpu), self.arrival, line))
    }

    /// Goes on behind lines that are missing. Call it when no line [is open](Self::is_open).
    pub(super) fn resume(&mut self, seam: Seam) {
        while self.decoder.finish().is_some() {}
        self.awaited = seam == Seam::Open;
        self.made_up += seam.apply(&mut self.decoder);
    }
}
