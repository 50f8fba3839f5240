//! Sources: where the bytes of an image come from.

use crate::error::{Error, ErrorKind, Result};
use crate::offsets::{ByteRange, HostOffset};
use decant_codec::resize;
use futures_util::future::LocalBoxFuture;
use futures_util::stream::{StreamExt, TryStreamExt, iter};
use serde::{Deserialize, Serialize};
use std::rc::Rc;

/// The number of a file: 0 is the image, then its companions follow in the caller's order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct FileId(pub u16);

impl FileId {
    /// The image itself.
    pub const IMAGE: Self = Self(0);
}

/// An image and its companions, by [`FileId`].
pub type Files = Rc<[Rc<dyn Source>]>;

/// A range of one of the files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileRange {
    /// Which file.
    pub file: FileId,
    /// First byte.
    pub start: HostOffset,
    /// Length in bytes.
    pub len: u64,
}

impl FileRange {
    /// The offset behind the last byte.
    pub fn end(&self) -> u64 {
        self.start.0 + self.len
    }
}

/// How a source is read best. It affects speed only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Profile {
    /// Upper bound, in bytes, on the gap between two ranges of a job that are read as one: reading the gap costs less than
    /// another call.
    pub gap: u64,
    /// The least length, in bytes, of a read that is worth its call. A job is not divided into shorter reads to avoid a
    /// copy.
    pub min_read: u64,
    /// Upper bound on the concurrent reads of one job.
    pub reads_at_once: usize,
    /// Whether workers open the source by themselves. Otherwise jobs are sent to them together with their bytes.
    pub opened_by_workers: bool,
    /// Whether its bytes are made where jobs are planned, and can be had there only.
    pub made_here: bool,
    /// Whether it wants to be told what will be read: see [`Source::expect`].
    pub expects: bool,
}

/// A file on a disk, read by a browser or by the system.
impl Default for Profile {
    fn default() -> Self {
        Self {
            gap: 64 << 10,
            min_read: 0,
            // Enough to hide the latency of a browser's `Blob.slice`, few enough that the first ones are not starved.
            reads_at_once: 4,
            opened_by_workers: true,
            made_here: false,
            expects: false,
        }
    }
}

/// A file that can be read at any offset. A read may be slow and may fail: callers ask for few large ranges.
pub trait Source {
    /// The size of the file in bytes.
    fn size(&self) -> u64;

    /// How the source is read best. It returns the same at every call.
    fn profile(&self) -> Profile {
        Profile::default()
    }

    /// Where it begins in the file that workers open, in bytes: offsets count from here. `None` if it is no part of one
    /// file.
    fn start(&self) -> Option<u64> {
        Some(0)
    }

    /// The next bytes at or after `offset`, which lies in the file, that are stored. Those before them are a hole: they read
    /// as zero. Empty, at the end of the file, if nothing else is stored.
    fn stored_from(&self, offset: u64) -> ByteRange {
        ByteRange { start: HostOffset(offset), len: self.size() - offset }
    }

    /// Says that each of `ranges`, which lie in the file, will be read once, in about this order. A source may fetch them
    /// before. They may come otherwise. No ranges: none that was told and not read yet is needed any more.
    fn expect(&self, _ranges: &[ByteRange]) {}

    /// Fills `buf` with the bytes from `offset` on. The caller has checked that the file has them. Calls may be
    /// concurrent. Fails with `source`.
    fn read_at<'a>(&'a self, offset: HostOffset, buf: &'a mut [u8]) -> LocalBoxFuture<'a, Result<()>>;
}

/// A part of a file.
pub struct Slice {
    source: Rc<dyn Source>,
    range: ByteRange,
}

impl Slice {
    /// The bytes of `source` in `range`, which lies inside it.
    pub fn new(source: Rc<dyn Source>, range: ByteRange) -> Self {
        Self { source, range }
    }
}

impl Source for Slice {
    fn size(&self) -> u64 {
        self.range.len
    }

    fn profile(&self) -> Profile {
        self.source.profile()
    }

    fn start(&self) -> Option<u64> {
        self.source.start().map(|start| start + self.range.start.0)
    }

    fn stored_from(&self, offset: u64) -> ByteRange {
        let start = self.range.start.0;
        let stored = self.source.stored_from(start + offset);
        let (from, to) = (stored.start.0.min(self.range.end()), stored.end().min(self.range.end()));
        ByteRange { start: HostOffset(from - start), len: to.saturating_sub(from) }
    }

    fn expect(&self, ranges: &[ByteRange]) {
        let start = self.range.start.0;
        let shifted = ranges.iter().map(|range| ByteRange { start: HostOffset(range.start.0 + start), ..*range });
        self.source.expect(&shifted.collect::<Vec<_>>());
    }

    fn read_at<'a>(&'a self, offset: HostOffset, buf: &'a mut [u8]) -> LocalBoxFuture<'a, Result<()>> {
        self.source.read_at(HostOffset(self.range.start.0 + offset.0), buf)
    }
}

/// Reads `range` into a new buffer. The caller has bounded its length. Fails with `corrupt` (truncated) if the file ends
/// before the range does; the message calls it "the `what`". Fails with `source`, or with `internal` if memory runs out.
pub async fn read_exact(source: &dyn Source, range: ByteRange, what: &str) -> Result<Vec<u8>> {
    if range.end() > source.size() {
        return Err(Error::truncated(format!("the {what}"), range.start, source.size()));
    }
    let mut buf = zeroed(range.len as usize)?;
    source.read_at(range.start, &mut buf).await?;
    Ok(buf)
}

/// Reads all `ranges`, a few at once, into consecutive parts of `buf`, whose length is the sum of theirs. Fails with
/// `source`.
pub async fn read_ranges(files: &[Rc<dyn Source>], ranges: &[FileRange], mut buf: &mut [u8]) -> Result<()> {
    let mut reads = Vec::with_capacity(ranges.len());
    for range in ranges {
        let (part, remaining) = buf.split_at_mut(range.len as usize);
        reads.push((*range, part));
        buf = remaining;
    }
    read_parts(files, reads).await
}

/// Reads each range into its buffer, which has the same length, a few at once. Fails with `source`.
pub async fn read_parts(files: &[Rc<dyn Source>], parts: Vec<(FileRange, &mut [u8])>) -> Result<()> {
    let mut reads = Vec::with_capacity(parts.len());
    let mut reads_at_once = usize::MAX;
    for (range, part) in parts {
        let source = file(files, range.file)?;
        reads_at_once = reads_at_once.min(source.profile().reads_at_once);
        reads.push((source, range.start, part));
    }
    iter(reads)
        .map(|(source, start, part)| source.read_at(start, part))
        .buffer_unordered(reads_at_once)
        .try_collect()
        .await
}

fn file(files: &[Rc<dyn Source>], id: FileId) -> Result<&Rc<dyn Source>> {
    files
        .get(usize::from(id.0))
        .ok_or_else(|| Error::new(ErrorKind::Internal, format!("A job reads file {}, which was not handed over", id.0)))
}

/// A copy of `bytes`. Fails with `internal` if memory runs out.
pub(crate) fn copied(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut buf = Vec::new();
    buf.try_reserve_exact(bytes.len()).map_err(|_| Error::out_of_memory(bytes.len()))?;
    buf.extend_from_slice(bytes);
    Ok(buf)
}

/// A buffer of `len` zeros. Fails with `internal` if memory runs out.
pub(crate) fn zeroed(len: usize) -> Result<Vec<u8>> {
    let mut buf = Vec::new();
    resize(&mut buf, len).map_err(Error::no_room)?;
    Ok(buf)
}
