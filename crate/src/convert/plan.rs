//! From extents to jobs.
//!
//! A job has reads, pieces and stretches. Its reads are host ranges, which fill its input one after the other. Each
//! piece says which part of the input becomes which part of the output, and how it is decoded. Each stretch says where
//! on the disk a part of the output belongs. Neighbouring host ranges are read in one go, and the size of a job is
//! bounded.

use super::job::{CompressedPart, Job, Piece, Stored};
use crate::compress::Encoding;
use crate::disk::damage::Lost;
use crate::disk::extent::{Extent, ExtentKind, Extents};
use crate::error::Result;
use crate::io::source::{FileId, FileRange, Files};
use crate::io::target::{Abilities, Holes, Run};
use crate::offsets::{GuestOffset, SECTOR};
use crate::open::image::Image;
use crate::open::safety::Count;
use std::cell::Cell;
use std::collections::{BTreeSet, VecDeque};
use std::rc::Rc;

/// Of the bytes that a job may have, one in this many may be read without need: because they lie between two ranges
/// that are read as one.
const GAP_SHARE: u64 = 4;
/// The size of the first jobs, in bytes: small, so that all workers soon have something to do. Later jobs have at most
/// one part in `GROWTH` of what was planned before them.
const FIRST_JOB: u64 = 1 << 20;
const GROWTH: u64 = 4;
/// Upper bound on the pieces of a job (40 bytes each), which bounds its own size with the smallest clusters.
const MAX_PIECES: usize = 16_384;
/// Upper bound on the ranges of a job that are lost before anything is read (24 bytes each).
const MAX_LOST: usize = 4096;
/// How many pieces back the same compressed cluster is looked for.
const RECENT: usize = 16;
/// Upper bound, in bytes, on the holes of one job without data in an encoded output, which stores something for them.
const ENCODED_HOLE: u64 = 4 << 30;
/// A target that is told of holes is told of those of a whole disk in about so many parts: a hole may cost it nothing, or the
/// time to send it.
const TOLD_HOLES: u64 = 1024;

/// What the jobs of a conversion must be like.
#[derive(Clone, Copy, Debug)]
pub struct JobLimits {
    /// Upper bound, in bytes, on the input and on the output. A single compressed cluster or a single unit may exceed it.
    pub bytes: u64,
    /// The unit in which the output is stored, in bytes. A unit belongs to one job.
    pub unit: u64,
    /// What the target can do, as far as it matters for data that is not encoded yet.
    pub abilities: Abilities,
    /// The form of the output.
    pub encoding: Encoding,
}

impl JobLimits {
    /// The limits for the holes of a disk of `virtual_size` bytes. Where holes may take time they are divided, so that progress
    /// is seen.
    pub(super) fn hole_limits(&self, virtual_size: u64) -> HoleLimits {
        let none = HoleLimits { job: u64::MAX, hole: u64::MAX };
        if self.encoding != Encoding::Plain {
            return HoleLimits { job: ENCODED_HOLE, ..none };
        }
        let divided = self.bytes.max(self.unit);
        match self.abilities.holes {
            Holes::Implied => none,
            Holes::Told => HoleLimits { hole: divided.max(virtual_size / TOLD_HOLES), ..none },
            Holes::Filled => HoleLimits { job: divided, ..none },
        }
    }
}

/// Upper bounds in bytes. They do not grow from job to job, as [`JobLimits::bytes`] does.
#[derive(Clone, Copy)]
pub(super) struct HoleLimits {
    /// On the guest range of a job, if it has holes.
    pub job: u64,
    /// On the part of a hole that one job takes.
    pub hole: u64,
}

/// Turns the extents of an image into jobs, in guest order.
pub struct Planner {
    extents: Extents,
    limits: JobLimits,
    files: Files,
    salvage: bool,
    /// See [`Image::file_names`].
    names: Vec<(FileId, String)>,
    virtual_size: u64,
    /// Extents that were listed and are in no job yet.
    pending: VecDeque<Extent>,
    /// The buffer for the next extents; empty between calls.
    batch: Vec<Extent>,
    next_index: u64,
    /// The jobs so far account for the disk up to this guest offset.
    planned: u64,
    /// Bytes of output in the jobs so far. The size of the next job follows from it.
    planned_output: u64,
    /// What the extents so far refer to.
    count: Rc<Cell<Count>>,
}

impl Planner {
    /// Plans what is left of `extents`, a pass over the disk of `image` that has come to a block boundary.
    pub(super) fn new(image: &Image, extents: Extents, limits: JobLimits) -> Self {
        Self {
            planned: extents.position(),
            extents,
            limits,
            files: image.files().clone(),
            salvage: image.is_salvaged(),
            names: image.file_names(),
            virtual_size: image.virtual_size(),
            pending: VecDeque::new(),
            batch: Vec::new(),
            next_index: 0,
            planned_output: 0,
            count: Rc::default(),
        }
    }

    /// What the extents that were planned refer to.
    pub(super) fn count(&self) -> Rc<Cell<Count>> {
        self.count.clone()
    }

    /// Its pass over the extents, after the last job.
    pub(super) fn into_pass(self) -> Extents {
        self.extents
    }

    /// The next job; `None` at the end of the disk. The last job may have no data and only account for a hole.
    pub async fn next(&mut self) -> Result<Option<Job>> {
        let mut draft = Draft::new(self.planned, self.next_limits(), self.limits.hole_limits(self.virtual_size));
        while let Some(extent) = self.next_extent().await? {
            let taken = draft.take_in(extent, &self.files);
            if let (_, Some(rest)) = extent.split(taken) {
                self.pending.push_front(rest);
                break;
            }
        }
        if draft.end == draft.start {
            return Ok(None);
        }
        let span = draft.end - draft.start;
        let job = draft.finish(self.virtual_size, &self.files);
        let job = Job {
            index: self.next_index,
            span,
            unit: self.limits.unit,
            short_hole: self.limits.abilities.short_hole,
            dense: self.limits.abilities.holes == Holes::Filled,
            encoding: self.limits.encoding,
            salvage: self.salvage,
            names: self.names_in(&job.pieces),
            ..job
        };
        self.next_index += 1;
        self.planned += span;
        self.planned_output += job.output_len() as u64;
        Ok(Some(job))
    }

    /// The limits of the next job, which is small at first.
    fn next_limits(&self) -> JobLimits {
        let bytes = (self.planned_output / GROWTH).max(FIRST_JOB).min(self.limits.bytes);
        JobLimits { bytes, ..self.limits }
    }

    /// The names of the files that compressed pieces come from: only these can be found damaged while a job is
    /// decoded.
    fn names_in(&self, pieces: &[Piece]) -> Vec<(FileId, String)> {
        if self.names.is_empty() {
            return Vec::new();
        }
        let files: BTreeSet<FileId> = pieces
            .iter()
            .filter_map(|piece| match piece.stored {
                Stored::Compressed(CompressedPart { file, .. }) => Some(file),
                _ => None,
            })
            .collect();
        self.names.iter().filter(|(file, _)| files.contains(file)).cloned().collect()
    }

    /// The next extent that is in no job yet, or what is left of it; `None` at the end of the disk.
    async fn next_extent(&mut self) -> Result<Option<Extent>> {
        while self.pending.is_empty() {
            self.batch.clear();
            if !self.extents.next(&mut self.batch).await? {
                return Ok(None);
            }
            let mut count = self.count.get();
            // As the size of the image's own files is what they are compared with.
            self.batch.iter().filter(|extent| extent.layer == 0).for_each(|extent| count.add(extent));
            self.count.set(count);
            self.pending.extend(self.batch.drain(..));
        }
        Ok(self.pending.pop_front())
    }
}

/// A job in the making. It accounts for a guest range, of which its stretches have data.
struct Draft {
    /// The limits of this job.
    limits: JobLimits,
    hole_limits: HoleLimits,
    /// The guest range that the job accounts for.
    start: u64,
    end: u64,
    /// The guest offset behind the last data; `None` if there is no data yet.
    data_end: Option<u64>,
    /// Where the input of each piece lies, by the number of the piece.
    hosts: Vec<FileRange>,
    pieces: Vec<Piece>,
    stretches: Vec<Run>,
    /// Bytes of input so far, without those between two ranges that will be read as one.
    input_len: u64,
    lost: Vec<Lost>,
}

impl Draft {
    fn new(start: u64, limits: JobLimits, hole_limits: HoleLimits) -> Self {
        Self {
            limits,
            hole_limits,
            start,
            end: start,
            data_end: None,
            hosts: Vec::new(),
            pieces: Vec::new(),
            stretches: Vec::new(),
            input_len: 0,
            lost: Vec::new(),
        }
    }

    /// Takes in the first bytes of `extent`, which begins where the job ends, and returns how many: fewer than all of
    /// them when the job is full.
    ///
    /// A job ends at a unit boundary of the output, never inside a unit: two jobs would write it.
    fn take_in(&mut self, extent: Extent, files: &Files) -> u64 {
        let is_full_of_lost = self.lost.len() >= MAX_LOST;
        let taken = match extent.kind {
            _ if is_full_of_lost && !self.shares_unit(extent.start) => 0,
            ExtentKind::Compressed { file, host, host_len, cluster, skip, compression, framing } => {
                let present = host_len.min(files[usize::from(file.0)].size() - host.0);
                let missing = (host_len - present) as usize;
                let (cluster, skip) = (cluster as usize, skip as usize);
                let part = CompressedPart { compression, framing, cluster, skip, file, host, missing };
                self.take_in_compressed(extent, FileRange { file, start: host, len: present }, part)
            }
            ExtentKind::Data { file, host, encrypted } => {
                let len = self.fitting_data(extent.start).min(extent.len);
                if len > 0 {
                    let stored = encrypted.map_or(Stored::Plain, |how| Stored::Encrypted {
                        cipher: how.cipher,
                        sector: if how.by_guest { extent.start.0 } else { host.0 } / SECTOR,
                    });
                    self.push(extent.start.0, len, FileRange { file, start: host, len }, stored);
                }
                len
            }
            ExtentKind::Unallocated { .. } | ExtentKind::Zero { .. } => self.fitting_hole(extent),
            ExtentKind::Lost(damage) => {
                let len = self.fitting_hole(extent);
                if len > 0 {
                    self.lost.push(Lost { start: extent.start.0, len, damage });
                }
                len
            }
        };
        self.end += taken;
        taken
    }

    /// Takes in `extent`, which is stored as `part` in the bytes of `host`: all of it or nothing.
    fn take_in_compressed(&mut self, extent: Extent, host: FileRange, part: CompressedPart) -> u64 {
        // The parts of one cluster share its bytes.
        let input_len = if self.is_recent(&host) { 0 } else { host.len };
        if self.room() < input_len.max(extent.len) && !self.must_take(extent.start) {
            return 0;
        }
        self.push(extent.start.0, extent.len, host, Stored::Compressed(part));
        extent.len
    }

    /// How many bytes of data from `start` on fit: up to a unit boundary.
    fn fitting_data(&self, start: GuestOffset) -> u64 {
        let unit = self.limits.unit;
        let end = align_down(start.0 + self.room(), unit);
        if end > start.0 {
            end - start.0
        } else if self.must_take(start) {
            align_down(start.0, unit) + unit - start.0
        } else {
            0
        }
    }

    /// How many bytes of `extent`, which has no data, fit.
    fn fitting_hole(&self, extent: Extent) -> u64 {
        let in_shared_unit =
            if self.shares_unit(extent.start) { to_boundary(extent.start, self.limits.unit) } else { 0 };
        let hole_start = self.data_end.unwrap_or(self.start);
        let left_of_job = self.hole_limits.job.saturating_sub(self.end - self.start);
        let left_of_hole = self.hole_limits.hole.saturating_sub(self.end - hole_start);
        extent.len.min(left_of_job.min(left_of_hole).max(in_shared_unit))
    }

    /// How many bytes of input and of output the job may still take in.
    fn room(&self) -> u64 {
        if self.pieces.len() >= MAX_PIECES {
            return 0;
        }
        self.limits.bytes.saturating_sub(self.input_len.max(self.output_len()))
    }

    /// Whether the job must take in what lies at `start`, even if it is full: it has data in the same unit, or it has
    /// none at all, and one unit or cluster may be larger than a job should be.
    fn must_take(&self, start: GuestOffset) -> bool {
        self.shares_unit(start) || self.stretches.is_empty()
    }

    /// Whether the job has data in the unit of `start`, so that no other job may write to that unit.
    fn shares_unit(&self, start: GuestOffset) -> bool {
        self.data_end.is_some_and(|end| end > align_down(start.0, self.limits.unit))
    }

    /// Whether one of the last pieces has the same input, which is read once. Not only the last piece: where clusters of
    /// two layers alternate, it is the one before.
    fn is_recent(&self, host: &FileRange) -> bool {
        self.hosts.iter().rev().take(RECENT).any(|recent| recent == host)
    }

    /// Adds a piece: `len` bytes of the disk from `start` on, whose input lies at `host`.
    fn push(&mut self, start: u64, len: u64, host: FileRange, stored: Stored) {
        let output = self.place(start, start + len);
        if !self.is_recent(&host) {
            self.input_len += host.len;
        }
        self.hosts.push(host);
        // Where its input begins is known when all reads are: see `join_reads`.
        let (input_len, output_len) = (host.len as usize, len as usize);
        self.pieces.push(Piece { input: 0, input_len, output, output_len, stored });
    }

    /// Bytes of output so far.
    fn output_len(&self) -> u64 {
        self.stretches.last().map_or(0, |last| (last.start + last.len) as u64)
    }

    /// The position in the output of the disk's bytes from `start` to `end`: in the last stretch, if they follow it
    /// closely enough, else in a new one. Each stretch begins at a multiple of the unit.
    fn place(&mut self, start: u64, end: u64) -> usize {
        let unit_start = align_down(start, self.limits.unit);
        self.data_end = Some(end);
        if let Some(last) = self.stretches.last_mut() {
            let last_end = last.end();
            if unit_start < last_end || start - last_end < self.limits.abilities.short_hole.max(1) {
                last.len = (end - last.offset) as usize;
                return last.start + (start - last.offset) as usize;
            }
        }
        let at = self.output_len().next_multiple_of(self.limits.unit) as usize;
        self.stretches.push(Run { offset: unit_start, start: at, len: (end - unit_start) as usize });
        at + (start - unit_start) as usize
    }

    /// The job's reads, pieces, stretches and lost ranges; the planner adds the rest.
    ///
    /// Whole units are written: a stretch that ends inside a unit is extended to its end, by zeros.
    fn finish(mut self, virtual_size: u64, files: &Files) -> Job {
        for stretch in &mut self.stretches {
            let end = stretch.end().next_multiple_of(self.limits.unit).min(virtual_size);
            stretch.len = (end - stretch.offset) as usize;
        }
        let reads = self.join_reads(files);
        Job { reads, pieces: self.pieces, stretches: self.stretches, lost: self.lost, ..Job::default() }
    }

    /// The reads of the job, in the order of their files and host offsets; sets where each piece's input begins.
    /// Neighbours become one read as far as the profile of their file allows, and as long as the bytes between them are
    /// a bounded share of the job.
    fn join_reads(&mut self, files: &Files) -> Vec<FileRange> {
        let max_gaps = self.limits.bytes / GAP_SHARE;
        let gap_of = |range: FileRange| files[usize::from(range.file.0)].profile().gap;
        let mut order: Vec<usize> = (0..self.hosts.len()).collect();
        order.sort_unstable_by_key(|&at| (self.hosts[at].file, self.hosts[at].start));
        let mut reads: Vec<FileRange> = Vec::new();
        // Bytes of all reads so far, and those of them that no piece needs.
        let (mut input, mut gaps) = (0, 0);
        for at in order {
            let host = self.hosts[at];
            match reads.last_mut() {
                Some(last) if joins(last, host, gap_of(host).min(max_gaps - gaps)) => {
                    gaps += host.start.0.saturating_sub(last.end());
                    let end = last.end().max(host.end());
                    input += end - last.end();
                    last.len = end - last.start.0;
                }
                _ => {
                    input += host.len;
                    reads.push(host);
                }
            }
            let last = reads.last().expect("one was just found or made");
            self.pieces[at].input = (input - last.len + (host.start.0 - last.start.0)) as usize;
        }
        reads
    }
}

/// The last multiple of `unit` up to `offset`.
fn align_down(offset: u64, unit: u64) -> u64 {
    offset / unit * unit
}

/// How many bytes there are from `start` to the next multiple of `unit`; 0 where it is one.
fn to_boundary(start: GuestOffset, unit: u64) -> u64 {
    start.0.next_multiple_of(unit) - start.0
}

/// Whether both ranges lie in one file, at most `gap` bytes apart.
fn joins(last: &FileRange, next: FileRange, gap: u64) -> bool {
    last.file == next.file && next.start.0.saturating_sub(last.end()) <= gap
}
