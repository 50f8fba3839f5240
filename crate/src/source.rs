//! Where the bytes of an image come from.

use crate::error::{Error, ErrorKind, Result};
use crate::units::{ByteRange, HostOffset};
use futures_util::future::LocalBoxFuture;
use futures_util::stream::{StreamExt, TryStreamExt, iter};
use serde::{Deserialize, Serialize};
use std::rc::Rc;

/// Reads of one job that are under way at once: enough to hide the latency of a browser's
/// `Blob.slice`, few enough that the first ones are not starved.
const READS_IN_FLIGHT: usize = 4;

/// Which of an image's files: 0 is the image, the others are its companions, in the order in which
/// the caller handed them over.
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
    /// The first byte behind the range.
    pub fn end(&self) -> u64 {
        self.start.0 + self.len
    }
}

/// A file that can be read at any position. A read is neither cheap nor sure to succeed: callers
/// ask for few large ranges.
pub trait Source {
    /// The size of the file in bytes.
    fn size(&self) -> u64;

    /// Fills `buf` from `offset` (bytes). The range lies inside the file. May be called
    /// concurrently. Fails with `source`.
    fn read_at<'a>(&'a self, offset: HostOffset, buf: &'a mut [u8]) -> LocalBoxFuture<'a, Result<()>>;
}

/// Reads `range` as a new buffer. A range past the end of the file is `corrupt` (truncated); the
/// caller has bounded its length.
pub async fn read_exact(source: &dyn Source, range: ByteRange, what: &str) -> Result<Vec<u8>> {
    if range.end() > source.size() {
        return Err(Error::truncated(format!("the {what}"), range.start, source.size()));
    }
    let mut buf = zeroed(range.len as usize)?;
    source.read_at(range.start, &mut buf).await?;
    Ok(buf)
}

/// Reads all `ranges`, a few at once, into consecutive parts of `buf`, which is exactly as long as
/// they are together.
pub async fn read_ranges(files: &[Rc<dyn Source>], ranges: &[FileRange], mut buf: &mut [u8]) -> Result<()> {
    let mut reads = Vec::with_capacity(ranges.len());
    for range in ranges {
        let (part, rest) = buf.split_at_mut(range.len as usize);
        reads.push((*range, part));
        buf = rest;
    }
    read_parts(files, reads).await
}

/// Reads each range into its buffer, which is as long, a few at once.
pub async fn read_parts(files: &[Rc<dyn Source>], parts: Vec<(FileRange, &mut [u8])>) -> Result<()> {
    let mut reads = Vec::with_capacity(parts.len());
    for (range, part) in parts {
        let source = files.get(usize::from(range.file.0)).ok_or_else(|| {
            Error::new(ErrorKind::Internal, format!("A job reads file {}, which was not handed over", range.file.0))
        })?;
        reads.push((source, range.start, part));
    }
    iter(reads)
        .map(|(source, start, part)| source.read_at(start, part))
        .buffer_unordered(READS_IN_FLIGHT)
        .try_collect()
        .await
}

/// A buffer of `len` zeros, or `internal` where there is no memory for it.
pub(crate) fn zeroed(len: usize) -> Result<Vec<u8>> {
    let mut buf = Vec::new();
    buf.try_reserve_exact(len).map_err(|_| Error::out_of_memory(len))?;
    buf.resize(len, 0);
    Ok(buf)
}
