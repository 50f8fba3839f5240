//! A second reader of seekable zstd files, which reads each frame where the seek table states it ("Zstandard Seekable Format",
//! 0.1.0). It knows nothing of Decant.

use super::changes::by_filter;

const HEADER: usize = 8;
const FOOTER: usize = 9;
const SKIPPABLE: u32 = 0x184d_2a5e;
const SEEKABLE: u32 = 0x8f92_eab1;
/// Bits of the descriptor: entries have checksums; reserved ones.
const WITH_CHECKSUMS: u8 = 0x80;
const RESERVED: u8 = 0x7c;

fn u32_at(bytes: &[u8], at: usize) -> Option<usize> {
    bytes.get(at..)?.first_chunk().map(|number| u32::from_le_bytes(*number) as usize)
}

/// The content; `None` if the table is damaged, or a frame is not as it states.
pub fn content(file: &[u8]) -> Option<Vec<u8>> {
    let footer = file.len().checked_sub(FOOTER)?;
    let (count, descriptor) = (u32_at(file, footer)?, file[footer + 4]);
    let entry = if descriptor & WITH_CHECKSUMS != 0 { 12 } else { 8 };
    let len = count * entry + FOOTER;
    let table = file.len().checked_sub(HEADER + len)?;
    let magics = [(table, SKIPPABLE as usize), (table + 4, len), (footer + 5, SEEKABLE as usize)];
    if descriptor & RESERVED != 0 || magics.iter().any(|&(at, value)| u32_at(file, at) != Some(value)) {
        return None;
    }
    let (mut content, mut at) = (Vec::new(), 0);
    for entry in file[table + HEADER..footer].chunks(entry) {
        let (len, size) = (u32_at(entry, 0)?, u32_at(entry, 4)?);
        let frame = by_filter("zstd", file.get(at..at + len)?).filter(|frame| frame.len() == size)?;
        content.extend(frame);
        at += len;
    }
    (at == table).then_some(content)
}
