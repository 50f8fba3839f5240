//! Sources: random access to the bytes of an image and its companions.

use crate::error::{Error, ErrorKind, Result};
use crate::offsets::{ByteRange, HostOffset};
use decant_codec::resize;
use futures_util::future::LocalBoxFuture;
use futures_util::stream::{StreamExt, TryStreamExt, iter};
use serde::{Deserialize, Serialize};
use std::rc::Rc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// A file's number: 0 is the image; its companions follow in the caller's order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct FileId(pub u16);

impl FileId {
    pub(crate) const IMAGE: Self = Self(0);
}

/// An image and its companions, indexed by [`FileId`].
pub type Files = Rc<[Rc<dyn Source>]>;

/// A byte range of one of [`Files`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FileRange {
    pub(crate) file: FileId,
    /// First byte.
    pub(crate) start: HostOffset,
    /// Length in bytes.
    pub(crate) len: u64,
}

impl FileRange {
    /// The offset after the last byte.
    pub(crate) fn end(&self) -> u64 {
        self.start.0 + self.len
    }
}

/// How to read a source efficiently. Affects speed only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Profile {
    /// The largest gap, in bytes, between two ranges of a job that are read as one, because reading the gap costs less
    /// than another call.
    pub gap: u64,
    /// The shortest read, in bytes, that is worth a separate call. Jobs are not divided into shorter reads to avoid a
    /// copy.
    pub min_read: u64,
    /// Upper bound on the concurrent reads of one job.
    pub reads_at_once: usize,
    /// Whether workers can open the source. Otherwise jobs are sent to them with their bytes.
    pub opened_by_workers: bool,
    /// Whether its bytes are produced where jobs are planned, and available only there.
    pub made_here: bool,
    /// Whether the source uses the hints of [`Source::expect`].
    pub expects: bool,
}

/// Suits a local file, read by a browser or by the operating system.
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

/// A file with random access. Reads may be slow and may fail, so callers make few, large reads.
pub trait Source {
    /// The file's size in bytes.
    fn size(&self) -> u64;

    /// How to read the source efficiently. Returns the same value at every call.
    fn profile(&self) -> Profile {
        Profile::default()
    }

    /// Where the source begins in the file that workers open, in bytes; its offsets count from there. `None` if it is
    /// not part of a single file.
    fn start(&self) -> Option<u64> {
        Some(0)
    }

    /// Returns the next stored range at or after `offset`, which must be within the file. The bytes between `offset`
    /// and the range are a hole: they read as zero. If nothing else is stored, the range is empty and at the end of the
    /// file.
    fn stored_from(&self, offset: u64) -> ByteRange {
        ByteRange { start: HostOffset(offset), len: self.size() - offset }
    }

    /// Announces that `reader` will read each of `ranges`, all within the file, once, in about this order, so that the
    /// source may prefetch them. Actual reads may differ. An empty slice cancels all earlier hints of `reader`.
    fn expect(&self, _reader: Reader, _ranges: &[ByteRange]) {}

    /// Passes the `len` bytes at `offset` to `receive`, if they are held in memory. Returns whether they are; otherwise they must be
    /// read. A range is received once.
    fn lend(&self, _offset: HostOffset, _len: usize, _receive: &mut dyn FnMut(&[u8])) -> bool {
        false
    }

    /// Fills `buf` with the bytes at `offset`. The caller has checked that the range is within the file. Calls may be
    /// concurrent. Fails with `source`.
    fn read_at<'a>(&'a self, offset: HostOffset, buf: &'a mut [u8]) -> LocalBoxFuture<'a, Result<()>>;
}

/// Identifies a user of a source that announces its reads: a conversion, or a pass over tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Reader(pub u32);

/// Announces the reads of one reader to a source. When dropped, cancels hints that were not used.
pub(crate) struct Announcement {
    source: Rc<dyn Source>,
    reader: Reader,
}

impl Announcement {
    /// Creates an announcement for a new reader. Returns `None` if `source` does not use hints.
    pub(crate) fn to(source: &Rc<dyn Source>) -> Option<Self> {
        static LAST: AtomicU32 = AtomicU32::new(0);
        let reader = || Reader(LAST.fetch_add(1, Relaxed));
        source.profile().expects.then(|| Self { source: source.clone(), reader: reader() })
    }

    /// Announces `ranges`, if there are any: see [`Source::expect`].
    pub(crate) fn announce(&self, ranges: &[ByteRange]) {
        if !ranges.is_empty() {
            self.source.expect(self.reader, ranges);
        }
    }
}

impl Drop for Announcement {
    fn drop(&mut self) {
        self.source.expect(self.reader, &[]);
    }
}

/// A byte range of a source, as a source.
pub(crate) struct Slice {
    source: Rc<dyn Source>,
    range: ByteRange,
}

impl Slice {
    /// Restricts `source` to `range`, which must be within it.
    pub(crate) fn new(source: Rc<dyn Source>, range: ByteRange) -> Self {
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

    fn expect(&self, reader: Reader, ranges: &[ByteRange]) {
        let start = self.range.start.0;
        let shifted = ranges.iter().map(|range| ByteRange { start: HostOffset(range.start.0 + start), ..*range });
        self.source.expect(reader, &shifted.collect::<Vec<_>>());
    }

    fn read_at<'a>(&'a self, offset: HostOffset, buf: &'a mut [u8]) -> LocalBoxFuture<'a, Result<()>> {
        self.source.read_at(HostOffset(self.range.start.0 + offset.0), buf)
    }
}

/// Reads `range` into a new buffer. The caller has bounded its length. Fails with `corrupt` (truncated) if the file
/// ends before the range does, naming it "the `what`" in the message; with `source`; or with `internal` if memory runs
/// out.
pub(crate) async fn read_exact(source: &dyn Source, range: ByteRange, what: &str) -> Result<Vec<u8>> {
    if range.end() > source.size() {
        return Err(Error::truncated(format!("the {what}"), range.start, source.size()));
    }
    let mut buf = zeroed(range.len as usize)?;
    source.read_at(range.start, &mut buf).await?;
    Ok(buf)
}

/// Reads the first `len` bytes of `source`, or all of it if it is shorter. Fails with `source`, or with `internal` if memory
/// runs out.
pub(crate) async fn read_start(source: &dyn Source, len: u64) -> Result<Vec<u8>> {
    let range = ByteRange { start: HostOffset(0), len: len.min(source.size()) };
    read_exact(source, range, "start of the file").await
}

/// Reads all `ranges`, several concurrently, into consecutive parts of `buf`, whose length must be the sum of theirs.
/// Fails with `source`, or with `internal` if a range is of an unknown file.
pub(crate) async fn read_ranges(files: &[Rc<dyn Source>], ranges: &[FileRange], mut buf: &mut [u8]) -> Result<()> {
    let mut reads = Vec::with_capacity(ranges.len());
    for range in ranges {
        let (part, remaining) = buf.split_at_mut(range.len as usize);
        reads.push((*range, part));
        buf = remaining;
    }
    read_parts(files, reads).await
}

/// Reads each range into its buffer, which must have its length, several concurrently. Fails with `source`, or with
/// `internal` if a range is of an unknown file.
pub(crate) async fn read_parts(files: &[Rc<dyn Source>], parts: Vec<(FileRange, &mut [u8])>) -> Result<()> {
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
        .ok_or_else(|| Error::new(ErrorKind::Internal, format!("A job reads file {}, which was not passed", id.0)))
}

/// Copies `bytes`. Fails with `internal` if memory runs out.
pub(crate) fn copied(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut buf = Vec::new();
    buf.try_reserve_exact(bytes.len()).map_err(|_| Error::out_of_memory(bytes.len()))?;
    buf.extend_from_slice(bytes);
    Ok(buf)
}

/// Returns a buffer of `len` zeros. Fails with `internal` if memory runs out.
pub(crate) fn zeroed(len: usize) -> Result<Vec<u8>> {
    let mut buf = Vec::new();
    resize(&mut buf, len).map_err(Error::no_room)?;
    Ok(buf)
}

/// A wrapper of a source. As a [`Source`], it has the size, profile, start and stored ranges of the source that it
/// wraps.
pub(crate) trait Wrapper {
    /// The wrapped source.
    fn source(&self) -> &Rc<dyn Source>;

    /// See [`Source::expect`]. By default, hints are not forwarded.
    fn expect(&self, _reader: Reader, _ranges: &[ByteRange]) {}

    /// See [`Source::read_at`].
    fn read_at<'a>(&'a self, offset: HostOffset, buf: &'a mut [u8]) -> LocalBoxFuture<'a, Result<()>>;
}

impl<W: Wrapper> Source for W {
    fn size(&self) -> u64 {
        self.source().size()
    }

    fn profile(&self) -> Profile {
        self.source().profile()
    }

    fn start(&self) -> Option<u64> {
        self.source().start()
    }

    fn stored_from(&self, offset: u64) -> ByteRange {
        self.source().stored_from(offset)
    }

    fn expect(&self, reader: Reader, ranges: &[ByteRange]) {
        Wrapper::expect(self, reader, ranges);
    }

    fn read_at<'a>(&'a self, offset: HostOffset, buf: &'a mut [u8]) -> LocalBoxFuture<'a, Result<()>> {
        Wrapper::read_at(self, offset, buf)
    }
}
