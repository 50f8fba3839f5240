//! From extents to jobs: neighbouring host ranges are read at once, a bounded number of bytes.

use super::job::{CompressedPart, Job, Piece, Stored};
use crate::damage::Lost;
use crate::error::Result;
use crate::extent::{Extent, ExtentKind, Extents};
use crate::image::Image;
use crate::sink::Run;
use crate::source::{FileId, FileRange, Files};
use crate::units::{BLOCK, GuestOffset};
use std::collections::{BTreeSet, VecDeque};

/// Host ranges nearer to each other than this (bytes) are read as one: in a browser the bytes cost
/// less than the call.
const READ_GAP: u64 = 64 << 10;
/// At most this share of a job's bytes is read in vain, between ranges that are read as one.
const GAP_SHARE: u64 = 4;
/// The unit of encryption, in bytes.
const SECTOR: u64 = 512;
/// The first jobs are of this size, in bytes, so that all workers have something to do soon; then a job has
/// at most a share of what was planned before it, up to the limit.
const FIRST_JOB: u64 = 1 << 20;
const GROWTH: u64 = 4;
/// The most pieces of a job; bounds its own size (40 bytes each) with the smallest clusters.
const MAX_PIECES: usize = 16_384;

/// How large a job may become, in bytes.
#[derive(Clone, Copy, Debug)]
pub struct JobLimits {
    /// Of input, and of output. A single compressed cluster may exceed it.
    pub bytes: u64,
    /// Runs of zeros shorter than this may be written where that saves a write.
    pub short_hole: u64,
    /// Whether holes are written as zeros.
    pub dense: bool,
}

/// Turns the extents of an image into jobs, in guest order.
pub struct Planner {
    extents: Extents,
    limits: JobLimits,
    files: Files,
    salvage: bool,
    /// Of the backing files.
    names: Vec<(FileId, String)>,
    virtual_size: u64,
    /// Extents that are not in a job yet, and where the walk is.
    batch: Vec<Extent>,
    pending: VecDeque<Extent>,
    next_index: u64,
    /// The disk up to here is accounted for.
    planned: u64,
    /// Bytes of output in the jobs so far.
    data: u64,
}

impl Planner {
    /// Plans the extents of `image`. Fails where it misses a file or a password.
    pub fn new(image: &Image, limits: JobLimits) -> Result<Self> {
        Ok(Self {
            extents: image.extents()?,
            limits,
            files: image.files().clone(),
            salvage: image.is_salvaged(),
            names: image.backing_names(),
            virtual_size: image.virtual_size(),
            batch: Vec::new(),
            pending: VecDeque::new(),
            next_index: 0,
            planned: 0,
            data: 0,
        })
    }

    /// The next job; the last one may have nothing to do but account for a hole.
    pub async fn next(&mut self) -> Result<Option<Job>> {
        let mut draft = Draft::default();
        let limits = self.next_limits();
        // The job accounts for the disk up to here.
        let mut end = self.planned;
        while let Some(extent) = self.next_extent().await? {
            let (taken, rest) = if draft.lost.len() >= MAX_PIECES && !draft.shares_block(extent.start) {
                (0, Some(extent))
            } else if extent.has_data() || self.limits.dense {
                let rest = draft.add(extent, limits, &self.files);
                (extent.len - rest.map_or(0, |rest| rest.len), rest)
            } else {
                (extent.len, None)
            };
            end += taken;
            if let ExtentKind::Lost(damage) = extent.kind
                && taken > 0
            {
                draft.lost.push(Lost { start: extent.start.0, len: taken, damage });
            }
            if let Some(rest) = rest {
                self.pending.push_front(rest);
                break;
            }
        }
        if end == self.planned {
            return Ok(None);
        }
        let mut job = draft.finish(limits.bytes, self.virtual_size);
        job.index = self.next_index;
        job.span = end - self.planned;
        job.short_hole = self.limits.short_hole;
        job.dense = self.limits.dense;
        job.salvage = self.salvage;
        job.names = self.names_in(&job.pieces);
        self.next_index += 1;
        self.planned = end;
        self.data += job.output_len() as u64;
        Ok(Some(job))
    }

    fn next_limits(&self) -> JobLimits {
        let bytes = (self.data / GROWTH).max(FIRST_JOB).min(self.limits.bytes);
        JobLimits { bytes, ..self.limits }
    }

    /// The names of the backing files that compressed pieces come from.
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

    async fn next_extent(&mut self) -> Result<Option<Extent>> {
        while self.pending.is_empty() {
            self.batch.clear();
            if !self.extents.next(&mut self.batch).await? {
                return Ok(None);
            }
            self.pending.extend(self.batch.drain(..));
        }
        Ok(self.pending.pop_front())
    }
}

/// A job in the making.
#[derive(Default)]
struct Draft {
    /// Where each piece's input lies in the file.
    hosts: Vec<FileRange>,
    input_len: u64,
    pieces: Vec<Piece>,
    stretches: Vec<Run>,
    /// The disk up to here is in the job.
    guest_end: Option<u64>,
    lost: Vec<Lost>,
}

impl Draft {
    /// Takes in `extent`, or as much as fits; hands back the rest if the job is full.
    ///
    /// A job ends between two blocks of the output, never inside one: two jobs would write it.
    fn add(&mut self, extent: Extent, limits: JobLimits, files: &Files) -> Option<Extent> {
        let shares_block = self.shares_block(extent.start);
        let room = match self.pieces.len() {
            MAX_PIECES.. => 0,
            _ => limits.bytes.saturating_sub(self.input_len.max(self.output_len())),
        };
        if let ExtentKind::Compressed { file, host, host_len, cluster, skip, compression } = extent.kind {
            let available = host_len.min(files[usize::from(file.0)].size() - host.0);
            let range = FileRange { file, start: host, len: available };
            // Parts of one cluster need its bytes once.
            let more = if self.hosts.last() == Some(&range) { 0 } else { available };
            if room < more.max(extent.len) && !shares_block && !self.is_empty() {
                return Some(extent);
            }
            let (cluster, skip) = (cluster as usize, skip as usize);
            let cut = available < host_len;
            let part = CompressedPart { compression, cluster, skip, file, host, cut };
            self.push(extent, range, Stored::Compressed(part), limits);
            return None;
        }
        let to_boundary = extent.start.0.next_multiple_of(BLOCK) - extent.start.0;
        let fits = match (extent.start.0 + room) / BLOCK * BLOCK {
            end if end > extent.start.0 => end - extent.start.0,
            _ if shares_block => to_boundary,
            // A block is more than an empty job may hold; take one all the same.
            _ if self.is_empty() => {
                if to_boundary > 0 {
                    to_boundary
                } else {
                    BLOCK
                }
            }
            _ => return Some(extent),
        };
        let (first, rest) = extent.split(fits);
        match first.kind {
            ExtentKind::Data { file, host, encrypted } => {
                let stored = encrypted.map_or(Stored::Plain, |how| Stored::Encrypted {
                    cipher: how.cipher,
                    sector: if how.by_guest { first.start.0 } else { host.0 } / SECTOR,
                });
                self.push(first, FileRange { file, start: host, len: first.len }, stored, limits);
            }
            // A hole of a dense output: a stretch that no piece covers.
            _ => {
                self.place(first.start.0, first.end(), limits.short_hole);
            }
        }
        rest
    }

    /// Whether the block of `start` has something of the job already, so that no other job may write it.
    fn shares_block(&self, start: GuestOffset) -> bool {
        self.guest_end.is_some_and(|end| end > start.block_start())
    }

    fn is_empty(&self) -> bool {
        self.stretches.is_empty()
    }

    fn push(&mut self, extent: Extent, host: FileRange, stored: Stored, limits: JobLimits) {
        let output = self.place(extent.start.0, extent.end(), limits.short_hole);
        if self.hosts.last() != Some(&host) {
            self.input_len += host.len;
        }
        self.hosts.push(host);
        self.pieces.push(Piece {
            input: 0,
            input_len: host.len as usize,
            output,
            output_len: extent.len as usize,
            stored,
        });
    }

    fn output_len(&self) -> u64 {
        self.stretches.last().map_or(0, |last| (last.start + last.len) as u64)
    }

    /// Where in the output the disk's bytes from `start` to `end` belong: in the last stretch, if
    /// they follow it closely enough, or in a new one, each at a multiple of the block.
    fn place(&mut self, start: u64, end: u64, short_hole: u64) -> usize {
        let block = start / BLOCK * BLOCK;
        self.guest_end = Some(end);
        if let Some(last) = self.stretches.last_mut() {
            let last_end = last.guest + last.len as u64;
            if block < last_end || start - last_end < short_hole.max(1) {
                last.len = (end - last.guest) as usize;
                return last.start + (start - last.guest) as usize;
            }
        }
        let at = self.output_len().next_multiple_of(BLOCK) as usize;
        self.stretches.push(Run { guest: block, start: at, len: (end - block) as usize });
        at + (start - block) as usize
    }

    /// Orders the reads by their place in the file and joins neighbours, as long as no more than a
    /// share of `limit` bytes is read in vain.
    ///
    /// A stretch that ends inside a block is followed by a hole there: the block is filled up.
    fn finish(mut self, limit: u64, virtual_size: u64) -> Job {
        for stretch in &mut self.stretches {
            let end = (stretch.guest + stretch.len as u64).next_multiple_of(BLOCK).min(virtual_size);
            stretch.len = (end - stretch.guest) as usize;
        }
        let mut order: Vec<usize> = (0..self.hosts.len()).collect();
        order.sort_unstable_by_key(|&at| (self.hosts[at].file, self.hosts[at].start));
        let mut reads: Vec<FileRange> = Vec::new();
        let (mut input, mut gaps) = (0, 0);
        for at in order {
            let host = self.hosts[at];
            match reads.last_mut() {
                Some(last) if joins(last, host, limit / GAP_SHARE - gaps) => {
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
        Job { reads, pieces: self.pieces, stretches: self.stretches, lost: self.lost, ..Job::default() }
    }
}

/// Whether the hole between two ranges is small enough to be read; `allowance` is what may still be
/// read in vain.
fn joins(last: &FileRange, next: FileRange, allowance: u64) -> bool {
    last.file == next.file && next.start.0.saturating_sub(last.end()) <= READ_GAP.min(allowance)
}
