//! Plans jobs for a streamed disk. Reads and decodes one chunk at a time and puts it on a shelf, where its job finds
//! it.

use super::gpt::{self, Gpt, Patch, Unmoved};
use super::job::{Job, Piece, Stored};
use super::plan::{HoleLimits, JobLimits};
use super::reshape::{self, Change, Settled};
use crate::compress::{Encoding, GuestRun, is_zero};
use crate::container::part::PartDecoder;
use crate::disk::info::{Capacity, ContainerInfo, Notice};
use crate::error::{Error, ErrorKind, Result, checked_size_of};
use crate::format::{HEAD, TAIL, disk_footer};
use crate::io::source::{FileId, FileRange, Files, Profile, Source, zeroed};
use crate::io::stream::{ByteStream, Ended};
use crate::io::target::Holes;
use crate::offsets::{GuestOffset, GuestRange, HostOffset, SECTOR};
use crate::open::identify::{FileType, RawReason, identify_end, identify_start};
use crate::open::manifest::Manifest;
use crate::open::members::unmarked;
use crate::open::refusals::{empty_stream, not_in_order};
use crate::open::safety::other_capacity;
use crate::open::streamed_image::StreamedImage;
use crate::output::{Layout, SIZE_NEEDED};

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
    growth: Growth,
}

/// How the disk of the output differs from the streamed disk. Sizes are in bytes.
#[derive(Clone, Default)]
struct Growth {
    change: Change,
    /// The size before the output format rounds it up, and after that. `None` if they are known only at the end.
    sizes: Option<(u64, u64)>,
    /// The rewritten ranges. Empty until the start of the disk has been read.
    patches: Rc<RefCell<Vec<Patch>>>,
    /// What the stream has in those of the ranges that are in jobs.
    originals: Rc<RefCell<Vec<Patch>>>,
    /// The size of the disk of the stream, after its last byte was read.
    size: Rc<Cell<Option<u64>>>,
}

impl Growth {
    /// Whether the GPT is to be moved, if there is one.
    fn fixes(&self) -> bool {
        self.sizes.is_some_and(|(virtual_size, disk_size)| self.change.fixes(virtual_size, disk_size))
    }

    /// The size up to which jobs are planned; `None` if that is the end of the stream. Larger as soon as a GPT was found that is moved.
    fn total(&self) -> Option<u64> {
        let is_moved = !self.patches.borrow().is_empty();
        self.sizes.map(|(virtual_size, disk_size)| if is_moved { disk_size } else { virtual_size })
    }
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
        Self { image, parts, size: None, shelf: Rc::default(), growth: Growth::default() }
    }

    /// States the size of the disk in bytes. The conversion fails with `corrupt` if the disk has another one.
    #[must_use]
    pub fn of_size(mut self, size: Option<u64>) -> Self {
        self.size = size;
        self
    }

    /// Makes `change` to the disk, in an output with this layout; `None` if the size of the disk is known only at its end. Fails with
    /// `usage` if the disk would become smaller, and with `unsupported` if the GPT is to be fixed, but the size is unknown.
    pub fn changed(mut self, change: Change, layout: Option<&dyn Layout>) -> Result<Self> {
        let stated = self.size.map(|size| change.size_of(size)).transpose()?.or(change.size);
        let sizes = stated.zip(layout).map(|(size, layout)| (size, layout.disk_size()));
        if sizes.is_none() && change.fix_gpt == Some(true) {
            let message = "The GPT is at the start of the disk, but the size of this disk, which comes in a stream, is known only at its \
                           end; state the size (size, --size), allow a temporary file (spool, --spool), or save the image as a file first";
            return Err(Error::new(ErrorKind::Unsupported, message).coded(SIZE_NEEDED));
        }
        self.growth = Growth { change, sizes, ..Growth::default() };
        Ok(self)
    }

    /// The size of the disk before the output format rounds it up, if it was known before.
    pub(super) fn virtual_size(&self) -> Option<u64> {
        self.growth.sizes.map(|(virtual_size, _)| virtual_size)
    }

    /// The rewritten ranges, after a pass.
    pub(super) fn rewritten(&self) -> Vec<GuestRange> {
        self.growth.patches.borrow().iter().map(Patch::range).collect()
    }

    /// The bytes of the disk in rewritten ranges, of those that are in the jobs so far.
    pub(super) fn originals(&self) -> Rc<RefCell<Vec<Patch>>> {
        self.growth.originals.clone()
    }

    /// Returns a function that returns the size of the disk as it is in the stream, if its end has been read.
    pub(super) fn size_of_stream(&self) -> impl Fn() -> Option<u64> + use<> {
        let size = self.growth.size.clone();
        move || size.get()
    }

    /// Begins to read the disk from its start. Fails as [`StreamedImage::begin`] does.
    fn begin(&self) -> Result<DiskStream> {
        let Self { image, parts, size, shelf, .. } = self;
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

    /// The size of the disk, if it was stated.
    pub(super) fn size(&self) -> Option<u64> {
        self.size
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
    growth: Growth,
    /// Whether the whole stream has been read.
    has_ended: bool,
    /// Whether there is a GPT, and it was unknown where the disk ends.
    has_unsettled_gpt: Rc<Cell<bool>>,
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
            growth: disk.growth.clone(),
            has_ended: false,
            has_unsettled_gpt: Rc::default(),
        })
    }

    /// The size of the disk in bytes, if it was determined before.
    pub(super) fn size(&self) -> Option<u64> {
        self.growth.total().or(self.disk.size)
    }

    /// Returns a function that returns the size, whose value may be larger after the first job.
    pub(super) fn end(&self) -> impl Fn() -> Option<u64> + use<> {
        let (growth, size) = (self.growth.clone(), self.disk.size);
        move || growth.total().or(size)
    }

    /// The number of bytes read from the file.
    pub(super) fn position(&self) -> Rc<Cell<u64>> {
        self.position.clone()
    }

    /// Returns a function that makes the notices of the pass, for an output that has made the disk larger or has not. It is called after the
    /// last job.
    pub(super) fn notices(&self) -> impl Fn(bool) -> Vec<Notice> + use<> {
        let (found, has_gpt) = (self.notices.clone(), self.has_unsettled_gpt.clone());
        move |is_larger| {
            let gpt = (is_larger && has_gpt.get()).then(reshape::gpt_not_at_end);
            found.take().into_iter().chain(gpt).collect()
        }
    }

    /// Returns the next job and puts its chunk on the shelf; `None` at the end of the disk. Fails with `corrupt` if the disk does not
    /// have the size that was stated.
    pub(super) async fn next(&mut self) -> Result<Option<Job>> {
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
