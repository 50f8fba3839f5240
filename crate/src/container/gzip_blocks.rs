//! Finds the blocks of a BGZF file, which are gzip members that state their length (the SAM/BAM format specification, section 4.1), or
//! what seem to be groups of members.

use super::gzip_stream::{DEFLATE, GzipHeader, GzipTrailer, MAGIC, RESERVED};
use decant_module::{Block, BlockFile, BlockSearch, JoinedBlocks, SMALL_BLOCK, Search, SearchedFile};

/// The start of a member with an extra field.
const WITH_EXTRA: [u8; 4] = [MAGIC[0], MAGIC[1], DEFLATE, 4];
/// The subfield `BC`, of two bytes, and its place in a header without other fields.
const SUBFIELD: [u8; 4] = [b'B', b'C', 2, 0];
const SUBFIELD_AT: usize = 12;
/// Length of a header with this subfield only.
const BGZF_HEADER: usize = 18;

/// The extra flags that compressors set, and the operating systems that are known, up to this or unknown.
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
pub(super) fn search(file: BlockFile) -> Option<Box<dyn BlockSearch>> {
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
