//! Plans extents into jobs.
//!
//! A job has reads, pieces and guest ranges. Reads are host ranges, which fill the input one after another. A piece maps a
//! part of the input to a part of the output, and states how to decode it. A guest range gives a part of the output its
//! place on the disk. Neighbouring host ranges are read at once, and the size of a job is bounded.

use super::digest::Digested;
use super::job::{CompressedPart, Job, Piece, Stored};
use super::reshape::Reshaped;
use super::sum::within;
use crate::compress::{CompressedEncoding, ENCODED_HOLE, Encoding, GuestRun};
use crate::disk::extent::{Extent, ExtentKind, Extents};
use crate::disk::losses::Lost;
use crate::error::Result;
use crate::error::place::Place;
use crate::io::source::{FileId, FileRange, Files};
use crate::io::target::{Abilities, Holes};
use crate::offsets::{GuestOffset, GuestRange, SECTOR};
use crate::open::image::Image;
use crate::open::safety::Count;
use std::cell::Cell;
use std::collections::VecDeque;
use std::rc::Rc;

/// At most one in this many bytes of a job is read only to join two ranges into one read.
const GAP_SHARE: u64 = 4;
/// The size of the first jobs, in bytes: small, so that all workers soon have work. Later jobs have at most
/// `1 / GROWTH` of what was planned before them.
const FIRST_JOB: u64 = 1 << 20;
const GROWTH: u64 = 4;
/// Maximum number of pieces in a job (64 bytes each in wasm), which bounds its own size for the smallest clusters.
const MAX_PIECES: usize = 16_384;
/// Maximum number of ranges in a job that are known to be lost before reading (24 bytes each).
const MAX_LOST: usize = 4096;
/// Number of pieces to look back for the same compressed cluster.
const RECENT: usize = 16;
/// Longest dataless job of a disk that is hashed byte by byte: zeros take time there, too.
const HASHED_HOLE: u64 = 64 << 20;
/// About how many holes are reported per disk: a hole may cost the target nothing, or the time to send it.
const REPORTED_HOLES: u64 = 1024;

/// Requirements on the jobs of a conversion.
#[derive(Clone, Copy, Debug)]
pub(crate) struct JobLimits {
    /// Maximum input and output, in bytes. A single compressed cluster or unit may exceed it.
    pub(crate) bytes: u64,
    /// Each unit of this size, in bytes, belongs to one job: the storage unit of the output, but at least a block of 4 KiB.
    pub(crate) unit: u64,
    /// The storage unit of the output, in bytes.
    pub(crate) stored_unit: u64,
    /// Abilities of the target for data that is not encoded yet.
    pub(crate) abilities: Abilities,
    pub(crate) encoding: Encoding,
    pub(crate) digested: Digested,
}

impl JobLimits {
    /// The limits for holes of a disk of `virtual_size` bytes. Holes that may take time are divided, for progress
    /// reports.
    pub(super) fn hole_limits(&self, virtual_size: u64) -> HoleLimits {
        let job = if self.digested == Digested::Data { HASHED_HOLE.max(self.unit) } else { u64::MAX };
        let none = HoleLimits { job, hole: u64::MAX };
        match self.encoding {
            Encoding::Plain => {}
            Encoding::Compressed(CompressedEncoding::Segments) => return HoleLimits { job: ENCODED_HOLE, ..none },
            Encoding::Stored | Encoding::Compressed(CompressedEncoding::Units(_)) => return none,
        }
        let divided = self.bytes.max(self.unit);
        match self.abilities.holes {
            Holes::Skip => none,
            Holes::Report => HoleLimits { hole: divided.max(virtual_size / REPORTED_HOLES), ..none },
            Holes::WriteZeros => HoleLimits { job: divided, ..none },
        }
    }
}

/// Upper bounds, in bytes. Unlike [`JobLimits::bytes`], they do not grow from job to job.
#[derive(Clone, Copy)]
pub(super) struct HoleLimits {
    /// The largest guest range of a job with holes.
    pub(crate) job: u64,
    /// The largest part of a hole in one job.
    pub(crate) hole: u64,
}

/// Plans the extents of an image into jobs, in guest order.
pub(crate) struct Planner {
    extents: Extents,
    limits: JobLimits,
    files: Files,
    salvage: bool,
    /// See [`Image::places`].
    places: Vec<(FileId, Place)>,
    virtual_size: u64,
    /// Listed extents that are not in a job yet.
    pending: VecDeque<Extent>,
    /// The buffer for the next extents; empty between calls.
    batch: Vec<Extent>,
    next_index: u64,
    /// The jobs so far account for the disk up to this guest offset.
    planned: GuestOffset,
    /// Output bytes of the jobs so far. Determines the size of the next job.
    planned_output: u64,
    /// Bytes that the extents so far refer to.
    count: Rc<Cell<Count>>,
    /// The size of the disk whose CRC-32 is wanted, without padding.
    summed: Option<u64>,
}

impl Planner {
    /// Plans the rest of `extents`, a pass over the disk of `image` that is at a block boundary.
    pub(super) fn new(image: &Image, extents: Extents, limits: JobLimits) -> Self {
        Self {
            planned: extents.position(),
            extents,
            limits,
            files: image.files().clone(),
            salvage: image.is_salvaged(),
            places: image.places(),
            virtual_size: image.virtual_size(),
            pending: VecDeque::new(),
            batch: Vec::new(),
            next_index: 0,
            planned_output: 0,
            count: Rc::default(),
            summed: None,
        }
    }

    /// Plans jobs for the changed disk `reshaped` of `image`. The extents must come from [`Reshaped::extents`].
    pub(super) fn reshaped(self, reshaped: &Reshaped, image: &Image) -> Self {
        Self { files: reshaped.files(image), virtual_size: reshaped.size, ..self }
    }

    /// Has jobs compute the CRC-32 of the disk, `size` bytes that are stored unchanged.
    pub(super) fn summing(self, size: u64) -> Self {
        Self { summed: Some(size), ..self }
    }

    /// Counts the bytes that the planned extents refer to.
    pub(super) fn count(&self) -> Rc<Cell<Count>> {
        self.count.clone()
    }

    /// Returns the pass over the extents, after the last job.
    pub(super) fn into_pass(self) -> Extents {
        self.extents
    }

    /// Returns the next job; `None` at the end of the disk. The last job may have no data and only account for a hole.
    pub(crate) async fn next(&mut self) -> Result<Option<Job>> {
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
            unit: self.limits.stored_unit,
            short_hole: self.limits.abilities.short_hole,
            dense: self.limits.abilities.holes == Holes::WriteZeros,
            encoding: self.limits.encoding,
            digested: self.limits.digested,
            salvage: self.salvage,
            places: self.places_in(&job.pieces),
            summed: self.summed.and_then(|size| within(GuestRange::from(self.planned.0..self.planned.0 + span), size)),
            ..job
        };
        self.next_index += 1;
        self.planned += span;
        self.planned_output += job.output_len() as u64;
        Ok(Some(job))
    }

    /// The limits of the next job. The first jobs are small, except in a compressed output, whose jobs all have one size.
    fn next_limits(&self) -> JobLimits {
        if self.limits.encoding.is_compressed() {
            return self.limits;
        }
        let bytes = (self.planned_output / GROWTH).max(FIRST_JOB).min(self.limits.bytes);
        JobLimits { bytes, ..self.limits }
    }

    /// The places of files with compressed pieces: only these can be found damaged while a job is decoded.
    fn places_in(&self, pieces: &[Piece]) -> Vec<(FileId, Place)> {
        if self.places.is_empty() {
            return Vec::new();
        }
        let mut files: Vec<FileId> = Vec::new();
        for piece in pieces {
            if let Stored::Compressed(CompressedPart { file, .. }) = piece.stored
                && !files.contains(&file)
            {
                files.push(file);
            }
        }
        self.places.iter().filter(|(file, _)| files.contains(file)).cloned().collect()
    }

    /// The next extent, or the rest of one, that is not in a job yet; `None` at the end of the disk.
    async fn next_extent(&mut self) -> Result<Option<Extent>> {
        while self.pending.is_empty() {
            self.batch.clear();
            if !self.extents.next(&mut self.batch).await? {
                return Ok(None);
            }
            let mut count = self.count.get();
            // The count is compared with the size of the image's own files, so layers below do not count.
            self.batch.iter().filter(|extent| extent.layer == 0).for_each(|extent| count.add(extent));
            count.note_findings(&self.extents);
            self.count.set(count);
            self.pending.extend(self.batch.drain(..));
        }
        Ok(self.pending.pop_front())
    }
}

/// A job being planned. It covers a part of the disk; its guest ranges are where that part has data.
struct Draft {
    limits: JobLimits,
    hole_limits: HoleLimits,
    /// The guest range that the job accounts for.
    start: GuestOffset,
    end: GuestOffset,
    /// The guest offset after the last data; `None` without data so far.
    data_end: Option<GuestOffset>,
    /// The host range of each piece's input, by piece number.
    hosts: Vec<FileRange>,
    pieces: Vec<Piece>,
    guest_ranges: Vec<GuestRun>,
    /// Input bytes so far, without gaps between ranges that will be read as one.
    input_len: u64,
    lost: Vec<Lost>,
}

impl Draft {
    fn new(start: GuestOffset, limits: JobLimits, hole_limits: HoleLimits) -> Self {
        Self {
            limits,
            hole_limits,
            start,
            end: start,
            data_end: None,
            hosts: Vec::new(),
            pieces: Vec::new(),
            guest_ranges: Vec::new(),
            input_len: 0,
            lost: Vec::new(),
        }
    }

    /// Adds the start of `extent`, which begins at the end of the job. Returns the number of bytes added: less than the
    /// whole extent if the job is full.
    ///
    /// A job ends at a unit boundary of the output, since each unit is written by one job.
    fn take_in(&mut self, extent: Extent, files: &Files) -> u64 {
        let is_full_of_lost = self.lost.len() >= MAX_LOST;
        let taken = match extent.kind {
            _ if is_full_of_lost && !self.shares_unit(extent.start) => 0,
            ExtentKind::Compressed { file, host, host_len, cluster, skip, compression } => {
                let present = host_len.min(files[usize::from(file.0)].size() - host.0);
                let missing = (host_len - present) as usize;
                let (cluster, skip) = (cluster as usize, skip as usize);
                let part = CompressedPart { compression, cluster, skip, file, host, missing };
                self.take_in_compressed(extent, FileRange { file, start: host, len: present }, part)
            }
            ExtentKind::Data { file, host, encrypted } => {
                let len = self.fitting_data(extent.start).min(extent.len);
                if len > 0 {
                    let stored = encrypted.map_or(Stored::Plain, |how| Stored::Encrypted {
                        cipher: how.cipher,
                        sector: if how.by_guest { extent.start.0 } else { host.0 } / SECTOR,
                    });
                    self.push(extent.start, len, FileRange { file, start: host, len }, stored);
                }
                len
            }
            ExtentKind::Unallocated { .. } | ExtentKind::Zero { .. } => self.fitting_hole(extent),
            ExtentKind::Lost(damage) => {
                let len = self.fitting_hole(extent);
                if len > 0 {
                    self.lost.push(Lost { start: extent.start, len, damage });
                }
                len
            }
        };
        if let Some(damage) = extent.doubt.filter(|_| taken > 0) {
            self.lost.push(Lost { start: extent.start, len: taken, damage });
        }
        self.end += taken;
        taken
    }

    /// Adds `extent`, stored as `part` in the bytes of `host`: as a whole, or not at all.
    fn take_in_compressed(&mut self, extent: Extent, host: FileRange, part: CompressedPart) -> u64 {
        // Parts of one cluster share its bytes.
        let input_len = if self.is_recent(&host) { 0 } else { host.len };
        if self.room() < input_len.max(extent.len) && !self.must_take(extent.start) {
            return 0;
        }
        self.push(extent.start, extent.len, host, Stored::Compressed(part));
        extent.len
    }

    /// Number of data bytes from `start` that fit, up to a unit boundary.
    fn fitting_data(&self, start: GuestOffset) -> u64 {
        let unit = self.limits.unit;
        let end = (start + self.room()).align_down(unit);
        if end > start {
            end - start
        } else if self.must_take(start) {
            start.align_down(unit) + unit - start
        } else {
            0
        }
    }

    /// Number of bytes of `extent`, which has no data, that fit.
    fn fitting_hole(&self, extent: Extent) -> u64 {
        let in_shared_unit =
            if self.shares_unit(extent.start) { extent.start.align_up(self.limits.unit) - extent.start } else { 0 };
        let hole_start = self.data_end.unwrap_or(self.start);
        let left_of_job = self.hole_limits.job.saturating_sub(self.end - self.start);
        let left_of_hole = self.hole_limits.hole.saturating_sub(self.end - hole_start);
        extent.len.min(left_of_job.min(left_of_hole).max(in_shared_unit))
    }

    /// Number of bytes of input and output that the job has room for.
    fn room(&self) -> u64 {
        if self.pieces.len() >= MAX_PIECES {
            return 0;
        }
        self.limits.bytes.saturating_sub(self.input_len.max(self.output_len()))
    }

    /// Whether the job must take data at `start` even if it is full: because it has data in the same unit, or has none
    /// at all and one unit or cluster may exceed the limit.
    fn must_take(&self, start: GuestOffset) -> bool {
        self.shares_unit(start) || self.guest_ranges.is_empty()
    }

    /// Whether the job has data in the unit of `start`, so that no other job may write to it.
    fn shares_unit(&self, start: GuestOffset) -> bool {
        self.data_end.is_some_and(|end| end > start.align_down(self.limits.unit))
    }

    /// Whether a recent piece has the same input, which is read once. The last piece alone is not enough: clusters of
    /// two layers may alternate.
    fn is_recent(&self, host: &FileRange) -> bool {
        self.hosts.iter().rev().take(RECENT).any(|recent| recent == host)
    }

    /// Adds a piece: `len` bytes of the disk from `start`, with input at `host`.
    fn push(&mut self, start: GuestOffset, len: u64, host: FileRange, stored: Stored) {
        let output = self.place(start, start + len);
        if !self.is_recent(&host) {
            self.input_len += host.len;
        }
        self.hosts.push(host);
        // The input position is set when all reads are known: see `join_reads`.
        let (input_len, output_len) = (host.len as usize, len as usize);
        self.pieces.push(Piece { input: 0, input_len, output, output_len, stored });
    }

    /// Output bytes so far.
    fn output_len(&self) -> u64 {
        self.guest_ranges.last().map_or(0, |last| (last.start + last.len) as u64)
    }

    /// Returns the position in the output of the guest bytes from `start` to `end`: in the last guest range if they follow
    /// it closely enough, else in a new one. Each guest range begins at a multiple of the unit.
    fn place(&mut self, start: GuestOffset, end: GuestOffset) -> usize {
        let unit_start = start.align_down(self.limits.unit);
        self.data_end = Some(end);
        if let Some(last) = self.guest_ranges.last_mut() {
            let last_end = last.end();
            if unit_start < last_end || start - last_end < self.limits.abilities.short_hole.max(1) {
                last.len = (end - last.guest) as usize;
                return last.start + (start - last.guest) as usize;
            }
        }
        let at = self.output_len().next_multiple_of(self.limits.unit) as usize;
        self.guest_ranges.push(GuestRun { guest: unit_start, start: at, len: (end - unit_start) as usize });
        at + (start - unit_start) as usize
    }

    /// Returns the reads, pieces, guest ranges and lost ranges of the job; the planner adds the rest.
    ///
    /// Whole units are written: a guest range that ends inside a unit is extended with zeros.
    fn finish(mut self, virtual_size: u64, files: &Files) -> Job {
        for guest_range in &mut self.guest_ranges {
            let end = guest_range.end().align_up(self.limits.unit).min(GuestOffset(virtual_size));
            guest_range.len = (end - guest_range.guest) as usize;
        }
        let reads = self.join_reads(files);
        Job { reads, pieces: self.pieces, guest_ranges: self.guest_ranges, lost: self.lost, ..Job::default() }
    }

    /// Returns the reads of the job, by file and host offset, and sets the input position of each piece. Joins neighbouring
    /// reads if the gap is within the `gap` of their file's profile, and all gaps together are within `1 / GAP_SHARE` of a job.
    fn join_reads(&mut self, files: &Files) -> Vec<FileRange> {
        let max_gaps = self.limits.bytes / GAP_SHARE;
        let gap_of = |range: FileRange| files[usize::from(range.file.0)].profile().gap;
        let mut order: Vec<usize> = (0..self.hosts.len()).collect();
        order.sort_unstable_by_key(|&at| (self.hosts[at].file, self.hosts[at].start));
        let mut reads: Vec<FileRange> = Vec::new();
        // Bytes of all reads so far, and those among them that no piece needs.
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

/// Whether both ranges are in one file, at most `gap` bytes apart.
fn joins(last: &FileRange, next: FileRange, gap: u64) -> bool {
    last.file == next.file && next.start.0.saturating_sub(last.end()) <= gap
}
