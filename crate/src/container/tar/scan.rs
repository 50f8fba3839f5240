//! Finds the regular files and links of an archive by its headers.

use super::archive::{Archive, BLOCK, read_exact};
use super::member_header::{ExtendedHeaders, Link, MemberHeader};
use super::sparse_map::{self, MapDraft, MapPlace, RangeBudget, SparseMap};
use crate::compress::is_zero;
use crate::error::{Error, ErrorKind, Result};
use crate::io::source::zeroed;

/// Maximum number of headers read.
const MAX_HEADERS: usize = 4096;

/// A regular file whose data is next.
pub(crate) struct RegularFile {
    pub(super) name: String,
    /// Length of its data in the archive, in bytes.
    pub(super) len: u64,
    /// Maps the data to positions in the file.
    pub(super) map: SparseMap,
}

pub(crate) enum NextItem {
    File(RegularFile),
    Link(Link),
    /// The end. With `is_marked`, an end mark was found, so no member is missing.
    End {
        is_marked: bool,
    },
}

/// A scan of an archive's headers.
#[derive(Default)]
pub(crate) struct HeaderScan {
    read: usize,
    budget: RangeBudget,
}

impl HeaderScan {
    /// Finds the next regular file or link of `archive`, which must be positioned at a header. Skips other members. Fails with
    /// `corrupt`, `unsupported`, `limit` or `source`.
    pub(crate) async fn next_item(&mut self, archive: &mut dyn Archive) -> Result<NextItem> {
        let mut extensions = ExtendedHeaders::default();
        loop {
            let at = archive.position();
            let mut block = [0; BLOCK as usize];
            let found = archive.read(&mut block).await?;
            // An archive that ends between members or in its end mark lacks no readable data.
            if found < block.len() && is_zero(&block[..found]) && !extensions.is_given {
                return Ok(NextItem::End { is_marked: false });
            }
            if found < block.len() {
                return Err(archive.truncated());
            }
            let Some(header) = MemberHeader::parse(&block, at, extensions.size)? else {
                return Ok(NextItem::End { is_marked: true });
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
            } else if let Some(link) = extensions.link(&header) {
                return Ok(NextItem::Link(link));
            } else if let Some((name, place)) = extensions.file(&header)? {
                if !is_apple_double(&name, &place, len, archive).await? {
                    return self.entry(name, place, &header, &block, archive).await.map(NextItem::File);
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

    /// Reads the map of the file `name` from `place`. `header` was parsed from `block`.
    async fn entry(
        &mut self,
        name: String,
        place: MapPlace,
        header: &MemberHeader,
        block: &[u8],
        archive: &mut dyn Archive,
    ) -> Result<RegularFile> {
        let (at, len) = (header.data.start, header.data.len);
        let map = match place {
            MapPlace::Nowhere => SparseMap::dense(len),
            MapPlace::Header => sparse_map::of_header(block, at, len, archive, &mut self.budget).await?,
            MapPlace::Records(size, numbers) => {
                let mut draft = MapDraft::new(size, at, &mut self.budget)?;
                for two in numbers.chunks_exact(2) {
                    draft.add(two[0], two[1])?;
                }
                draft.finish(len)?
            }
            MapPlace::Data(size) => {
                let (map, len) = sparse_map::of_text(size, at, len, archive, &mut self.budget).await?;
                return Ok(RegularFile { name, len, map });
            }
        };
        Ok(RegularFile { name, len, map })
    }
}

/// Whether the next file has the attributes of another one, as macOS packs them: AppleDouble, named `._NAME`.
async fn is_apple_double(name: &str, place: &MapPlace, len: u64, archive: &mut dyn Archive) -> Result<bool> {
    const MAGIC: [u8; 4] = [0, 5, 0x16, 7];
    let base = name.rsplit('/').next().unwrap_or(name);
    if !base.starts_with("._") || !matches!(place, MapPlace::Nowhere) || len < MAGIC.len() as u64 {
        return Ok(false);
    }
    let mut first = [0; MAGIC.len()];
    Ok(archive.peek(&mut first).await? == MAGIC.len() && first == MAGIC)
}

/// Padding after `len` bytes of data. It may be missing after the last member.
pub(crate) fn padding(len: u64) -> u64 {
    (BLOCK - len % BLOCK) % BLOCK
}
