//! Bytes that are read once, from the first to the last.

use crate::error::Result;
use crate::io::source::{Source, zeroed};
use crate::offsets::HostOffset;
use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use futures_util::stream::{FuturesOrdered, StreamExt};
use std::rc::Rc;

/// Bytes that are read once, in order. How many they are may not be known before the last one was read.
pub trait ByteStream {
    /// Fills `buf` with the next bytes and returns how many they are: fewer than `buf` has room for only where the stream
    /// ends, and 0 from then on. After a failure it is not called again. A future that is dropped may lose bytes: then the
    /// stream is of no use any more. Fails with `source`, or with what is wrong with the bytes.
    fn read<'a>(&'a mut self, buf: &'a mut [u8]) -> LocalBoxFuture<'a, Result<usize>>;

    /// How many bytes of the file were read so far: of the outermost one, where a stream is decoded from another.
    fn file_position(&self) -> u64;

    /// The name of the member of a container that the bytes are, where it has one and the first of them were read.
    fn member(&self) -> Option<&str> {
        None
    }

    /// Moves behind zeros that come next and are stored nowhere: a multiple of `unit`, as far as they are known, but not the
    /// last byte of the stream. Returns how many.
    fn pass_hole(&mut self, _unit: u64) -> u64 {
        0
    }

    /// What its end has shown, once that was read.
    fn ended(&self) -> Ended {
        Ended::default()
    }
}

/// What the end of a stream has shown.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ended {
    /// Whether the innermost container does not say that all of it was there: see [`crate::container::Contents::is_ended`].
    pub is_unmarked: bool,
    /// How many bytes follow the compressed data and belong to nothing.
    pub trailer: u64,
}

/// Bytes of one read of a file.
const READ: u64 = 512 << 10;
/// Reads of a file that are under way, or wait to be taken.
const READS_AHEAD: usize = 4;

/// A file as a stream, read ahead.
pub struct FileStream {
    source: Rc<dyn Source>,
    /// The file up to here was asked for.
    asked: u64,
    reads: FuturesOrdered<LocalBoxFuture<'static, Result<Vec<u8>>>>,
    /// The oldest read that is done, and how much of it was taken.
    current: Vec<u8>,
    taken: usize,
    position: u64,
}

impl FileStream {
    /// The bytes of `source` from its start. Nothing is read yet.
    pub fn new(source: Rc<dyn Source>) -> Self {
        Self { source, asked: 0, reads: FuturesOrdered::new(), current: Vec::new(), taken: 0, position: 0 }
    }

    fn ask(&mut self) {
        while self.reads.len() < READS_AHEAD && self.asked < self.source.size() {
            let (source, start) = (self.source.clone(), self.asked);
            let len = READ.min(source.size() - start);
            self.asked += len;
            self.reads.push_back(
                async move {
                    let mut bytes = zeroed(len as usize)?;
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
                self.ask();
                let Some(bytes) = self.reads.next().await else { break };
                (self.current, self.taken) = (bytes?, 0);
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

/// A stream whose first bytes are known already.
pub struct Peeked {
    head: Vec<u8>,
    taken: usize,
    stream: Box<dyn ByteStream>,
    /// Whether the stream ends with its head.
    is_whole: bool,
    member: Option<String>,
}

impl Peeked {
    /// Reads the first `len` bytes of `stream`, or all there are.
    pub async fn new(mut stream: Box<dyn ByteStream>, len: usize) -> Result<Self> {
        let mut head = zeroed(len)?;
        let found = stream.read(&mut head).await?;
        head.truncate(found);
        let member = stream.member().map(str::to_owned);
        Ok(Self { head, taken: 0, stream, is_whole: found < len, member })
    }

    /// The first bytes.
    pub fn head(&self) -> &[u8] {
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

    fn file_position(&self) -> u64 {
        self.stream.file_position()
    }

    fn member(&self) -> Option<&str> {
        self.member.as_deref()
    }

    fn pass_hole(&mut self, unit: u64) -> u64 {
        if self.taken < self.head.len() { 0 } else { self.stream.pass_hole(unit) }
    }

    fn ended(&self) -> Ended {
        self.stream.ended()
    }
}
