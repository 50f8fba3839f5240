//! Finds the regular files of an archive, at any position or in order, by its headers.

use super::archive::{Archive, read_exact};
use super::block::BLOCK;
use super::header::{Extensions, Header};
use super::sparse::{self, Budget, Draft, Map, Place};
use crate::compress::is_zero;
use crate::error::{Error, ErrorKind, Result};
use crate::io::source::zeroed;

/// The most headers that are looked at.
const MAX_HEADERS: usize = 4096;

/// A regular file, whose data comes next.
pub struct Entry {
    pub name: String,
    /// How many bytes of the archive are its data.
    pub len: u64,
    /// Where in the file they belong.
    pub map: Map,
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
    budget: Budget,
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
            } else if let Some((name, place)) = extensions.file(&header, &block)? {
                if !is_apple_double(&name, &place, len, archive).await? {
                    return self.entry(name, place, &header, &block, archive).await.map(Next::File);
                }
                if !archive.pass(len).await? && !archive.is_salvaged() {
                    return Err(archive.truncated());
                }
            } else if !archive.pass(len).await? && !archive.is_salvaged() {
                return Err(archive.truncated());
            }
            archive.pass(padding(len)).await?;
        }
    }

    /// The file `name` that `header` begins, whose bytes are `block`. Its map lies in `place`, and is read.
    async fn entry(
        &mut self,
        name: String,
        place: Place,
        header: &Header,
        block: &[u8],
        archive: &mut impl Archive,
    ) -> Result<Entry> {
        let (at, len) = (header.data.start, header.data.len);
        let map = match place {
            Place::Nowhere => Map::dense(len),
            Place::Header => sparse::of_header(block, at, len, archive, &mut self.budget).await?,
            Place::Records(size, numbers) => {
                let mut draft = Draft::new(size, at, &mut self.budget)?;
                for two in numbers.chunks_exact(2) {
                    draft.add(two[0], two[1])?;
                }
                draft.finish(len)?
            }
            Place::Data(size) => {
                let (map, len) = sparse::of_text(size, at, len, archive, &mut self.budget).await?;
                return Ok(Entry { name, len, map });
            }
        };
        Ok(Entry { name, len, map })
    }
}

/// Whether the file that comes next has attributes of another one, as macOS packs them: AppleDouble, called `._NAME`.
async fn is_apple_double(name: &str, place: &Place, len: u64, archive: &mut impl Archive) -> Result<bool> {
    const MAGIC: [u8; 4] = [0, 5, 0x16, 7];
    let base = name.rsplit('/').next().unwrap_or(name);
    if !base.starts_with("._") || !matches!(place, Place::Nowhere) || len < MAGIC.len() as u64 {
        return Ok(false);
    }
    let mut first = [0; MAGIC.len()];
    Ok(archive.peek(&mut first).await? == MAGIC.len() && first == MAGIC)
}

/// How many bytes fill the last block of `len`. The last member may lack them.
pub fn padding(len: u64) -> u64 {
    (BLOCK - len % BLOCK) % BLOCK
}
