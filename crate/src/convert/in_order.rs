//! Plans jobs for a streamed disk. Reads and decodes one chunk at a time and puts it on a shelf, where its job finds
//! it.

use super::job::{Job, Piece, Stored};
use super::plan::{HoleLimits, JobLimits};
use crate::compress::{Encoding, GuestRun, is_zero};
use crate::container::part::PartDecoder;
use crate::disk::info::{Capacity, ContainerInfo, Notice};
use crate::error::{Error, ErrorKind, Result, checked_size_of};
use crate::format::{HEAD, TAIL, disk_footer};
use crate::io::source::{FileId, FileRange, Files, Profile, Source, zeroed};
use crate::io::stream::{ByteStream, Ended};
use crate::io::target::Holes;
use crate::offsets::{GuestOffset, HostOffset, SECTOR};
use crate::open::identify::{FileType, RawReason, identify_end, identify_start};
use crate::open::manifest::Manifest;
use crate::open::members::unmarked;
use crate::open::refusals::{empty_stream, not_in_order};
use crate::open::safety::other_capacity;
use crate::open::streamed_image::StreamedImage;

use futures_util::FutureExt;
use futures_util::future::{LocalBoxFuture, ready};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

/// Maximum size of a chunk, in bytes.
const CHUNK: u64 = 2 << 20;

/// A streamed disk, ready to be converted.
pub struct InOrder<'a> {
    image: &'a StreamedImage,
    parts: Option<Rc<dyn PartDecoder>>,
    /// The size of the disk in bytes, if it was determined before.
    size: Option<u64>,
    shelf: Rc<Shelf>,
}

/// The bytes of a streamed disk, from its start.
struct DiskStream {
    stream: Box<dyn ByteStream>,
    shelf: Rc<Shelf>,
    size: Option<u64>,
    /// Why it is read as a raw disk. If that is a guess, the end of the disk may still show that it is none.
    reason: RawReason,
    /// The containers around it, outermost first.
    containers: Vec<ContainerInfo>,
    /// See [`StreamedImage::is_stated_stream`].
    is_stated_stream: bool,
    /// See [`StreamedImage::capacity`]; `None` for a file to be unpacked.
    capacity: Option<Capacity>,
    /// Zeros are added at its end up to a multiple of this many bytes.
    sector: u64,
}

impl<'a> InOrder<'a> {
    /// Reads `image`, decoded by `parts` where that is given and possible.
    pub fn new(image: &'a StreamedImage, parts: Option<Rc<dyn PartDecoder>>) -> Self {
        Self { image, parts, size: None, shelf: Rc::default() }
    }

    /// States the size of the disk in bytes. The conversion fails with `corrupt` if the disk has another one.
    #[must_use]
    pub fn of_size(mut self, size: Option<u64>) -> Self {
        self.size = size;
        self
    }

    /// Begins to read the disk from its start. Fails as [`StreamedImage::begin`] does.
    fn begin(&self) -> Result<DiskStream> {
        let Self { image, parts, size, shelf } = self;
        Ok(DiskStream {
            stream: image.begin(parts.clone())?,
            shelf: shelf.clone(),
            size: *size,
            reason: image.reason(),
            containers: image.containers().to_vec(),
            is_stated_stream: image.is_stated_stream(),
            capacity: image.capacity().filter(|_| !image.is_packed()),
            sector: if image.is_packed() { 1 } else { SECTOR },
        })
    }

    /// The manifest of the archive around the disk, if there is one.
    pub(super) fn manifest(&self) -> Option<Rc<Manifest>> {
        self.image.manifest()
    }

    /// See [`StreamedImage::explain`].
    pub(super) fn explain(&self, error: Error) -> Error {
        self.image.explain(error)
    }

    /// The files that jobs read: the shelf, which workers cannot open.
    pub fn files(&self) -> Files {
        Rc::new([self.shelf.clone()])
    }
}

fn other_size(size: u64) -> Error {
    let message = format!(
        "The disk does not have the {size} bytes that its container states or that were counted before; unpack it first"
    );
    Error::new(ErrorKind::Corrupt, message).coded("other-disk-size").field("size", size)
}

/// Decoded chunks, until their job takes them. Acts as a file of unknown size; each chunk is read once.
#[derive(Default)]
struct Shelf {
    /// By guest offset, ascending.
    chunks: RefCell<VecDeque<(u64, Vec<u8>)>>,
    /// The buffer of an earlier chunk.
    spare: Cell<Vec<u8>>,
}

impl Shelf {
    /// Passes the chunk of `len` bytes at `offset` to `receive`. Returns whether there is one.
    fn take(&self, offset: HostOffset, len: usize, receive: &mut dyn FnMut(&[u8])) -> bool {
        let mut chunks = self.chunks.borrow_mut();
        let at = chunks.iter().position(|(start, chunk)| *start == offset.0 && chunk.len() == len);
        let Some((_, chunk)) = at.and_then(|at| chunks.remove(at)) else { return false };
        receive(&chunk);
        self.spare.set(chunk);
        true
    }
}

impl Source for Shelf {
    fn size(&self) -> u64 {
        self.chunks.borrow().back().map_or(0, |(start, chunk)| start + chunk.len() as u64)
    }

    fn profile(&self) -> Profile {
        Profile { gap: 0, reads_at_once: 1, opened_by_workers: false, made_here: true, ..Profile::default() }
    }

    fn lend(&self, offset: HostOffset, len: usize, receive: &mut dyn FnMut(&[u8])) -> bool {
        self.take(offset, len, receive)
    }

    fn read_at<'a>(&'a self, offset: HostOffset, buf: &'a mut [u8]) -> LocalBoxFuture<'a, Result<()>> {
        let is_there = self.take(offset, buf.len(), &mut |chunk| buf.copy_from_slice(chunk));
        let twice = || Error::new(ErrorKind::Internal, "A part of the disk was read twice");
        ready(is_there.then_some(()).ok_or_else(twice)).boxed_local()
    }
}

/// Plans a streamed disk, one job per chunk.
pub(super) struct InOrderPlanner {
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
}

impl InOrderPlanner {
    /// Begins to read `disk`. Fails as [`StreamedImage::begin`] does.
    pub(super) fn new(disk: &InOrder<'_>, limits: JobLimits) -> Result<Self> {
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
        })
    }

    /// The size of the disk in bytes, if it was determined before.
    pub(super) fn size(&self) -> Option<u64> {
        self.disk.size
    }

    /// The number of bytes read from the file.
    pub(super) fn position(&self) -> Rc<Cell<u64>> {
        self.position.clone()
    }

    /// Notices found at the end of the disk.
    pub(super) fn notices(&self) -> Rc<RefCell<Vec<Notice>>> {
        self.notices.clone()
    }

    /// Returns the next job and puts its chunk on the shelf; `None` at the end of the disk. Fails with `corrupt` if the disk does not
    /// have the size that was stated.
    pub(super) async fn next(&mut self) -> Result<Option<Job>> {
        let job = self.next_job().await?;
        match self.disk.size {
            Some(size) if self.planned > size || job.is_none() && self.planned != size => Err(other_size(size)),
            _ => Ok(job),
        }
    }

    async fn next_job(&mut self) -> Result<Option<Job>> {
        if let Some(end) = self.end.take() {
            return self.job(end, true).map(Some);
        }
        if self.hole > 0 {
            return self.hole_job().map(Some);
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
            return if self.planned == 0 { Err(empty_stream()) } else { Ok(None) };
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
                self.end = self.split_end(&mut chunk);
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
        Ok(chunk)
    }

    /// Fails with `limit` if `len` more bytes than planned so far exceed the largest disk.
    fn ensure_size(&self, len: u64) -> Result<()> {
        // The disk may be up to a sector larger.
        let size = self.planned.checked_add(len).and_then(|size| size.checked_add(SECTOR));
        checked_size_of("disk", size).map(drop)
    }

    /// Removes the footer of a format from the end of the stream, which ends with `chunk` and `next`, unless that still
    /// leaves a part of the disk in `next`. Fails with `corrupt` if the disk has another size than the footer states.
    fn take_footer(&mut self, chunk: &mut Vec<u8>, next: &mut Vec<u8>) -> Result<()> {
        let footer = disk_footer(&self.tail).filter(|_| self.disk.reason.is_guess());
        let Some(footer) = footer.filter(|footer| next.len() <= footer.len && chunk.len() > footer.len) else {
            return Ok(());
        };
        let size = footer.disk_size;
        chunk.truncate(chunk.len() + next.len() - footer.len);
        next.clear();
        let found = self.planned + chunk.len() as u64;
        if found != size {
            let message = format!("The image is corrupt: its footer states {size} bytes, but the disk has {found}");
            return Err(Error::new(ErrorKind::Corrupt, message).coded(footer.kind.other_size).field("size", size));
        }
        let message = format!("The content is {}: its footer is not a part of the disk", footer.kind.label);
        self.notices.borrow_mut().push(Notice::new(footer.kind.notice, message));
        self.tail.clear();
        Ok(())
    }

    /// Checks the end of the disk, whose last chunk has `last` bytes. Fails if the last bytes or the size show that it
    /// is not a raw disk, or if it may be truncated.
    fn check_end(&self, last: usize) -> Result<()> {
        let Ended { is_unmarked, trailer, capacity } = self.disk.stream.ended();
        if trailer > 0 {
            let message = format!("{trailer} bytes after the compressed data belong to nothing and are ignored");
            self.notices.borrow_mut().push(Notice::new("trailer", message).field("size", trailer));
        }
        let size = (self.planned + last as u64).next_multiple_of(SECTOR);
        self.notices
            .borrow_mut()
            .extend(self.disk.capacity.or(capacity).and_then(|capacity| other_capacity(capacity, size)));
        if !self.disk.reason.is_guess() {
            let reason = match self.reason {
                RawReason::Stated if self.disk.is_stated_stream => RawReason::stated(identify_end(&self.tail)),
                reason => reason,
            };
            self.notices.borrow_mut().extend(reason.notice(&[]));
            return Ok(());
        }
        let containers = &self.disk.containers;
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
        let span = self.hole.min((job.min(hole) / unit * unit).max(unit));
        self.hole -= span;
        self.tail = vec![0; TAIL as usize];
        Ok(self.empty_job(span))
    }

    /// Returns a job without data that accounts for the next `span` bytes of the disk.
    fn empty_job(&mut self, span: u64) -> Job {
        let job = Job {
            index: self.next_index,
            span,
            unit: self.limits.unit,
            short_hole: self.limits.abilities.short_hole,
            dense: self.limits.abilities.holes == Holes::WriteZeros,
            encoding: self.limits.encoding,
            ..Job::default()
        };
        self.next_index += 1;
        self.planned += span;
        job
    }

    /// Returns a job for `chunk`, the next part of the disk. Leaves out a chunk of zeros, unless `dense`.
    fn job(&mut self, chunk: Vec<u8>, dense: bool) -> Result<Job> {
        let (start, len) = (self.planned, chunk.len());
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
