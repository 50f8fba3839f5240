//! The end of the pipeline: writes the data of jobs in the order that the target requires, reports holes if the target
//! needs them, and adds the format's own bytes. An assembler says where the data of an assembled output goes.

use super::digest::{Digest, Digested};
use super::job::Job;
use super::plan::JobLimits;
use super::sums::Summing;
use super::turns::Turns;
use crate::compress::{EncodedPart, Encoding, GuestRun, Placement};
use crate::error::{Error, ErrorKind, Result};
use crate::io::source::zeroed;
use crate::io::target::{Abilities, Holes, OutputBytes, Run, Target};
use crate::offsets::{GuestOffset, GuestRange};
use crate::output::{Assembler, BLOCK, Layout, Stamp, Write, Writes};
use std::cell::{Cell, RefCell};

/// The output of a conversion.
pub struct Output<'a, B> {
    /// The layout of the output.
    pub layout: &'a dyn Layout,
    /// Time and random bytes for the layout.
    pub stamp: Stamp,
    /// The destination.
    pub target: &'a dyn Target<B>,
    /// Whether a compressed disk may be read twice, if the target needs it.
    pub may_read_twice: bool,
    /// How guest sums of the disks are computed, if they are wanted.
    pub summing: Option<Summing>,
    /// The digest of each disk, if it is wanted.
    pub digest: Option<Digest<'a, B>>,
}

impl<'a, B> Output<'a, B> {
    /// Reads a compressed disk only once, and computes no digest.
    pub fn new(layout: &'a dyn Layout, stamp: Stamp, target: &'a dyn Target<B>) -> Self {
        Self { layout, stamp, target, may_read_twice: false, summing: None, digest: None }
    }

    /// The limits of jobs for an executor that allows `bytes` bytes. The division of data among jobs shows in a compressed
    /// output, so its jobs have one size: memory decides only how many are in flight.
    pub(crate) fn limits(&self, bytes: u64) -> JobLimits {
        let encoding = self.layout.encoding();
        let bytes = match encoding {
            Encoding::Plain => bytes,
            Encoding::Stored => bytes * PLAIN_BUFFERS / STORED_BUFFERS,
            Encoding::Compressed(_) => ENCODED_JOB,
        };
        let digested = self.digest.map_or(Digested::Nothing, Digest::of_jobs);
        let stored_unit = self.layout.unit();
        JobLimits { bytes, unit: stored_unit.max(BLOCK), stored_unit, abilities: self.abilities(), encoding, digested }
    }

    /// Memory that the executor should count for a job whose largest unit has `bytes` bytes. Executors budget for jobs
    /// that are not compressed.
    pub(super) fn weight(&self, bytes: u64) -> u64 {
        if !self.layout.encoding().is_compressed() {
            return bytes;
        }
        let buffers = ENCODED_BUFFERS + u64::from(self.digest.is_some()) * DIGESTED_BUFFERS;
        bytes.max(ENCODED_JOB).max(self.layout.unit()) * buffers / PLAIN_BUFFERS
    }

    /// Whether bytes that the output has last must be known before it begins, since the target does not accept them then.
    pub(super) fn needs_start(&self) -> bool {
        let late_start = self.target.abilities().late_start;
        self.layout.reserved() > late_start || (self.layout.writes_later() && late_start < u64::MAX)
    }

    /// Checks that the disk may be read twice: the first pass computes the start of the output. Fails with `unsupported` if not.
    pub(super) fn check_two_passes(&self) -> Result<()> {
        if self.layout.encoding().is_compressed() && !self.may_read_twice {
            return Err(ascending_only(self.layout));
        }
        Ok(())
    }

    /// Whether the data of jobs is written, or hashed, in the order of the disk.
    pub(super) fn is_ordered(&self) -> bool {
        self.abilities().ascending || self.digest.is_some()
    }

    /// Abilities for data at its guest offset. In an assembled output guest offsets are not target offsets, so data and
    /// holes are joined in order.
    fn abilities(&self) -> Abilities {
        match self.layout.encoding() {
            Encoding::Plain => self.target.abilities(),
            Encoding::Stored | Encoding::Compressed(_) => {
                Abilities { ascending: true, holes: Holes::Report, ..Abilities::default() }
            }
        }
    }
}

impl<B: OutputBytes> Output<'_, B> {
    /// The first bytes of the output, which do not depend on the data. Fails as [`Assembly::new`] does.
    pub(super) async fn known_start(&self) -> Result<Vec<Write>> {
        let writer = OutputWriter::new(self, Pass::First)?;
        writer.begin().await?;
        let size = self.layout.disk_size();
        writer.end_disk(self.layout, size).await?;
        Ok(writer.finish(self.layout).await?.first)
    }
}

/// Writes the data of jobs to the output.
pub(super) struct OutputWriter<'a, B> {
    output: &'a Output<'a, B>,
    holes: Holes,
    turns: Option<Turns>,
    /// Set unless the output is plain.
    assembly: Option<Assembly<'a, B>>,
}

/// Job-sized buffers of a worker for a job and the next one: two for input, one for output, and one on its way to the
/// writer. A job that waits for its turn adds a buffer.
const PLAIN_BUFFERS: u64 = 4;
const STORED_BUFFERS: u64 = 5;
/// Compression adds one, two in the memory of its module, and copies of the results of all jobs in flight: many wait for their turn,
/// since jobs take different times.
const ENCODED_BUFFERS: u64 = 8;

/// The data of a compressed job that is hashed, and a copy on its way to the hasher.
const DIGESTED_BUFFERS: u64 = 2;

/// The size of a compressed job, in bytes: as large as a chunk of a disk that is read in order. Compression takes about ten times as long
/// as decoding, and a cancel waits for it.
const ENCODED_JOB: u64 = 2 << 20;

impl<'a, B: OutputBytes> OutputWriter<'a, B> {
    /// Fails as [`Assembly::new`] does.
    pub(super) fn new(output: &'a Output<'a, B>, pass: Pass) -> Result<Self> {
        let abilities = output.abilities();
        Ok(Self {
            output,
            holes: abilities.holes,
            turns: abilities.ascending.then(Turns::default),
            assembly: Assembly::new(output.layout, &output.stamp, output.target, pass)?,
        })
    }

    /// Writes the bytes before the disk. Returns their number.
    pub(super) async fn begin(&self) -> Result<u64> {
        match &self.assembly {
            Some(assembly) => assembly.begin().await,
            None => Ok(0),
        }
    }

    /// Returns the guest ranges of `job` if holes are reported; otherwise an empty list. Fails with `internal` if memory
    /// runs out.
    pub(super) fn guest_ranges_of(&self, job: &Job) -> Result<Vec<GuestRun>> {
        let mut guest_ranges = Vec::new();
        if self.holes != Holes::Skip {
            let len = job.guest_ranges.len();
            guest_ranges.try_reserve_exact(len).map_err(|_| Error::out_of_memory(len * size_of::<GuestRun>()))?;
            guest_ranges.extend_from_slice(&job.guest_ranges);
        }
        Ok(guest_ranges)
    }

    /// Writes the output of job number `index`, and reports the holes of `region`, the guest range that has data of
    /// this job only (see `Regions` of the pipeline). `guest_ranges` come from [`Self::guest_ranges_of`]; `data` is `None` if
    /// the executor has written the output. Returns the number of bytes that holes take in the output. Fails with
    /// `target`.
    pub(super) async fn place(
        &self,
        index: u64,
        region: GuestRange,
        guest_ranges: &[GuestRun],
        data: Option<&(B, Placement)>,
    ) -> Result<u64> {
        if let Some(turns) = &self.turns {
            turns.wait(index).await;
        }
        let filled = match (&self.assembly, data, self.holes) {
            (Some(assembly), Some((bytes, Placement::Parts(parts))), _) => {
                assembly.place(region, Some(bytes), parts).await?
            }
            (Some(assembly), ..) => assembly.place(region, None, &[]).await?,
            (None, Some((bytes, Placement::Runs(runs))), Holes::Skip) => {
                let runs: Vec<_> = runs.iter().map(|run| run.in_output()).collect();
                self.output.target.write(bytes, &runs).await?;
                0
            }
            (None, Some((bytes, Placement::Runs(runs))), _) => self.alternate(region, Some(bytes), runs).await?,
            (None, _, Holes::Skip) => 0,
            (None, ..) => self.alternate(region, None, guest_ranges).await?,
        };
        if let Some(turns) = &self.turns {
            turns.pass(index);
        }
        Ok(filled)
    }

    /// Writes `runs` from `bytes`, if given, and reports the holes between them.
    async fn alternate(&self, region: GuestRange, bytes: Option<&B>, runs: &[GuestRun]) -> Result<u64> {
        let mut filled = 0;
        let mut at = region.start;
        for run in runs {
            filled += self.hole(at, run.guest).await?;
            if let Some(bytes) = bytes {
                self.output.target.write(bytes, &[run.in_output()]).await?;
            }
            at = run.end();
        }
        Ok(filled + self.hole(at, region.end).await?)
    }

    /// Reports a hole, unless it is empty. Returns the number of bytes written as zeros.
    async fn hole(&self, start: GuestOffset, end: GuestOffset) -> Result<u64> {
        if start < end && self.holes != Holes::Skip {
            self.output.target.hole(start.0, end - start).await?;
            if self.holes == Holes::WriteZeros {
                return Ok(end - start);
            }
        }
        Ok(0)
    }

    /// Writes the padding of `layout` after a disk of `virtual_size` bytes, whose jobs have all been placed. Returns the number of bytes
    /// written. The next disk may follow.
    pub(super) async fn end_disk(&self, layout: &dyn Layout, virtual_size: u64) -> Result<u64> {
        if let Some(turns) = &self.turns {
            turns.begin_again();
        }
        let padding = GuestRange::from(virtual_size..layout.disk_size());
        match &self.assembly {
            Some(assembly) => assembly.end_disk(padding).await,
            None => self.hole(padding.start, padding.end).await,
        }
    }

    /// Writes the last bytes of `layout`, after all disks.
    pub(super) async fn finish(&self, layout: &dyn Layout) -> Result<FinishedOutput> {
        let Output { stamp, target, .. } = self.output;
        if let Some(assembly) = &self.assembly {
            let Assembled { written, first } = assembly.finish().await?;
            return Ok(FinishedOutput { written, output_size: assembly.len(), first });
        }
        let disk_size = layout.disk_size();
        let footer = layout.footer(stamp);
        if !footer.is_empty() {
            let run = Run { offset: disk_size, start: 0, len: footer.len() };
            target.write(&B::from(&footer), &[run]).await?;
        }
        let footer = footer.len() as u64;
        Ok(FinishedOutput { written: footer, output_size: disk_size + footer, first: Vec::new() })
    }
}

/// The result of finishing an output, in bytes.
pub(super) struct FinishedOutput {
    /// Number of bytes written after the disks.
    pub(super) written: u64,
    /// The size of the whole output.
    pub(super) output_size: u64,
    /// In a first pass: the bytes that the output has last.
    pub(super) first: Vec<Write>,
}

fn ascending_only(layout: &dyn Layout) -> Error {
    let message = "The header of this output is written last, but the target accepts bytes only in ascending order; \
                   allow two passes over the image (twoPass, --two-pass) or a temporary file (spool, --spool), write to \
                   a file, or choose another output format";
    let error = Error::new(ErrorKind::Unsupported, message).coded("ascending-only");
    // No `size`: however much is reserved at the start, bytes further on are written last, too.
    if layout.writes_later() { error } else { error.field("size", layout.reserved()) }
}

/// The most bytes that an assembler gets, or that short repeated bytes are written, at once.
const AT_ONCE: usize = 256 << 10;

/// One of the passes over the disks. Late bytes are those that the assembler writes last: see [`Layout::reserved`] and [`Writes::later`].
pub(super) enum Pass {
    /// The only pass: the target accepts late bytes.
    Only,
    /// Determines the late bytes, and writes nothing.
    First,
    /// Writes all bytes in ascending order. The late ones were determined by a first pass.
    Second(Vec<Write>),
}

/// An output being assembled. Calls must not overlap. They return the number of bytes written in addition to the encoded
/// data, and fail as [`Assembler`] does, or with `target`.
pub(super) struct Assembly<'a, B> {
    target: &'a dyn Target<B>,
    /// See [`Layout::reserved`].
    reserved: u64,
    assembler: RefCell<Box<dyn Assembler>>,
    /// A buffer for bytes that the assembler gets; empty if it needs none.
    passed: RefCell<Vec<u8>>,
    pass: Pass,
    /// The length of the output so far, in bytes.
    end: Cell<u64>,
}

impl<'a, B: OutputBytes> Assembly<'a, B> {
    /// Returns `None` for a plain output. Fails as [`Layout::assembler`] does.
    pub(super) fn new(
        layout: &dyn Layout,
        stamp: &Stamp,
        target: &'a dyn Target<B>,
        pass: Pass,
    ) -> Result<Option<Self>> {
        let reserved = layout.reserved();
        let passed = if layout.digests() { zeroed(AT_ONCE)? } else { Vec::new() };
        let assembler = layout.assembler(stamp)?;
        Ok(assembler.map(|assembler| Self {
            target,
            reserved,
            assembler: RefCell::new(assembler),
            passed: RefCell::new(passed),
            pass,
            end: Cell::new(0),
        }))
    }

    /// The length of the output so far, in bytes.
    pub(super) fn len(&self) -> u64 {
        self.end.get()
    }

    pub(super) async fn begin(&self) -> Result<u64> {
        let reserved = self.reserved;
        let begun = self.assemble(None, |assembler, writes| {
            writes.later(0, reserved);
            assembler.begin(writes)
        });
        Ok(begun.await?.written)
    }

    /// Places `parts` of `bytes`, the data of `region`.
    pub(super) async fn place(&self, region: GuestRange, bytes: Option<&B>, parts: &[EncodedPart]) -> Result<u64> {
        let placed = self.assemble(bytes, |assembler, writes| assembler.place(region, parts, writes)).await?;
        Ok(placed.written)
    }

    /// Ends a disk after the zeros of `padding`.
    pub(super) async fn end_disk(&self, padding: GuestRange) -> Result<u64> {
        let ended = self.assemble(None, |assembler, writes| {
            assembler.place(padding, &[], writes)?;
            assembler.end_disk(writes)
        });
        Ok(ended.await?.written)
    }

    /// Ends the output. Fails with `source` if the late bytes differ from those of the first pass.
    pub(super) async fn finish(&self) -> Result<Assembled> {
        self.assemble(None, |assembler, writes| assembler.finish(writes)).await
    }

    /// Asks the assembler for writes, and performs the writes that belong to the pass.
    async fn assemble(
        &self,
        bytes: Option<&B>,
        ask: impl FnOnce(&mut dyn Assembler, &mut Writes) -> Result<()>,
    ) -> Result<Assembled> {
        let mut writes = Writes::default();
        ask(&mut **self.assembler.borrow_mut(), &mut writes)?;
        let mut done = Assembled::default();
        for write in writes.0 {
            // All other writes ascend.
            let is_late = write.offset() < self.end.get();
            match &self.pass {
                Pass::First if is_late => done.first.push(write),
                Pass::First => self.end.set(write.end()),
                Pass::Second(late) if is_late => {
                    if !late.contains(&write) {
                        return Err(changed());
                    }
                }
                Pass::Only | Pass::Second(_) => {
                    // A file must not begin like an image before all its data is written.
                    if is_late && write.offset() < self.reserved {
                        self.target.settle().await?;
                    }
                    done.written += self.apply(&write, bytes).await?;
                }
            }
        }
        // The assembler returns the header last, although the output begins with it.
        done.first.sort_by_key(Write::offset);
        Ok(done)
    }

    /// Performs a write, after the hole before it. Returns the number of bytes that are not encoded data.
    async fn apply(&self, write: &Write, bytes: Option<&B>) -> Result<u64> {
        let added = self.extend_to(write.offset()).await?;
        match write {
            Write::Parts { offset, start, len } => {
                if let Some(bytes) = bytes {
                    let run = Run { offset: *offset, start: *start, len: *len };
                    self.pass_on(bytes, run)?;
                    self.write_run(bytes, run).await?;
                }
                Ok(added)
            }
            Write::Own { offset, bytes, times } => Ok(added + self.write_own(*offset, bytes, *times).await?),
            Write::Later { offset, len } => {
                let filled = match &self.pass {
                    Pass::Second(late) => self.fill(late, *offset, *offset + *len).await?,
                    Pass::Only | Pass::First => 0,
                };
                self.end.set(offset + len);
                Ok(added + filled)
            }
        }
    }

    /// Performs the writes of `late` from `start` to `end`. Returns the number of bytes.
    async fn fill(&self, late: &[Write], start: u64, end: u64) -> Result<u64> {
        let mut added = 0;
        for write in late.iter().filter(|write| (start..end).contains(&write.offset())) {
            if let Write::Own { offset, bytes, times } = write {
                added += self.extend_to(*offset).await?;
                added += self.write_own(*offset, bytes, *times).await?;
            }
        }
        Ok(added + self.extend_to(end).await?)
    }

    /// Writes `bytes` `times` times, from `offset`, short ones many at once. Returns their number.
    async fn write_own(&self, offset: u64, bytes: &[u8], times: u64) -> Result<u64> {
        let at_once = ((AT_ONCE / bytes.len()) as u64).clamp(1, times);
        let (len, repeated) = (bytes.len() as u64, B::from(&bytes.repeat(at_once as usize)));
        for first in (0..times).step_by(at_once as usize) {
            let len_of_all = len * at_once.min(times - first);
            let run = Run { offset: offset + first * len, start: 0, len: len_of_all as usize };
            self.pass_on(&repeated, run)?;
            self.write_run(&repeated, run).await?;
        }
        Ok(len * times)
    }

    /// Passes the bytes of `run` to an assembler that computes digests.
    fn pass_on(&self, bytes: &B, run: Run) -> Result<()> {
        let mut passed = self.passed.borrow_mut();
        if passed.is_empty() {
            return Ok(());
        }
        let mut done = 0;
        while done < run.len {
            let len = (run.len - done).min(passed.len());
            bytes.copy(run.start + done, &mut passed[..len]);
            self.assembler.borrow_mut().written(run.offset + done as u64, &passed[..len])?;
            done += len;
        }
        Ok(())
    }

    async fn write_run(&self, bytes: &B, run: Run) -> Result<()> {
        self.target.write(bytes, &[run]).await?;
        self.end.set(self.end.get().max(run.end()));
        Ok(())
    }

    /// Makes the bytes up to `offset` a hole. Returns the number of zeros that the target writes for it.
    async fn extend_to(&self, offset: u64) -> Result<u64> {
        let (end, holes) = (self.end.get(), self.target.abilities().holes);
        if offset <= end || holes == Holes::Skip {
            return Ok(0);
        }
        self.target.hole(end, offset - end).await?;
        Ok(if holes == Holes::WriteZeros { offset - end } else { 0 })
    }
}

/// The result of placing or finishing.
#[derive(Default)]
pub(super) struct Assembled {
    /// The number of bytes written in addition to the encoded data.
    pub(super) written: u64,
    /// In a first pass: the writes of late bytes, ascending.
    pub(super) first: Vec<Write>,
}

fn changed() -> Error {
    Error::new(ErrorKind::Source, "The image has changed between the two passes over it").coded("source-changed")
}
