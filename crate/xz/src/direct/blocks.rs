//! Finds blocks by the index at the end of each stream (the .xz file format, sections 2 and 4).

use super::copied_block::end_of_stream;
use super::{HEADER, integer};
use crate::UNIT;
use crate::stream::{CRC, FOOTER_MAGIC, start_of_stream};
use decant_codec::crc;
use decant_module::{Block, BlockFile, BlockSearch, Search, SearchedFile};

/// The largest index of a stream that is read, in bytes: it lists some 100,000 blocks.
const LARGEST_INDEX: u64 = 1 << 20;
/// The most padding before a footer that is passed over, in bytes.
const MOST_PADDING: u64 = 64 << 10;
const MOST_STREAMS: usize = 4096;
/// The most blocks in all streams.
const MOST_BLOCKS: usize = 1 << 18;

/// Begins to search a file for blocks whose sizes are stated.
pub fn search(file: BlockFile) -> Option<Box<dyn BlockSearch>> {
    Some(Box::new(Search::new(file, blocks)))
}

/// A stream's blocks.
struct Stream {
    start: u64,
    flags: [u8; 2],
    /// The sizes of each block without padding, and of its data.
    records: Vec<(u64, u64)>,
}

/// Returns `None` if an index is damaged or too large.
async fn blocks(mut file: SearchedFile) -> Option<Vec<Block>> {
    let (mut streams, mut end, mut count) = (Vec::new(), file.file().size, 0);
    while end > 0 {
        let stream = last_stream(&mut file, end).await?;
        (end, count) = (stream.start, count + stream.records.len());
        streams.push(stream);
        if streams.len() > MOST_STREAMS || count > MOST_BLOCKS {
            return None;
        }
    }
    let mut blocks = Vec::new();
    blocks.try_reserve_exact(count).ok()?;
    for Stream { start, flags, records } in streams.into_iter().rev() {
        let mut start = start + HEADER as u64;
        for (unpadded, data) in records {
            let len = unpadded.next_multiple_of(UNIT as u64);
            let around = [start_of_stream(flags), end_of_stream(flags, unpadded, data)];
            blocks.push(Block { start, len, size: Some(data), around });
            start += len;
        }
    }
    Some(blocks)
}

/// Reads the last stream before `end`.
async fn last_stream(file: &mut SearchedFile, end: u64) -> Option<Stream> {
    let end = without_padding(file, end).await?;
    let footer_start = end.checked_sub(HEADER as u64).filter(|&start| start >= HEADER as u64)?;
    let footer = file.read(footer_start, HEADER as u64).await;
    let (checksum, rest) = footer.split_at(CRC);
    let (content, magic) = rest.split_at(CRC + 2);
    if magic != FOOTER_MAGIC || crc::crc32(content).to_le_bytes() != checksum {
        return None;
    }
    let (units, flags) = content.split_first_chunk::<CRC>()?;
    let (len, flags) = ((u64::from(u32::from_le_bytes(*units)) + 1) * UNIT as u64, [flags[0], flags[1]]);
    let index_start = footer_start.checked_sub(len).filter(|&start| start >= HEADER as u64 && len <= LARGEST_INDEX)?;
    let records = records(file.read(index_start, len).await)?;
    let mut start = index_start - HEADER as u64;
    for &(unpadded, _) in &records {
        start = start.checked_sub(unpadded.checked_next_multiple_of(UNIT as u64)?)?;
    }
    let is_start = file.read(start, HEADER as u64).await == start_of_stream(flags);
    is_start.then_some(Stream { start, flags, records })
}

/// The end of the last stream before `end`: zeros may follow it.
async fn without_padding(file: &mut SearchedFile, end: u64) -> Option<u64> {
    if !end.is_multiple_of(UNIT as u64) {
        return None;
    }
    let len = end.min(MOST_PADDING);
    let last = file.read(end - len, len).await.iter().rposition(|&byte| byte != 0)?;
    Some(end - len + (last as u64 + 1).next_multiple_of(UNIT as u64))
}

/// The sizes of the blocks that an index lists.
fn records(index: &[u8]) -> Option<Vec<(u64, u64)>> {
    let (content, checksum) = index.split_at_checked(index.len().checked_sub(CRC)?)?;
    if crc::crc32(content).to_le_bytes() != checksum {
        return None;
    }
    let mut rest = content.strip_prefix(&[0])?;
    let count = integer::take(&mut rest).ok()?;
    let mut records = Vec::new();
    // A record has two bytes at least.
    for _ in 0..count.min(content.len() as u64) {
        let (unpadded, data) = (integer::take(&mut rest).ok()?, integer::take(&mut rest).ok()?);
        records.try_reserve(1).ok()?;
        records.push((unpadded, data));
    }
    let is_whole = records.len() as u64 == count && rest.len() < UNIT && rest.iter().all(|&byte| byte == 0);
    is_whole.then_some(records)
}

#[cfg(test)]
mod tests {
    use super::*;
    use decant_module::blocks_in;

    /// By `xz`: a stream of three blocks of 2,000 bytes, one of 6,000 bytes with CRC-32, and 8 bytes of padding.
    const FILE: &[u8] = include_bytes!("streams.xz");
    /// Where its second stream begins and ends.
    const SECOND: usize = 196;
    const SECOND_END: usize = 288;

    fn found(file: &[u8]) -> Option<Vec<Block>> {
        let of = BlockFile { size: file.len() as u64, is_local: false, largest: 1 };
        blocks_in(search(of).unwrap(), file)
    }

    #[test]
    fn blocks_of_all_streams_are_found() {
        let found = found(FILE).unwrap();
        let places: Vec<_> = found.iter().map(|block| (block.start, block.len, block.size)).collect();
        assert_eq!(places, [(12, 52, Some(2000)), (64, 52, Some(2000)), (116, 52, Some(2000)), (208, 56, Some(6000))]);
        // The second stream has one block: it becomes the file that xz itself makes of its data.
        let [before, after] = &found[3].around;
        assert_eq!([before, &FILE[208..264], after].concat(), FILE[SECOND..SECOND_END]);
    }

    #[test]
    fn a_damaged_or_truncated_file_has_no_blocks_or_the_same() {
        let good = found(FILE).unwrap();
        for at in 1..FILE.len() {
            for change in [1, 0x80] {
                let mut file = FILE.to_vec();
                file[at] ^= change;
                let is_in_index = (168..SECOND).contains(&at) || at >= 264;
                if let Some(blocks) = found(&file) {
                    assert!(!is_in_index && blocks == good, "at {at}");
                }
            }
            // Cut at the end of the first stream, or without the padding, the file is still valid.
            let is_whole = [SECOND, SECOND_END, SECOND_END + 4].contains(&at);
            assert!(found(&FILE[..at]).is_none() || is_whole, "cut at {at}");
        }
    }
}
