//! gzip (RFC 1952): decodes consecutive members as one stream. Finds the blocks of BGZF (SAM/BAM specification, section 4.1), or what seem
//! to be groups of members.

use super::blocks::BlocksOf;
use super::decoder_buffers::CompressedInput;
use super::inflation::{Checksum, Inflation};
use super::{Compression, Container, Content, LARGEST_WHOLE};
use crate::error::{Error, Result};
use crate::io::stream::{ByteStream, Ended};
use crate::offsets::{HostOffset, le16};
use crate::structure::structure;
use decant_module::{Block, BlockFile, BlockSearch, JoinedBlocks, SMALL_BLOCK, Search, SearchedFile};
use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;

pub(super) const CONTAINER: Container = Container {
    name: "gzip",
    aliases: &[],
    extensions: &[".gz"],
    label: "a gzip-compressed file",
    probe: |sample| sample.head.starts_with(&[MAGIC[0], MAGIC[1], DEFLATE]),
    content: Content::Compressed(Compression {
        module: None,
        decode: |stream| Ok(Box::new(Gzip::new(stream)?)),
        divide: None,
        blocks: BlocksOf { search, largest_whole: LARGEST_WHOLE, has_size_at_end: true },
    }),
};

/// Header flags (RFC 1952, section 2.3.1).
const HEADER_CRC: u8 = 1 << 1;
const EXTRA: u8 = 1 << 2;
const NAME: u8 = 1 << 3;
const COMMENT: u8 = 1 << 4;

/// Maximum length of a name or comment, in bytes.
const LONGEST_TEXT: usize = 64 << 10;
/// Maximum number of bytes after the members that are accepted as metadata, as OpenWrt appends it.
const LONGEST_TRAILER: usize = 64 << 10;

/// The code of errors about damage.
const DAMAGED: &str = "gzip-damaged";

struct Gzip {
    /// The data of the member.
    data: Inflation,
    state: GzipState,
    /// Bytes after the last member that belong to no member.
    trailer: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum GzipState {
    Start,
    Data,
    Trailer,
    AfterMember,
    End,
}

impl Gzip {
    fn new(stream: Box<dyn ByteStream>) -> Result<Self> {
        Ok(Self { data: Inflation::new(stream, DAMAGED)?, state: GzipState::Start, trailer: 0 })
    }

    async fn fill(&mut self, buf: &mut [u8]) -> Result<usize> {
        let mut done = 0;
        while done < buf.len() {
            if self.data.window.is_empty() {
                match self.state {
                    GzipState::Start => self.begin_member().await?,
                    GzipState::Data => {
                        if self.data.step().await? {
                            self.state = GzipState::Trailer;
                        }
                    }
                    GzipState::Trailer => self.check().await?,
                    GzipState::AfterMember => self.find_member().await?,
                    GzipState::End => break,
                }
                continue;
            }
            done += self.data.window.take(&mut buf[done..]);
        }
        Ok(done)
    }

    /// Reads a member's header (RFC 1952, section 2.3).
    async fn begin_member(&mut self) -> Result<()> {
        let input = &mut self.data.input;
        let start = input.position();
        let mut checksum = Checksum::default();
        let header = GzipHeader::parse(checksum.add(input.take(GzipHeader::LEN).await?));
        if header.id != MAGIC {
            return Err(damaged("a member of gzip does not begin with its signature", start));
        }
        if header.cm != DEFLATE {
            return Err(Error::unsupported(format!("compression method {} of gzip", header.cm)));
        }
        let flags = header.flg;
        if flags & RESERVED != 0 {
            return Err(damaged("a header of gzip has reserved flags", start));
        }
        if flags & EXTRA != 0 {
            let len = le16(checksum.add(input.take(2).await?), 0);
            checksum.add(input.take(len.into()).await?);
        }
        for flag in [NAME, COMMENT] {
            if flags & flag != 0 {
                take_text(input, &mut checksum).await?;
            }
        }
        if flags & HEADER_CRC != 0 && le16(input.take(2).await?, 0) != checksum.crc as u16 {
            return Err(damaged("a header of gzip does not have the checksum that it states", start));
        }
        self.data.restart();
        self.state = GzipState::Data;
        Ok(())
    }

    /// Checks the member's data against the CRC-32 and size after it.
    async fn check(&mut self) -> Result<()> {
        let start = self.data.input.position();
        let trailer = GzipTrailer::parse(self.data.input.take(GzipTrailer::LEN).await?);
        if trailer.crc32 != self.data.checksum.crc {
            return Err(damaged("the data of a gzip member does not have the checksum that it states", start));
        }
        if trailer.isize != self.data.checksum.len as u32 {
            return Err(damaged("the data of a gzip member does not have the size that it states", start));
        }
        self.state = GzipState::AfterMember;
        Ok(())
    }

    /// Identifies what follows a member: another member, zeros, a trailer, or the end.
    async fn find_member(&mut self) -> Result<()> {
        let start = self.data.input.position();
        if self.data.input.next_byte().await? == Some(MAGIC[0]) {
            return self.begin_member().await;
        }
        if self.data.input.pass_zeros().await? {
            let rest = self.data.input.rest(LONGEST_TRAILER).await?;
            if may_be_member(rest) || rest.len() > LONGEST_TRAILER {
                let message = "the bytes after the compressed data are not a trailer";
                return Err(damaged(message, start));
            }
            self.trailer = rest.len() as u64;
        }
        self.state = GzipState::End;
        Ok(())
    }
}

/// Whether `rest`, which follows verified members, may be another, possibly damaged member. Ignoring it would lose a
/// part of the disk.
fn may_be_member(rest: &[u8]) -> bool {
    let signature = [MAGIC[0], MAGIC[1], DEFLATE];
    let alike = rest.iter().zip(&signature).filter(|(found, expected)| found == expected).count();
    alike >= 2 || rest.windows(signature.len()).any(|part| part == signature)
}

impl ByteStream for Gzip {
    fn read<'a>(&'a mut self, buf: &'a mut [u8]) -> LocalBoxFuture<'a, Result<usize>> {
        self.fill(buf).boxed_local()
    }

    fn file_position(&self) -> u64 {
        self.data.input.file_position()
    }

    fn ended(&self) -> Ended {
        // Each member is verified by its checksum.
        let trailer = self.trailer + self.data.input.ended().trailer;
        Ended { trailer, ..Ended::default() }
    }
}

/// Skips a NUL-terminated string and adds it to `checksum`. Fails with `corrupt` if it is longer than [`LONGEST_TEXT`].
async fn take_text(input: &mut CompressedInput, checksum: &mut Checksum) -> Result<()> {
    let start = input.position();
    let mut len = 0;
    while len < LONGEST_TEXT {
        let bytes = input.some().await?;
        let bytes = &bytes[..bytes.len().min(LONGEST_TEXT - len)];
        let end = bytes.iter().position(|&byte| byte == 0);
        let taken = checksum.add(&bytes[..end.map_or(bytes.len(), |end| end + 1)]).len();
        input.consume(taken)?;
        len += taken;
        if end.is_some() {
            return Ok(());
        }
    }
    Err(damaged("a text in a header of gzip does not end", start))
}

/// The error for compressed data that is invalid or fails its checks.
fn damaged(what: &str, place: HostOffset) -> Error {
    Error::corrupt(what, place).coded(DAMAGED)
}

const MAGIC: [u8; 2] = [0x1f, 0x8b];
const DEFLATE: u8 = 8;

structure! {
    /// The fixed start of a member (RFC 1952, section 2.3).
    struct GzipHeader: Little {
        id: [u8; 2] = 0,
        cm: u8 = 2,
        flg: u8 = 3,
        mtime: u32 = 4,
        xfl: u8 = 8,
        os: u8 = 9,
    }
}

structure! {
    /// The end of a member (RFC 1952, section 2.3).
    struct GzipTrailer: Little {
        crc32: u32 = 0,
        /// The size of the data, modulo 2^32.
        isize: u32 = 4,
    }
}

/// Header flags that no member has (RFC 1952, section 2.3.1).
const RESERVED: u8 = 0xe0;

/// The start of a member with an extra field.
const WITH_EXTRA: [u8; 4] = [MAGIC[0], MAGIC[1], DEFLATE, 4];
/// The subfield `BC`, of two bytes, and its place in a header without other fields.
const SUBFIELD: [u8; 4] = [b'B', b'C', 2, 0];
const SUBFIELD_AT: usize = 12;
/// Length of a header with this subfield only.
const BGZF_HEADER: usize = 18;

/// The extra flags that compressors set, the last known operating system, and the value for an unknown one.
const EXTRA_FLAGS: [u8; 3] = [0, 2, 4];
const LAST_SYSTEM: u8 = 13;
const UNKNOWN_SYSTEM: u8 = 255;
/// The largest file whose members are searched, in bytes: they must be decoded to know the sizes of their data.
const LARGEST_SEARCHED: u64 = 256 << 20;
/// How much of a file is searched at once, in bytes.
const SEARCHED: u64 = 1 << 20;
/// Length of a group of members in bytes.
const GROUP: u64 = 256 << 10;
/// The most groups: each is decoded to know its size.
const MOST_GROUPS: usize = 4096;
/// Length of the size at the end of a member.
const SIZE: usize = 4;
/// A member without data. It follows each block but the last one, so that other bytes at the end of the block are damage, as they are
/// between members that are decoded in order.
const EMPTY_MEMBER: [u8; 20] = [MAGIC[0], MAGIC[1], DEFLATE, 0, 0, 0, 0, 0, 0, 255, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0];

/// Begins to search a file, which must be local.
fn search(file: BlockFile) -> Option<Box<dyn BlockSearch>> {
    Some(Box::new(Search::new(file, blocks)))
}

async fn blocks(mut file: SearchedFile) -> Option<Vec<Block>> {
    let BlockFile { size, is_local, largest } = file.file();
    if !is_local {
        return None;
    }
    let mut found = bgzf(&mut file).await;
    // The caller of a search for sizes would not get any.
    if found.is_none() && size <= LARGEST_SEARCHED && largest != u64::MAX {
        found = members(&mut file).await;
    }
    let mut blocks = found?;
    if let Some((_, before)) = blocks.split_last_mut() {
        before.iter_mut().for_each(|block| block.around[1] = EMPTY_MEMBER.to_vec());
    }
    Some(blocks)
}

/// Returns the blocks of a file that is BGZF throughout.
async fn bgzf(file: &mut SearchedFile) -> Option<Vec<Block>> {
    let (mut blocks, mut start) = (JoinedBlocks::default(), 0);
    while start < file.file().size {
        let header: [u8; BGZF_HEADER] = file.ahead(start, BGZF_HEADER as u64).await.try_into().ok()?;
        if !header.starts_with(&WITH_EXTRA) || !header[SUBFIELD_AT..].starts_with(&SUBFIELD) {
            return None;
        }
        let len = u64::from(u16::from_le_bytes([header[16], header[17]])) + 1;
        if len < (BGZF_HEADER + GzipTrailer::LEN) as u64 {
            return None;
        }
        let size: [u8; SIZE] = file.ahead(start + len - SIZE as u64, SIZE as u64).await.try_into().ok()?;
        blocks.add(Block { start, len, size: Some(u32::from_le_bytes(size).into()), ..Block::default() })?;
        start += len;
    }
    Some(blocks.all())
}

/// Finds groups of members by their headers: compressed data may look like one.
async fn members(file: &mut SearchedFile) -> Option<Vec<Block>> {
    let size = file.file().size;
    let (mut groups, mut start, mut expected) = (Vec::new(), 0, 0);
    let group = |start, end| Block { start, len: end - start, ..Block::default() };
    let mut at = 0;
    while at < size {
        // The size of a member is before the next one.
        let from = at.saturating_sub(SIZE as u64);
        let end = (at + SEARCHED + GzipHeader::LEN as u64).min(size);
        let bytes = file.read(from, end - from).await;
        let mut next = SIZE;
        while let Some(found) = header_in(bytes, next) {
            let position = from + found as u64;
            if position >= at + SEARCHED {
                break;
            }
            expected += u64::from(u32::from_le_bytes(bytes[found - SIZE..found].try_into().expect("four bytes")));
            if position - start >= GROUP || expected >= SMALL_BLOCK {
                groups.push(group(start, position));
                (start, expected) = (position, 0);
                if groups.len() == MOST_GROUPS {
                    return None;
                }
            }
            next = found + 1;
        }
        at += SEARCHED;
    }
    groups.push(group(start, size));
    Some(groups)
}

/// The first position from `start` where `bytes` have the header of a member.
fn header_in(bytes: &[u8], start: usize) -> Option<usize> {
    let is_header = |header: &[u8]| {
        let GzipHeader { id, cm, flg, xfl, os, .. } = GzipHeader::parse(header);
        id == MAGIC
            && cm == DEFLATE
            && flg & RESERVED == 0
            && EXTRA_FLAGS.contains(&xfl)
            && (os <= LAST_SYSTEM || os == UNKNOWN_SYSTEM)
    };
    let last = bytes.len().checked_sub(GzipHeader::LEN)?;
    (start..=last).find(|&at| bytes[at] == MAGIC[0] && is_header(&bytes[at..]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use decant_module::blocks_in;
    use miniz_oxide::deflate::compress_to_vec;

    /// A block of BGZF with zeros. The checksum is not read.
    fn block(size: u32) -> Vec<u8> {
        let deflated = compress_to_vec(&vec![0; size as usize], 6);
        let len = (BGZF_HEADER + deflated.len() + GzipTrailer::LEN) as u16;
        let header = [&WITH_EXTRA[..], &[0, 0, 0, 0, 0, 255, 6, 0], &SUBFIELD, &(len - 1).to_le_bytes()].concat();
        [&header[..], &deflated, &[0; 4], &size.to_le_bytes()].concat()
    }

    fn changed(mut block: Vec<u8>, at: usize, bytes: &[u8]) -> Vec<u8> {
        block[at..at + bytes.len()].copy_from_slice(bytes);
        block
    }

    #[test]
    fn blocks_are_found_if_there_is_nothing_else() {
        let (blocks, len) = (block(65_280).repeat(17), block(65_280).len() as u64);
        let all = vec![(0, 17 * len + block(0).len() as u64, Some(17 * 65_280))];
        for (what, file, expected) in [
            ("blocks", [&blocks[..], &block(0)].concat(), Some(all)),
            ("a cut block", blocks[..blocks.len() - 1].to_vec(), None),
            ("another member", [&blocks[..], &changed(block(3), 3, &[0])].concat(), None),
            ("another field", [&blocks[..], &changed(block(3), 12, b"A")].concat(), None),
            ("a length of nothing", [&blocks[..], &changed(block(3), 16, &[1, 0])].concat(), None),
        ] {
            // A search for sizes finds nothing else.
            let of = BlockFile { size: file.len() as u64, is_local: true, largest: u64::MAX };
            let found = blocks_in(search(of).unwrap(), &file);
            let found = found.map(|blocks| blocks.iter().map(|it| (it.start, it.len, it.size)).collect::<Vec<_>>());
            assert_eq!(found, expected, "{what}");
        }
    }
}
