//! Plans the jobs of a streamed disk. Reads and decodes one chunk at a time and puts it on the shelf, where its job finds it.

use super::{CHUNK, DiskStream, Growth, InOrder, other_size};
use crate::compress::{Encoding, GuestRun, is_zero};
use crate::convert::gpt::{self, Gpt, Patch, Unmoved};
use crate::convert::job::{Job, Piece, Stored};
use crate::convert::plan::{HoleLimits, JobLimits};
use crate::convert::reshape::{self, Settled};
use crate::disk::info::Notice;
use crate::error::{Error, ErrorKind, Result, checked_size_of};
use crate::format::{HEAD, TAIL, disk_footer};
use crate::io::source::{FileId, FileRange, zeroed};
use crate::io::stream::Ended;
use crate::io::target::Holes;
use crate::offsets::{GuestOffset, HostOffset, SECTOR};
use crate::open::identify::{FileType, RawReason, identify_end, identify_start};
use crate::open::manifest::unchecked_in_order;
use crate::open::members::unmarked;
use crate::open::refusals::{empty_stream, not_in_order};
use crate::open::safety;

use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// Plans a streamed disk, one job per chunk.
pub(in crate::convert) struct InOrderPlanner {
    disk: DiskStream,
    limits: JobLimits,
    chunk: usize,
    /// Remaining length of the hole that comes next, in bytes.
    hole: u64,
    /// The next chunk, if it was read already; empty at the end.
    ahead: Option<Vec<u8>>,
    /// The end of the disk, if it needs a separate job.
    end: Option<Vec<u8>>,
    /// The last bytes read.
    tail: Vec<u8>,
    /// Why the disk is read as raw, by its first bytes.
    reason: RawReason,
    next_index: u64,
    planned: u64,
    position: Rc<Cell<u64>>,
    notices: Rc<RefCell<Vec<Notice>>>,
    growth: Growth,
    /// Whether the whole stream has been read.
    has_ended: bool,
    /// Whether there is a GPT, and it was unknown where the disk ends.
    has_unsettled_gpt: Rc<Cell<bool>>,
}

impl InOrderPlanner {
    /// Begins to read `disk`. Fails as [`StreamedImage::begin`] does.
    pub(in crate::convert) fn new(disk: &InOrder<'_>, limits: JobLimits) -> Result<Self> {
        let chunk = (limits.bytes.min(CHUNK) / limits.unit).max(1) * limits.unit;
        Ok(Self {
            disk: disk.begin()?,
            limits,
            chunk: chunk as usize,
            hole: 0,
            ahead: None,
            end: None,
            tail: Vec::new(),
            reason: RawReason::default(),
            next_index: 0,
            planned: 0,
            position: Rc::default(),
            notices: Rc::default(),
            growth: disk.growth.clone(),
            has_ended: false,
            has_unsettled_gpt: Rc::default(),
        })
    }

    /// The size of the disk in bytes, if it was determined before.
    pub(in crate::convert) fn size(&self) -> Option<u64> {
        self.growth.total().or(self.disk.size)
    }

    /// Returns a function that returns the size, whose value may be larger after the first job.
    pub(in crate::convert) fn end(&self) -> impl Fn() -> Option<u64> + use<> {
        let (growth, size) = (self.growth.clone(), self.disk.size);
        move || growth.total().or(size)
    }

    /// The number of bytes read from the file.
    pub(in crate::convert) fn position(&self) -> Rc<Cell<u64>> {
        self.position.clone()
    }

    /// Returns a function that makes the notices of the pass, for an output that has made the disk larger or has not. It is called after the
    /// last job.
    pub(in crate::convert) fn notices(&self) -> impl Fn(bool) -> Vec<Notice> + use<> {
        let (found, has_gpt) = (self.notices.clone(), self.has_unsettled_gpt.clone());
        move |is_larger| {
            let gpt = (is_larger && has_gpt.get()).then(reshape::gpt_not_at_end);
            found.take().into_iter().chain(gpt).collect()
        }
    }

    /// Returns the next job and puts its chunk on the shelf; `None` at the end of the disk. Fails with `corrupt` if the disk does not
    /// have the size that was stated.
    pub(in crate::convert) async fn next(&mut self) -> Result<Option<Job>> {
        let job = self.next_job().await?;
        if !self.has_ended {
            self.check_size(self.planned, false)?;
        }
        Ok(job)
    }

    /// Checks the size of the disk after `size` bytes of the stream, which are all if `is_whole`. Fails with `corrupt` if the disk does not have
    /// the stated size, and with `usage` if the output would make it smaller.
    fn check_size(&self, size: u64, is_whole: bool) -> Result<()> {
        match (self.disk.size, self.growth.change.size) {
            (Some(stated), _) if size > stated || is_whole && size != stated => Err(other_size(stated)),
            (_, Some(wanted)) if size > wanted => Err(reshape::smaller(wanted, size, is_whole)),
            _ => Ok(()),
        }
    }

    async fn next_job(&mut self) -> Result<Option<Job>> {
        if let Some(end) = self.end.take() {
            return self.job(end, true).map(Some);
        }
        if self.hole > 0 {
            return self.hole_job().map(Some);
        }
        if self.has_ended {
            return Ok(None);
        }
        let mut chunk = match self.ahead.take() {
            Some(chunk) => chunk,
            None => {
                self.hole = self.disk.stream.pass_hole(self.limits.unit);
                if self.hole > 0 {
                    return self.hole_job().map(Some);
                }
                self.read().await?
            }
        };
        if chunk.is_empty() {
            if self.planned == 0 {
                return Err(empty_stream());
            }
            return self.check_size(self.planned, true).map(|()| None);
        }
        if chunk.len() == self.chunk {
            self.hole = self.disk.stream.pass_hole(self.limits.unit);
        }
        // A hole is always followed by more data, so the end of the disk is checked only without one.
        if self.hole == 0 {
            let mut next = if chunk.len() == self.chunk { self.read().await? } else { Vec::new() };
            if next.len() < self.chunk {
                self.take_footer(&mut chunk, &mut next)?;
            }
            if next.is_empty() {
                self.check_end(chunk.len())?;
                chunk.resize(chunk.len().next_multiple_of(self.disk.sector as usize), 0);
                self.has_ended = true;
                self.end_disk(&mut chunk)?;
            }
            self.ahead = Some(next);
        }
        if chunk.is_empty() {
            let end = self.end.take().unwrap_or_default();
            return self.job(end, true).map(Some);
        }
        self.job(chunk, false).map(Some)
    }

    /// Reads a chunk: full length unless the disk ends with it; empty at the end.
    async fn read(&mut self) -> Result<Vec<u8>> {
        let spare = self.disk.shelf.spare.take();
        let mut chunk = if spare.len() == self.chunk { spare } else { zeroed(self.chunk)? };
        let is_start = self.tail.is_empty();
        let len = self.disk.stream.read(&mut chunk).await?;
        self.position.set(self.disk.stream.file_position());
        chunk.truncate(len);
        self.ensure_size((self.chunk + len) as u64)?;
        let kept = (TAIL as usize).saturating_sub(len).min(self.tail.len());
        self.tail.drain(..self.tail.len() - kept);
        self.tail.extend_from_slice(&chunk[len.saturating_sub(TAIL as usize)..]);
        if is_start && self.disk.is_stated_stream {
            self.reason = RawReason::stated(identify_start(&chunk[..len.min(HEAD as usize)], None));
        }
        if is_start {
            self.settle_gpt(&chunk)?;
        }
        Ok(chunk)
    }

    /// Decides what happens to the GPT of a disk that begins with `start`. Fails as [`Change::settle`] does.
    fn settle_gpt(&mut self, start: &[u8]) -> Result<()> {
        let found = Gpt::find(&start[..start.len().min(gpt::START as usize)]);
        let Some((_, disk_size)) = self.growth.sizes else {
            self.has_unsettled_gpt.set(found.is_ok());
            return Ok(());
        };
        let is_same = self.disk.size == Some(disk_size);
        if is_same && self.growth.change.fix_gpt != Some(true) {
            return Ok(());
        }
        let moved = found.and_then(|gpt| {
            let (at, len) = gpt.entries(disk_size)?;
            let far = Unmoved::Damaged("its entries are far from the start of the disk, which comes in a stream");
            let entries = usize::try_from(at).ok().and_then(|at| start.get(at..at + len as usize)).ok_or(far)?;
            gpt.moved(entries, disk_size)
        });
        let Settled { patches, notices } = self.growth.change.settle(moved, self.growth.fixes())?;
        self.growth.patches.replace(patches);
        self.notices.borrow_mut().extend(notices);
        Ok(())
    }

    /// Ends the disk of the stream with `chunk`. Zeros follow if the disk becomes larger. Fails as [`Self::check_size`] does.
    fn end_disk(&mut self, chunk: &mut Vec<u8>) -> Result<()> {
        let end = self.planned + chunk.len() as u64;
        self.check_size(end, true)?;
        self.growth.size.set(Some(end));
        match self.growth.total() {
            Some(total) if total > end => {
                // A unit belongs to one job.
                let added = (end.next_multiple_of(self.limits.unit).min(total) - end) as usize;
                chunk.resize(chunk.len() + added, 0);
                self.hole = total - end - added as u64;
            }
            _ => self.end = self.split_end(chunk),
        }
        Ok(())
    }

    /// Fails with `limit` if `len` more bytes than planned so far exceed the largest disk.
    fn ensure_size(&self, len: u64) -> Result<()> {
        // The disk may be up to a sector larger.
        let size = self.planned.checked_add(len).and_then(|size| size.checked_add(SECTOR));
        checked_size_of("disk", size).map(drop)
    }

    /// Cuts off what follows the disk in `chunk` and `next`, with which the stream ends, if it ends with the footer of a format and the
    /// disk ends in `chunk`. If the disk ended before, [`Self::check_end`] fails. Fails with `corrupt` if the stream lacks a part of the
    /// disk.
    fn take_footer(&mut self, chunk: &mut Vec<u8>, next: &mut Vec<u8>) -> Result<()> {
        let end = self.planned + (chunk.len() + next.len()) as u64;
        let footer = disk_footer(&self.tail, end).filter(|_| self.disk.reason.is_guess());
        let Some(footer) = footer else { return Ok(()) };
        let (present, size) = (end - footer.len as u64, footer.disk_size);
        let in_chunk = size.min(present).saturating_sub(self.planned);
        if in_chunk == 0 || in_chunk > chunk.len() as u64 {
            return Ok(());
        }
        if size > present {
            let message = format!("The image is corrupt: its footer states {size} bytes, but the disk has {present}");
            return Err(Error::new(ErrorKind::Corrupt, message).coded(footer.kind.other_size).field("size", size));
        }
        chunk.truncate(in_chunk as usize);
        next.clear();
        let message = format!("The content is {}: its footer is not a part of the disk", footer.kind.label);
        self.notices.borrow_mut().push(Notice::new(footer.kind.notice, message));
        self.tail.clear();
        Ok(())
    }

    /// Checks the end of the disk, whose last chunk has `last` bytes. Fails if the last bytes or the size show that it
    /// is not a raw disk, or if it may be truncated.
    fn check_end(&self, last: usize) -> Result<()> {
        let Ended { is_unmarked, trailer, capacity, has_manifest } = self.disk.stream.ended();
        if has_manifest {
            self.notices.borrow_mut().push(unchecked_in_order());
        }
        self.notices.borrow_mut().extend(safety::trailer(trailer));
        let size = (self.planned + last as u64).next_multiple_of(SECTOR);
        self.notices
            .borrow_mut()
            .extend(self.disk.capacity.or(capacity).and_then(|capacity| safety::other_capacity(capacity, size)));
        let containers = &self.disk.containers;
        if !self.disk.reason.is_guess() {
            let reason = match (self.disk.reason, self.reason) {
                (RawReason::Stated, RawReason::Stated) => RawReason::stated(identify_end(&self.tail)),
                (_, by_start) => by_start,
            };
            self.notices.borrow_mut().extend(reason.notice(containers));
            return Ok(());
        }
        match identify_end(&self.tail) {
            FileType::Image(format) | FileType::Unsupported(format) => {
                Err(not_in_order(format, containers.last().map(|container| container.name)))
            }
            _ if is_unmarked => Err(unmarked(containers)),
            _ => self.disk.reason.check_size(self.planned + last as u64, containers),
        }
    }

    /// Splits off the last unit of the disk if it is zeros that must be written, because the target would otherwise not
    /// know where the disk ends.
    fn split_end(&self, chunk: &mut Vec<u8>) -> Option<Vec<u8>> {
        let ends_by_itself = self.limits.encoding != Encoding::Plain || self.limits.abilities.holes != Holes::Skip;
        let unit = self.limits.unit as usize;
        let start = (chunk.len() - 1) / unit * unit;
        if ends_by_itself || !is_zero(&chunk[start..]) {
            return None;
        }
        Some(chunk.split_off(start))
    }

    /// Returns a job for the next hole, or a part of it.
    fn hole_job(&mut self) -> Result<Job> {
        self.ensure_size(self.hole)?;
        let HoleLimits { job, hole } = self.limits.hole_limits(0);
        let unit = self.limits.unit;
        let mut span = self.hole.min((job.min(hole) / unit * unit).max(unit));
        let next = self.growth.patches.borrow().iter().map(Patch::range).find(|patch| patch.end.0 > self.planned);
        if let Some(patch) = next {
            let unchanged = patch.start.align_down(unit).0.saturating_sub(self.planned);
            if unchanged == 0 {
                let zeros = zeroed(self.hole.min(self.chunk as u64) as usize)?;
                self.hole -= zeros.len() as u64;
                return self.job(zeros, false);
            }
            span = span.min(unchanged);
        }
        self.hole -= span;
        self.tail = vec![0; TAIL as usize];
        Ok(self.empty_job(span))
    }

    /// Returns a job without data that accounts for the next `span` bytes of the disk.
    fn empty_job(&mut self, span: u64) -> Job {
        let job = Job {
            index: self.next_index,
            span,
            unit: self.limits.stored_unit,
            short_hole: self.limits.abilities.short_hole,
            dense: self.limits.abilities.holes == Holes::WriteZeros,
            encoding: self.limits.encoding,
            digested: self.limits.digested,
            ..Job::default()
        };
        self.next_index += 1;
        self.planned += span;
        job
    }

    /// Returns a job for `chunk`, the next part of the disk. Leaves out a chunk of zeros, unless `dense`.
    fn job(&mut self, mut chunk: Vec<u8>, dense: bool) -> Result<Job> {
        let (start, len) = (self.planned, chunk.len());
        for patch in self.growth.patches.borrow().iter() {
            self.growth.originals.borrow_mut().extend(patch.original(start, &chunk));
            patch.apply(start, &mut chunk);
        }
        let mut job = self.empty_job(len as u64);
        job.dense |= dense;
        if !dense && is_zero(&chunk) {
            self.disk.shelf.spare.set(chunk);
            return Ok(job);
        }
        job.reads = vec![FileRange { file: FileId::IMAGE, start: HostOffset(start), len: len as u64 }];
        job.pieces = vec![Piece { input: 0, input_len: len, output: 0, output_len: len, stored: Stored::Plain }];
        job.guest_ranges = vec![GuestRun { guest: GuestOffset(start), start: 0, len }];
        self.disk.shelf.chunks.borrow_mut().push_back((start, chunk));
        Ok(job)
    }
}
