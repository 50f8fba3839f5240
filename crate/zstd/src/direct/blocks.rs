//! Finds frames: from a seek table (the seekable format, 0.1.0), or by their headers (RFC 8878, section 3.1).

use super::divider::{CHECKSUM, RLE};
use super::frame_header::{Header, HeaderReader, LONGEST_HEADER};
use crate::seek_table::{FOOTER, RESERVED, SEEK_TABLE, SEEKABLE_MAGIC, WITH_CHECKSUMS};
use decant_module::{Block, BlockFile, BlockSearch, JoinedBlocks, SKIPPABLE_HEADER, Search, SearchedFile};

/// The largest seek table that is read, in bytes: that of 8 TiB in frames of 4 MiB.
const LARGEST_TABLE: u64 = 16 << 20;
const BLOCK_HEADER: u64 = 3;

/// Begins to search a file for frames. Without a seek table, it must be local.
pub fn search(file: BlockFile) -> Option<Box<dyn BlockSearch>> {
    Some(Box::new(Search::new(file, frames)))
}

/// Returns `None` if a frame is too large or damaged.
async fn frames(mut file: SearchedFile) -> Option<Vec<Block>> {
    if let Some(found) = frames_of_table(&mut file).await {
        return Some(found);
    }
    let BlockFile { size, is_local, largest } = file.file();
    let (mut blocks, mut at) = (JoinedBlocks::default(), 0);
    while at < size {
        let frame = if is_local { frame_at(&mut file, at, largest).await? } else { return None };
        at += frame.len;
        blocks.add(frame)?;
    }
    Some(blocks.all())
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..).and_then(|bytes| bytes.first_chunk()).map(|number| u32::from_le_bytes(*number))
}

async fn frames_of_table(file: &mut SearchedFile) -> Option<Vec<Block>> {
    let BlockFile { size, largest, .. } = file.file();
    let footer = file.read(size.checked_sub(FOOTER)?, FOOTER).await;
    let (count, descriptor) = (number(footer, 0)?, footer[4]);
    if !footer.ends_with(&SEEKABLE_MAGIC) || descriptor & RESERVED != 0 {
        return None;
    }
    let entry = if descriptor & WITH_CHECKSUMS != 0 { 12 } else { 8 };
    let len = u64::from(count) * entry + FOOTER;
    let start = size.checked_sub(len + SKIPPABLE_HEADER as u64).filter(|_| len <= LARGEST_TABLE)?;
    let table = file.read(start, len + SKIPPABLE_HEADER as u64).await;
    if number(table, 0)? != SEEK_TABLE || u64::from(number(table, 4)?) != len {
        return None;
    }
    let (mut blocks, mut at) = (JoinedBlocks::default(), 0);
    for entry in table[SKIPPABLE_HEADER..].chunks_exact(entry as usize).take(count as usize) {
        let (len, size) = (u64::from(number(entry, 0)?), u64::from(number(entry, 4)?));
        if size > largest {
            return None;
        }
        blocks.add(Block { start: at, len, size: Some(size), ..Block::default() })?;
        at += len;
    }
    (at == start).then(|| blocks.all())
}

/// The frame at `start`; `None` if it is damaged, or states more than `largest` bytes.
async fn frame_at(file: &mut SearchedFile, start: u64, largest: u64) -> Option<Block> {
    let end = file.file().size;
    let mut header = file.ahead(start, LONGEST_HEADER as u64).await;
    let mut reader = HeaderReader::default();
    let (size, has_checksum) = match reader.read(&mut header, false).ok()?? {
        Header::Skippable(len) => {
            let len = SKIPPABLE_HEADER as u64 + u64::from(len);
            return (start + len <= end).then(|| Block { start, len, size: Some(0), ..Block::default() });
        }
        Header::Frame(frame) => (frame.content_size, frame.has_checksum),
    };
    if size.is_some_and(|size| size > largest) {
        return None;
    }
    let mut at = start + reader.bytes().len() as u64;
    loop {
        let &[low, middle, high] = file.ahead(at, BLOCK_HEADER).await else { return None };
        let stored = if u32::from(low) >> 1 & 3 == RLE { 1 } else { u32::from_le_bytes([low, middle, high, 0]) >> 3 };
        at += BLOCK_HEADER + u64::from(stored);
        if low & 1 == 1 {
            break;
        }
    }
    let len = at + if has_checksum { CHECKSUM as u64 } else { 0 } - start;
    (start + len <= end).then(|| Block { start, len, size, ..Block::default() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use decant_module::{LARGEST_PART, blocks_in};

    /// A frame with `blocks` of one repeated byte each, which states its size if `is_stated`.
    fn frame(blocks: &[u32], is_stated: bool) -> Vec<u8> {
        let mut frame = 0xfd2f_b528u32.to_le_bytes().to_vec();
        match is_stated {
            true => frame.extend([&[0xa0][..], &blocks.iter().sum::<u32>().to_le_bytes()].concat()),
            false => frame.extend([0, 0x50]),
        }
        for (at, size) in blocks.iter().enumerate() {
            let header = size << 3 | 2 | u32::from(at == blocks.len() - 1);
            frame.extend([&header.to_le_bytes()[..3], &[7]].concat());
        }
        frame
    }

    fn skippable(magic: u32, content: &[u8]) -> Vec<u8> {
        [&magic.to_le_bytes()[..], &(content.len() as u32).to_le_bytes(), content].concat()
    }

    /// The seek table of frames of these lengths and sizes.
    fn table(frames: &[(u32, u32)], descriptor: u8) -> Vec<u8> {
        let mut content = Vec::new();
        for (len, size) in frames {
            content.extend([len.to_le_bytes(), size.to_le_bytes()].concat());
            content.resize(content.len() + if descriptor == WITH_CHECKSUMS { 4 } else { 0 }, 0);
        }
        content.extend((frames.len() as u32).to_le_bytes());
        content.push(descriptor);
        content.extend(SEEKABLE_MAGIC);
        skippable(SEEK_TABLE, &content)
    }

    /// The start, length and size of each block.
    fn found(file: &[u8], is_local: bool, largest: u64) -> Option<Vec<(u64, u64, Option<u64>)>> {
        let of = BlockFile { size: file.len() as u64, is_local, largest };
        let blocks = blocks_in(search(of).unwrap(), file)?;
        Some(blocks.into_iter().map(|block| (block.start, block.len, block.size)).collect())
    }

    #[test]
    fn frames_are_found() {
        let long = [100_000; 20];
        let (large, unstated, small) = (frame(&long, true), frame(&long, false), frame(&[9], true));
        let cut = |file: &[u8]| file[..file.len() - 1].to_vec();
        let two = vec![(0, 89, Some(2_000_000)), (89, 13, Some(9))];
        type Found = Option<Vec<(u64, u64, Option<u64>)>>;
        let cases: [(&str, Vec<u8>, bool, Found); 14] = [
            ("frames", [&large[..], &small].concat(), true, Some(two.clone())),
            (
                "small frames, joined",
                [&frame(&[5], true)[..], &small, &large].concat(),
                true,
                Some(vec![(0, 115, Some(2_000_014))]),
            ),
            (
                "skippable frames",
                [&skippable(0x184d_2a50, &[1, 2])[..], &large, &skippable(0x184d_2a5f, &[])].concat(),
                true,
                Some(vec![(0, 107, Some(2_000_000))]),
            ),
            (
                "a frame without its size",
                [
                    &skippable(0x184d_2a50, &[1])[..],
                    &frame(&[9], false),
                    &skippable(0x184d_2a50, &[1]),
                    &large,
                    &frame(&[7], true),
                ]
                .concat(),
                true,
                Some(vec![(0, 28, None), (28, 89, Some(2_000_000)), (117, 13, Some(7))]),
            ),
            ("a cut frame", [&large[..], &cut(&small)].concat(), true, None),
            ("a cut skippable frame", [&large[..], &cut(&skippable(0x184d_2a50, &[1, 2]))].concat(), true, None),
            ("something else", [&large[..], &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]].concat(), true, None),
            ("frames on a server", [&large[..], &small].concat(), false, None),
            (
                "a table",
                [&unstated[..], &small, &table(&[(86, 2_000_000), (13, 9)], 0)].concat(),
                false,
                Some(vec![(0, 86, Some(2_000_000)), (86, 13, Some(9))]),
            ),
            (
                "a table with checksums",
                [&large[..], &table(&[(89, 2_000_000)], WITH_CHECKSUMS)].concat(),
                false,
                Some(vec![(0, 89, Some(2_000_000))]),
            ),
            ("a table of other frames", [&large[..], &table(&[(88, 2_000_000)], 0)].concat(), false, None),
            ("a table with reserved bits", [&large[..], &table(&[(89, 2_000_000)], 4)].concat(), false, None),
            (
                "a table that claims 2^32 frames",
                [&large[..], &skippable(SEEK_TABLE, &[255, 255, 255, 255, 0, 0xb1, 0xea, 0x92, 0x8f])].concat(),
                false,
                None,
            ),
            ("a frame that is too large", [&large[..], &table(&[(89, 65 << 20)], 0)].concat(), false, None),
        ];
        for (what, file, is_local, expected) in cases {
            assert_eq!(found(&file, is_local, LARGEST_PART), expected, "{what}");
        }
        assert_eq!(found(&[large, small].concat(), true, u64::MAX), Some(two), "for sizes");
    }
}
