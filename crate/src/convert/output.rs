//! The end of the pipeline: writes the data of jobs in the order that the target requires, reports holes if the target
//! needs them, and adds the writer's own bytes.

use super::gzip_writer::GzipOutput;
use super::job::Job;
use super::plan::JobLimits;
use crate::compress::{Encoding, Placement, Segment};
use crate::error::{Error, Result};
use crate::io::target::{Abilities, Holes, Run, Target};
use crate::offsets::GuestRange;
use crate::output::{Stamp, Writer};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::future::poll_fn;
use std::task::{Poll, Waker};

/// The output of a conversion.
pub struct Output<'a, B> {
    /// The writer of the output format.
    pub writer: &'a dyn Writer,
    /// Time and random bytes for the writer.
    pub stamp: Stamp,
    /// The destination.
    pub target: &'a dyn Target<B>,
}

impl<B> Output<'_, B> {
    /// The limits of jobs for an executor that allows `bytes` bytes. The division of data among jobs shows in an encoded output,
    /// so its jobs have one size: memory decides only how many are in flight.
    pub(crate) fn limits(&self, bytes: u64) -> JobLimits {
        let encoding = self.writer.encoding();
        let bytes = match encoding {
            Encoding::Plain => bytes,
            Encoding::Gzip => ENCODED_JOB,
        };
        JobLimits { bytes, unit: self.writer.unit(), abilities: self.abilities(), encoding }
    }

    /// Memory that the executor should count for a job whose largest unit has `bytes` bytes. Executors budget for jobs
    /// that are not encoded.
    pub(super) fn weight(&self, bytes: u64) -> u64 {
        match self.writer.encoding() {
            Encoding::Plain => bytes,
            Encoding::Gzip => bytes.max(ENCODED_JOB) * ENCODED_BUFFERS / PLAIN_BUFFERS,
        }
    }

    /// Abilities for data at its guest offset. In an encoded output guest offsets are not target offsets, so data and
    /// holes are joined in order.
    fn abilities(&self) -> Abilities {
        match self.writer.encoding() {
            Encoding::Plain => self.target.abilities(),
            Encoding::Gzip => Abilities { ordered: true, holes: Holes::Report, short_hole: 0 },
        }
    }
}

/// Writes the data of jobs to the output.
pub(super) struct OutputWriter<'a, B> {
    output: &'a Output<'a, B>,
    holes: Holes,
    turns: Option<Turns>,
    /// Set if the output is encoded.
    gzip: Option<GzipOutput<'a, B>>,
}

/// Job-sized buffers of a worker for a job and the next one: two for input, one for output, and one on its way to the
/// writer. Encoding adds a buffer, and so does a job that waits for its turn.
const PLAIN_BUFFERS: u64 = 4;
const ENCODED_BUFFERS: u64 = 6;

/// The size of an encoded job, in bytes: that of a chunk of a sequential disk. Encoding takes about ten times as long as
/// decoding, and a cancel waits for it.
const ENCODED_JOB: u64 = 2 << 20;

impl<'a, B: for<'b> From<&'b [u8]>> OutputWriter<'a, B> {
    pub(super) fn new(output: &'a Output<'a, B>) -> Self {
        let abilities = output.abilities();
        let is_gzip = output.writer.encoding() == Encoding::Gzip;
        Self {
            output,
            holes: abilities.holes,
            turns: abilities.ordered.then(Turns::default),
            gzip: is_gzip.then(|| GzipOutput::new(output.target)),
        }
    }

    /// Writes the writer's header. Returns the number of bytes written.
    pub(super) async fn begin(&self) -> Result<u64> {
        let header = self.output.writer.header(&self.output.stamp);
        match &self.gzip {
            Some(gzip) => {
                gzip.begin(&header).await?;
                Ok(gzip.written())
            }
            None => Ok(0),
        }
    }

    /// Returns the stretches of `job` if holes are reported; otherwise an empty list. Fails with `internal` if memory
    /// runs out.
    pub(super) fn stretches_of(&self, job: &Job) -> Result<Vec<Run>> {
        let mut stretches = Vec::new();
        if self.holes != Holes::Skip {
            let len = job.stretches.len();
            stretches.try_reserve_exact(len).map_err(|_| Error::out_of_memory(len * size_of::<Run>()))?;
            stretches.extend_from_slice(&job.stretches);
        }
        Ok(stretches)
    }

    /// Writes the output of job number `index`, and reports the holes of `region`, the guest range that has data of
    /// this job only (see `Regions` of the pipeline). `stretches` come from [`Self::stretches_of`]; `data` is `None` if
    /// the executor has written the output. Returns the number of bytes that holes take in the output. Fails with
    /// `target`.
    pub(super) async fn place(
        &self,
        index: u64,
        region: GuestRange,
        stretches: &[Run],
        data: Option<(B, Placement)>,
    ) -> Result<u64> {
        if let Some(turns) = &self.turns {
            turns.wait(index).await;
        }
        let filled = match (&self.gzip, &data, self.holes) {
            (Some(gzip), Some((bytes, Placement::Segments(segments))), _) => {
                join(gzip, region, Some(bytes), segments).await?
            }
            (Some(gzip), ..) => join(gzip, region, None, &[]).await?,
            (None, Some((bytes, Placement::Runs(runs))), Holes::Skip) => {
                self.output.target.write(bytes, runs).await?;
                0
            }
            (None, Some((bytes, Placement::Runs(runs))), _) => self.alternate(region, Some(bytes), runs).await?,
            (None, _, Holes::Skip) => 0,
            (None, ..) => self.alternate(region, None, stretches).await?,
        };
        if let Some(turns) = &self.turns {
            turns.pass(index);
        }
        Ok(filled)
    }

    /// Writes `runs` from `bytes`, if given, and reports the holes between them.
    async fn alternate(&self, region: GuestRange, bytes: Option<&B>, runs: &[Run]) -> Result<u64> {
        let mut filled = 0;
        let mut at = region.start;
        for run in runs {
            filled += self.hole(at, run.offset).await?;
            if let Some(bytes) = bytes {
                self.output.target.write(bytes, std::slice::from_ref(run)).await?;
            }
            at = run.end();
        }
        Ok(filled + self.hole(at, region.end).await?)
    }

    /// Reports a hole, unless it is empty. Returns the number of bytes written as zeros.
    async fn hole(&self, start: u64, end: u64) -> Result<u64> {
        if start < end && self.holes != Holes::Skip {
            self.output.target.hole(start, end - start).await?;
            if self.holes == Holes::WriteZeros {
                return Ok(end - start);
            }
        }
        Ok(0)
    }

    /// Writes the padding and the footer of `writer` after a disk of `virtual_size` bytes. Must follow all jobs.
    pub(super) async fn finish(&self, writer: &dyn Writer, virtual_size: u64) -> Result<Finished> {
        let Output { stamp, target, .. } = self.output;
        let disk_size = writer.disk_size();
        if let Some(gzip) = &self.gzip {
            let before = gzip.written();
            gzip.zeros(disk_size - virtual_size).await?;
            gzip.end(&writer.footer(stamp)).await?;
            return Ok(Finished { written: gzip.written() - before, output_size: gzip.written() });
        }
        let filled = self.hole(virtual_size, disk_size).await?;
        let footer = writer.footer(stamp);
        if !footer.is_empty() {
            let run = Run { offset: disk_size, start: 0, len: footer.len() };
            target.write(&B::from(&footer), &[run]).await?;
        }
        let footer = footer.len() as u64;
        Ok(Finished { written: filled + footer, output_size: disk_size + footer })
    }
}

/// Writes `segments` from `bytes`, and zeros for the rest of `region`. Returns the encoded length of the zeros.
async fn join<B: for<'b> From<&'b [u8]>>(
    gzip: &GzipOutput<'_, B>,
    region: GuestRange,
    bytes: Option<&B>,
    segments: &[Segment],
) -> Result<u64> {
    let before = gzip.written();
    let mut at = region.start;
    let mut encoded = 0;
    for (segment, bytes) in segments.iter().zip(bytes.into_iter().cycle()) {
        gzip.zeros(segment.guest - at).await?;
        gzip.segment(bytes, segment).await?;
        at = segment.guest + segment.len;
        encoded += segment.encoded_len as u64;
    }
    gzip.zeros(region.end - at).await?;
    Ok(gzip.written() - before - encoded)
}

/// The result of finishing an output, in bytes.
pub(super) struct Finished {
    /// Number of bytes written after the disk.
    pub(super) written: u64,
    /// The size of the whole output.
    pub(super) output_size: u64,
}

/// Lets jobs write one after another, in guest order.
#[derive(Default)]
struct Turns {
    next: Cell<u64>,
    waiting: RefCell<HashMap<u64, Waker>>,
}

impl Turns {
    /// Waits for the turn of job number `index`.
    async fn wait(&self, index: u64) {
        poll_fn(|context| {
            if self.next.get() == index {
                return Poll::Ready(());
            }
            self.waiting.borrow_mut().insert(index, context.waker().clone());
            Poll::Pending
        })
        .await;
    }

    /// Ends the turn of job number `index`.
    fn pass(&self, index: u64) {
        self.next.set(index + 1);
        if let Some(waker) = self.waiting.borrow_mut().remove(&(index + 1)) {
            waker.wake();
        }
    }
}
