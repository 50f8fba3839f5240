//! The only file of an archive that is read in order.

use super::refused;
use super::scan::{Archive, Headers, Next, padding, read_exact};
use crate::error::{Error, Result};
use crate::source::zeroed;
use crate::stream::{ByteStream, Ended};
use crate::units::HostOffset;
use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;

/// Bytes that are read at once where they are passed over.
const PASSED: usize = 64 << 10;

/// The bytes of the first regular file. That there is no other one is known when the archive ends.
pub struct OnlyFile {
    archive: InOrder,
    headers: Headers,
    /// The name of the file, once its header was read.
    name: Option<String>,
    state: State,
    /// Whether the archive has an end mark.
    is_marked: bool,
}

#[derive(Clone, Copy)]
enum State {
    /// The file comes next.
    Start,
    /// In the file, with so many bytes left of it and of what fills its last block.
    Data { left: u64, padding: u64 },
    /// All is read.
    End,
}

impl OnlyFile {
    pub fn new(stream: Box<dyn ByteStream>) -> Self {
        let archive = InOrder { stream, position: 0 };
        Self { archive, headers: Headers::default(), name: None, state: State::Start, is_marked: false }
    }

    async fn fill(&mut self, buf: &mut [u8]) -> Result<usize> {
        let mut done = 0;
        while done < buf.len() {
            match self.state {
                State::Start => match self.headers.next_file(&mut self.archive).await? {
                    Next::File(file) => {
                        self.name = Some(file.name);
                        self.state = State::Data { left: file.len, padding: padding(file.len) };
                    }
                    Next::End { .. } => return Err(refused("The tar archive holds no file".to_owned())),
                },
                State::Data { left: 0, padding } => {
                    self.archive.pass(padding).await?;
                    self.end().await?;
                    self.state = State::End;
                }
                State::Data { left, padding } => {
                    let len = left.min((buf.len() - done) as u64) as usize;
                    read_exact(&mut self.archive, &mut buf[done..done + len]).await?;
                    done += len;
                    self.state = State::Data { left: left - len as u64, padding };
                }
                State::End => break,
            }
        }
        Ok(done)
    }

    /// Reads the archive to its end, behind the file.
    async fn end(&mut self) -> Result<()> {
        let Next::End { is_marked } = self.headers.next_file(&mut self.archive).await? else {
            let message = "The tar archive holds more than one file, and is read in order only; extract the one that is \
                           the disk";
            return Err(refused(message.to_owned()));
        };
        self.is_marked = is_marked;
        self.archive.pass(u64::MAX).await?;
        Ok(())
    }
}

impl ByteStream for OnlyFile {
    fn read<'a>(&'a mut self, buf: &'a mut [u8]) -> LocalBoxFuture<'a, Result<usize>> {
        self.fill(buf).boxed_local()
    }

    fn file_position(&self) -> u64 {
        self.archive.stream.file_position()
    }

    fn member(&self) -> Option<&str> {
        self.name.as_deref()
    }

    fn ended(&self) -> Ended {
        Ended { is_unmarked: !self.is_marked }
    }
}

/// An archive as a stream.
struct InOrder {
    stream: Box<dyn ByteStream>,
    position: u64,
}

impl Archive for InOrder {
    fn position(&self) -> u64 {
        self.position
    }

    async fn read(&mut self, buf: &mut [u8]) -> Result<usize> {
        let found = if buf.is_empty() { 0 } else { self.stream.read(buf).await? };
        self.position += found as u64;
        Ok(found)
    }

    async fn pass(&mut self, mut len: u64) -> Result<bool> {
        let mut buf = zeroed(len.min(PASSED as u64) as usize)?;
        while len > 0 {
            let part = len.min(PASSED as u64) as usize;
            if self.read(&mut buf[..part]).await? < part {
                return Ok(false);
            }
            len -= part as u64;
        }
        Ok(true)
    }

    fn truncated(&self) -> Error {
        Error::truncated("the rest of the tar archive", HostOffset(self.position), self.position)
    }
}
