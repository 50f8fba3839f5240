//! The only file of an archive that is read in order.

use super::header::{BLOCK, Extensions, Header, MAX_HEADERS};
use super::{refused, too_many_headers};
use crate::error::{Error, Result};
use crate::source::zeroed;
use crate::stream::ByteStream;
use crate::units::HostOffset;
use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;

/// Bytes that are read at once where they are passed over.
const PASSED: usize = 64 << 10;

/// The bytes of the first regular file. That there is no other one is known when the archive ends.
pub struct OnlyFile {
    stream: Box<dyn ByteStream>,
    /// Bytes of the archive that were read.
    position: u64,
    headers: usize,
    /// The name of the file, once its header was read.
    name: Option<String>,
    state: State,
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
        Self { stream, position: 0, headers: 0, name: None, state: State::Start }
    }

    async fn fill(&mut self, buf: &mut [u8]) -> Result<usize> {
        let mut done = 0;
        while done < buf.len() {
            match self.state {
                State::Start => {
                    let file = self.next_file().await?;
                    let (name, left) = file.ok_or_else(|| refused("The tar archive holds no file".to_owned()))?;
                    self.name = Some(name);
                    self.state = State::Data { left, padding: padding(left) };
                }
                State::Data { left: 0, padding } => {
                    // The last member may lack it.
                    self.pass(padding, false).await?;
                    if self.next_file().await?.is_some() {
                        return Err(refused(
                            "The tar archive holds more than one file, and is read in order only; extract the one that is \
                             the disk"
                                .to_owned(),
                        ));
                    }
                    self.state = State::End;
                }
                State::Data { left, padding } => {
                    let len = left.min((buf.len() - done) as u64) as usize;
                    self.read_exact(&mut buf[done..done + len]).await?;
                    done += len;
                    self.state = State::Data { left: left - len as u64, padding };
                }
                State::End => break,
            }
        }
        Ok(done)
    }

    /// The name of the next regular file and its size in bytes; `None` at the end of the archive, behind which all is read.
    async fn next_file(&mut self) -> Result<Option<(String, u64)>> {
        let mut next = Extensions::default();
        loop {
            let at = self.position;
            let mut block = [0; BLOCK as usize];
            match self.read(&mut block).await? {
                0 if !next.is_given => return Ok(None),
                len if len < block.len() => return Err(self.truncated()),
                _ => {}
            }
            let Some(header) = Header::parse(&block, at, next.size)? else {
                self.pass(u64::MAX, false).await?;
                return Ok(None);
            };
            if self.headers == MAX_HEADERS {
                return Err(too_many_headers());
            }
            self.headers += 1;
            let len = header.data.len;
            if header.describes()? {
                let mut data = zeroed(len as usize)?;
                self.read_exact(&mut data).await?;
                next.describe(&header, &data)?;
            } else if let Some(name) = next.file(&header)? {
                return Ok(Some((name, len)));
            } else {
                self.pass(len, true).await?;
            }
            self.pass(padding(len), false).await?;
        }
    }

    /// Passes over `len` bytes; it `must` have all of them, or it ends where the archive does.
    async fn pass(&mut self, mut len: u64, must: bool) -> Result<()> {
        let mut buf = zeroed(len.min(PASSED as u64) as usize)?;
        while len > 0 {
            let part = len.min(PASSED as u64) as usize;
            let found = self.read(&mut buf[..part]).await?;
            if found < part {
                return if must { Err(self.truncated()) } else { Ok(()) };
            }
            len -= part as u64;
        }
        Ok(())
    }

    async fn read_exact(&mut self, buf: &mut [u8]) -> Result<()> {
        let found = self.read(buf).await?;
        if found < buf.len() { Err(self.truncated()) } else { Ok(()) }
    }

    async fn read(&mut self, buf: &mut [u8]) -> Result<usize> {
        let found = if buf.is_empty() { 0 } else { self.stream.read(buf).await? };
        self.position += found as u64;
        Ok(found)
    }

    fn truncated(&self) -> Error {
        Error::truncated("the rest of the tar archive", HostOffset(self.position), self.position)
    }
}

/// How many bytes fill the last block of `len`.
fn padding(len: u64) -> u64 {
    (BLOCK - len % BLOCK) % BLOCK
}

impl ByteStream for OnlyFile {
    fn read<'a>(&'a mut self, buf: &'a mut [u8]) -> LocalBoxFuture<'a, Result<usize>> {
        self.fill(buf).boxed_local()
    }

    fn file_position(&self) -> u64 {
        self.stream.file_position()
    }

    fn member(&self) -> Option<&str> {
        self.name.as_deref()
    }
}
