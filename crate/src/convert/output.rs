//! The end of the pipeline: the data of jobs is written to the target in the order that it needs, holes are reported if it
//! needs them, and the writer's own bytes are added.

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

/// What a conversion makes, and where it goes.
pub struct Output<'a, B> {
    /// The form of the output.
    pub writer: &'a dyn Writer,
    /// The time and the random bytes for the writer.
    pub stamp: Stamp,
    /// Where the output goes.
    pub target: &'a dyn Target<B>,
}

impl<B> Output<'_, B> {
    /// The limits of jobs whose executor allows `bytes` bytes.
    pub(super) fn limits(&self, bytes: u64) -> JobLimits {
        let encoding = self.writer.encoding();
        let bytes = match encoding {
            Encoding::Plain => bytes,
            Encoding::Gzip => (bytes * PLAIN_BUFFERS / ENCODED_BUFFERS).min(MAX_ENCODED_JOB),
        };
        JobLimits { bytes, unit: self.writer.unit(), abilities: self.abilities(), encoding }
    }

    /// What a job whose largest unit has `bytes` bytes counts for in the memory of the executor, which is made for jobs that
    /// are not encoded.
    pub(super) fn weight(&self, bytes: u64) -> u64 {
        match self.writer.encoding() {
            Encoding::Plain => bytes,
            Encoding::Gzip => bytes * ENCODED_BUFFERS / PLAIN_BUFFERS,
        }
    }

    /// What the target can do with data at its offset on the disk. In an encoded output these are no offsets of the target:
    /// data and holes are joined in order.
    fn abilities(&self) -> Abilities {
        match self.writer.encoding() {
            Encoding::Plain => self.target.abilities(),
            Encoding::Gzip => Abilities { ordered: true, holes: Holes::Told, short_hole: 0 },
        }
    }
}

/// Writes the data of jobs to the output.
pub(super) struct OutputWriter<'a, B> {
    output: &'a Output<'a, B>,
    holes: Holes,
    turns: Option<Turns>,
    /// For an encoded output.
    gzip: Option<GzipOutput<'a, B>>,
}

/// How many buffers of its size a worker has for a job and the next one: two that are read, one that is decoded, and one on its
/// way to the writer. Encoding takes another one, and so does a job that waits for its turn.
const PLAIN_BUFFERS: u64 = 4;
const ENCODED_BUFFERS: u64 = 6;

/// Upper bound on a job that is encoded, in bytes. Encoding takes about ten times as long as decoding, and a cancel waits
/// for it.
const MAX_ENCODED_JOB: u64 = 4 << 20;

impl<'a, B: for<'b> From<&'b [u8]>> OutputWriter<'a, B> {
    pub fn new(output: &'a Output<'a, B>) -> Self {
        let abilities = output.abilities();
        let is_gzip = output.writer.encoding() == Encoding::Gzip;
        Self {
            output,
            holes: abilities.holes,
            turns: abilities.ordered.then(Turns::default),
            gzip: is_gzip.then(|| GzipOutput::new(output.target)),
        }
    }

    /// Writes the bytes before the disk. Returns how many were written.
    pub async fn begin(&self) -> Result<u64> {
        let header = self.output.writer.header(&self.output.stamp);
        match &self.gzip {
            Some(gzip) => {
                gzip.begin(&header).await?;
                Ok(gzip.written())
            }
            None => Ok(0),
        }
    }

    /// The stretches of `job`, if they are needed to report the holes between them. Fails with `internal` if memory runs
    /// out.
    pub fn stretches_of(&self, job: &Job) -> Result<Vec<Run>> {
        let mut stretches = Vec::new();
        if self.holes != Holes::Implied {
            let len = job.stretches.len();
            stretches.try_reserve_exact(len).map_err(|_| Error::out_of_memory(len * size_of::<Run>()))?;
            stretches.extend_from_slice(&job.stretches);
        }
        Ok(stretches)
    }

    /// Writes the output of job number `index`, and reports the holes of `region`, the guest range in which no other job has
    /// data (see `Regions` of the pipeline). `stretches` come from
    /// `stretches_of`; `data` is `None` if the executor has written the output. Returns how many bytes holes took in the
    /// output. Fails with `sink`.
    pub async fn place(
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
            (None, Some((bytes, Placement::Runs(runs))), Holes::Implied) => {
                self.output.target.write(bytes, runs).await?;
                0
            }
            (None, Some((bytes, Placement::Runs(runs))), _) => self.alternate(region, Some(bytes), runs).await?,
            (None, _, Holes::Implied) => 0,
            (None, ..) => self.alternate(region, None, stretches).await?,
        };
        if let Some(turns) = &self.turns {
            turns.pass(index);
        }
        Ok(filled)
    }

    /// Writes `runs` from `bytes`, if there are any, and reports the holes between them.
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

    /// Reports a hole, unless it is empty. Returns how many bytes of it are written as zeros.
    async fn hole(&self, start: u64, end: u64) -> Result<u64> {
        if start < end && self.holes != Holes::Implied {
            self.output.target.hole(start, end - start).await?;
            if self.holes == Holes::Filled {
                return Ok(end - start);
            }
        }
        Ok(0)
    }

    /// Writes what `writer` has behind a disk of `virtual_size` bytes, after all jobs.
    pub async fn finish(&self, writer: &dyn Writer, virtual_size: u64) -> Result<Finished> {
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

/// Writes `segments`, which lie in `bytes`, and zeros for the rest of `region`. Returns how many bytes the zeros take.
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
    /// How many bytes were written behind the disk.
    pub written: u64,
    /// The size of the whole output.
    pub output_size: u64,
}

/// Lets jobs write one after another, in guest order.
#[derive(Default)]
struct Turns {
    next: Cell<u64>,
    waiting: RefCell<HashMap<u64, Waker>>,
}

impl Turns {
    /// Waits until it is the turn of job number `index`.
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
