//! Finds the regular files of an archive, at any position or in order, by its headers.

use super::header::{BLOCK, Extensions, Header};
use crate::decode::is_zero;
use crate::error::{Error, ErrorKind, Result};
use crate::source::zeroed;

/// The most headers that are looked at.
const MAX_HEADERS: usize = 4096;

/// An archive with a place at which it is read.
pub trait Archive {
    /// The place, in bytes from its start.
    fn position(&self) -> u64;

    /// Fills `buf` and moves behind it. Returns fewer bytes only where the archive ends.
    async fn read(&mut self, buf: &mut [u8]) -> Result<usize>;

    /// Moves behind the next `len` bytes; false where the archive ends before, which is its place then.
    async fn pass(&mut self, len: u64) -> Result<bool>;

    /// The error where the archive ends too early.
    fn truncated(&self) -> Error;

    /// Whether the data of a file, or of something else, may end with the archive.
    fn is_salvaged(&self) -> bool {
        false
    }
}

/// A regular file, whose data comes next.
pub struct Entry {
    pub name: String,
    /// The size of its data.
    pub len: u64,
}

/// What follows in an archive.
pub enum Next {
    File(Entry),
    /// Nothing. `is_marked`: blocks of zeros say so, so that no member is missing.
    End {
        is_marked: bool,
    },
}

/// The headers of an archive.
#[derive(Default)]
pub struct Headers {
    read: usize,
}

impl Headers {
    /// The next regular file of `archive`, which is at a header.
    pub async fn next_file(&mut self, archive: &mut impl Archive) -> Result<Next> {
        let mut extensions = Extensions::default();
        loop {
            let at = archive.position();
            let mut block = [0; BLOCK as usize];
            let found = archive.read(&mut block).await?;
            // An archive that ends between two members, or in its end mark, lacks nothing that could be read.
            if found < block.len() && is_zero(&block[..found]) && !extensions.is_given {
                return Ok(Next::End { is_marked: false });
            }
            if found < block.len() {
                return Err(archive.truncated());
            }
            let Some(header) = Header::parse(&block, at, extensions.size)? else {
                return Ok(Next::End { is_marked: true });
            };
            if self.read == MAX_HEADERS {
                let message = format!("The tar archive has more than {MAX_HEADERS} headers");
                return Err(Error::new(ErrorKind::Limit, message));
            }
            self.read += 1;
            let len = header.data.len;
            if header.describes()? {
                let mut data = zeroed(len as usize)?;
                read_exact(archive, &mut data).await?;
                extensions.describe(&header, &data)?;
            } else if let Some(name) = extensions.file(&header)? {
                return Ok(Next::File(Entry { name, len }));
            } else if !archive.pass(len).await? && !archive.is_salvaged() {
                return Err(archive.truncated());
            }
            archive.pass(padding(len)).await?;
        }
    }
}

/// Fills `buf`, or fails where the archive ends before.
pub async fn read_exact(archive: &mut impl Archive, buf: &mut [u8]) -> Result<()> {
    if archive.read(buf).await? < buf.len() { Err(archive.truncated()) } else { Ok(()) }
}

/// How many bytes fill the last block of `len`. The last member may lack them.
pub fn padding(len: u64) -> u64 {
    (BLOCK - len % BLOCK) % BLOCK
}
