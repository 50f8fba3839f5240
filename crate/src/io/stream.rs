//! Streams: sequential access to bytes, each read once.

use crate::error::{Error, Result};
use crate::io::source::{Source, zeroed};
use crate::offsets::{Capacity, HostOffset};
use decant_codec::resize;
use futures_util::FutureExt;
use futures_util::future::{LocalBoxFuture, ready};
use futures_util::stream::{FuturesOrdered, StreamExt};
use std::rc::Rc;

/// A sequence of bytes, each read once. Its length may be unknown until the last byte has been read.
pub trait ByteStream {
    /// Fills `buf` with the next bytes and returns their number. It is less than the length of `buf` only at the end of
    /// the stream, and 0 from then on. Must not be called after a failure. Dropping the future may lose bytes and so
    /// make the stream unusable. Fails with `source`, or with an error of the content.
    fn read<'a>(&'a mut self, buf: &'a mut [u8]) -> LocalBoxFuture<'a, Result<usize>>;

    /// Bytes read so far from the file; for a decoded stream, from the outermost one.
    fn file_position(&self) -> u64;

    /// The largest window, or dictionary, that its decoder has needed so far, in bytes; 0 if all are small by design.
    fn window(&self) -> u64 {
        0
    }

    /// The name and the size of the container member that the stream decodes, if it has a name and is known yet.
    fn member(&self) -> Option<(&str, u64)> {
        None
    }

    /// Moves to the next file of an archive, whose bytes are read then. Must be called before the first read. Returns false after the
    /// last file, at the end of the archive. Fails as [`Self::read`] does.
    fn next_file(&mut self) -> LocalBoxFuture<'_, Result<bool>> {
        ready(Ok(false)).boxed_local()
    }

    /// Skips upcoming zeros that are not stored: a multiple of `unit` bytes, as many as are known, but never the last
    /// byte of the stream. Returns the number of bytes skipped.
    fn pass_hole(&mut self, _unit: u64) -> u64 {
        0
    }

    /// Facts that only the end of the stream shows. Valid once the end has been read.
    fn ended(&self) -> Ended {
        Ended::default()
    }
}

/// Facts that only the end of a stream shows.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ended {
    /// Whether the innermost container has no end mark: see [`crate::container::Contents::is_ended`].
    pub(crate) is_unmarked: bool,
    /// Bytes after the compressed data that belong to no member.
    pub(crate) trailer: u64,
    /// The capacity that the configuration of a machine in the archive states for the disk.
    pub(crate) capacity: Option<Capacity>,
    /// Whether the archive has a manifest.
    pub(crate) has_manifest: bool,
}

/// Reads `stream`, and calls `inspect` with the bytes of each read and whether they are the last ones. A failure of `inspect` is that of
/// the read.
pub(crate) fn inspected(
    stream: Box<dyn ByteStream>,
    inspect: impl FnMut(&[u8], bool) -> Result<()> + 'static,
) -> Box<dyn ByteStream> {
    Box::new(Inspected { stream, inspect })
}

struct Inspected<F> {
    stream: Box<dyn ByteStream>,
    inspect: F,
}

impl<F: FnMut(&[u8], bool) -> Result<()>> Inspected<F> {
    async fn fill(&mut self, buf: &mut [u8]) -> Result<usize> {
        let len = self.stream.read(buf).await?;
        (self.inspect)(&buf[..len], len < buf.len())?;
        Ok(len)
    }
}

impl<F: FnMut(&[u8], bool) -> Result<()>> ByteStream for Inspected<F> {
    fn read<'a>(&'a mut self, buf: &'a mut [u8]) -> LocalBoxFuture<'a, Result<usize>> {
        self.fill(buf).boxed_local()
    }

    fn file_position(&self) -> u64 {
        self.stream.file_position()
    }

    fn ended(&self) -> Ended {
        self.stream.ended()
    }
}

/// Length of one read of a file, in bytes.
const READ: u64 = 512 << 10;
/// Upper bound on the reads in flight or not consumed yet.
const READS_AHEAD: usize = 4;

/// A file as a stream, with read-ahead.
pub struct FileStream {
    source: Rc<dyn Source>,
    /// Reads were issued up to this offset.
    requested: u64,
    reads: FuturesOrdered<LocalBoxFuture<'static, Result<Vec<u8>>>>,
    /// The oldest finished read, and how many of its bytes were consumed.
    current: Vec<u8>,
    taken: usize,
    /// The buffer of an earlier read.
    spare: Vec<u8>,
    position: u64,
}

impl FileStream {
    /// Streams `source` from its start. Nothing is read yet.
    pub fn new(source: Rc<dyn Source>) -> Self {
        Self {
            source,
            requested: 0,
            reads: FuturesOrdered::new(),
            current: Vec::new(),
            taken: 0,
            spare: Vec::new(),
            position: 0,
        }
    }

    fn read_ahead(&mut self) {
        while self.reads.len() < READS_AHEAD && self.requested < self.source.size() {
            let (source, start) = (self.source.clone(), self.requested);
            let len = READ.min(source.size() - start);
            let mut bytes = std::mem::take(&mut self.spare);
            self.requested += len;
            self.reads.push_back(
                async move {
                    resize(&mut bytes, len as usize).map_err(Error::no_room)?;
                    source.read_at(HostOffset(start), &mut bytes).await?;
                    Ok(bytes)
                }
                .boxed_local(),
            );
        }
    }

    async fn fill(&mut self, buf: &mut [u8]) -> Result<usize> {
        let mut filled = 0;
        while filled < buf.len() {
            if self.taken == self.current.len() {
                (self.spare, self.taken) = (std::mem::take(&mut self.current), 0);
                self.read_ahead();
                let Some(bytes) = self.reads.next().await else { break };
                self.current = bytes?;
            }
            let len = (buf.len() - filled).min(self.current.len() - self.taken);
            buf[filled..filled + len].copy_from_slice(&self.current[self.taken..self.taken + len]);
            self.taken += len;
            filled += len;
        }
        self.position += filled as u64;
        Ok(filled)
    }
}

impl ByteStream for FileStream {
    fn read<'a>(&'a mut self, buf: &'a mut [u8]) -> LocalBoxFuture<'a, Result<usize>> {
        self.fill(buf).boxed_local()
    }

    fn file_position(&self) -> u64 {
        self.position
    }
}

/// A stream whose first bytes were read ahead of its reader.
pub(crate) struct Peeked {
    head: Vec<u8>,
    taken: usize,
    stream: Box<dyn ByteStream>,
    /// Whether the head is the whole stream.
    is_whole: bool,
    member: Option<(String, u64)>,
}

impl Peeked {
    /// Reads the first `len` bytes of `stream`, or all of it if it is shorter. Fails as reading `stream` does, or with
    /// `internal` if memory runs out.
    pub(crate) async fn new(mut stream: Box<dyn ByteStream>, len: usize) -> Result<Self> {
        let mut head = zeroed(len)?;
        let found = stream.read(&mut head).await?;
        head.truncate(found);
        let member = stream.member().map(|(name, size)| (name.to_owned(), size));
        Ok(Self { head, taken: 0, stream, is_whole: found < len, member })
    }

    pub(crate) fn head(&self) -> &[u8] {
        &self.head
    }

    async fn fill(&mut self, buf: &mut [u8]) -> Result<usize> {
        let len = buf.len().min(self.head.len() - self.taken);
        buf[..len].copy_from_slice(&self.head[self.taken..self.taken + len]);
        self.taken += len;
        if self.is_whole || len == buf.len() {
            return Ok(len);
        }
        Ok(len + self.stream.read(&mut buf[len..]).await?)
    }
}

impl ByteStream for Peeked {
    fn read<'a>(&'a mut self, buf: &'a mut [u8]) -> LocalBoxFuture<'a, Result<usize>> {
        self.fill(buf).boxed_local()
    }

    fn window(&self) -> u64 {
        self.stream.window()
    }

    fn file_position(&self) -> u64 {
        self.stream.file_position()
    }

    fn member(&self) -> Option<(&str, u64)> {
        self.member.as_ref().map(|(name, size)| (&**name, *size))
    }

    fn pass_hole(&mut self, unit: u64) -> u64 {
        if self.taken < self.head.len() { 0 } else { self.stream.pass_hole(unit) }
    }

    fn ended(&self) -> Ended {
        self.stream.ended()
    }
}
