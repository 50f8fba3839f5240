//! lz4 files for `codecs`, and two other readers of them: liblz4, and a plain one, which also reads the blocks that liblz4 refuses
//! for how they end, and frames of `lz4 -l`.

use super::{data, noise};
use decant_lz4::{LEGACY_MAGIC, MAGIC};
use decant_module::{SKIPPABLE_HEADER, SKIPPABLE_MAGIC};
use lz4::{BlockMode, ContentChecksum, EncoderBuilder, liblz4::BlockChecksum};
use std::io::{Read, Write};
use twox_hash::XxHash32;

/// The most bytes of a block's data in a frame of `lz4 -l`.
const LEGACY_BLOCK: usize = 8 << 20;
const STORED: u32 = 1 << 31;

pub fn files() -> Vec<Vec<u8>> {
    use BlockMode::{Independent, Linked};
    let (data, noise) = (data(), noise(400));
    let mixed = [&data[..], &noise, &data].concat();
    let skippable = [&SKIPPABLE_MAGIC.start().to_le_bytes()[..], &4u32.to_le_bytes(), &[7; 4]].concat();
    let legacy = {
        let block = lz4::block::compress(&data, None, false).expect("room");
        [&LEGACY_MAGIC.to_le_bytes()[..], &(block.len() as u32).to_le_bytes(), &block].concat()
    };
    // Without checksums, which hide changes of the data.
    let unchecked = || {
        let mut builder = EncoderBuilder::new();
        builder.checksum(ContentChecksum::NoChecksum).block_checksum(BlockChecksum::NoBlockChecksum);
        builder
    };
    let plain = frame(&unchecked(), Linked, &data[..400]);
    vec![
        frame(&EncoderBuilder::new(), Independent, &data),
        frame(&unchecked(), Linked, &mixed),
        frame(&unchecked(), Independent, &mixed),
        frame(unchecked().level(9), Linked, &data),
        frame(unchecked().block_checksum(BlockChecksum::BlockChecksumEnabled), Linked, &data),
        frame(unchecked().content_size(data.len() as u64), Linked, &data),
        [&skippable[..], &plain, &skippable, &legacy, &plain].concat(),
        legacy,
    ]
}

/// Packs `data` in blocks of at most 500 bytes.
fn frame(builder: &EncoderBuilder, mode: BlockMode, data: &[u8]) -> Vec<u8> {
    let mut encoder = builder.clone().block_mode(mode).build(Vec::new()).expect("memory");
    for part in data.chunks(500) {
        encoder.write_all(part).and_then(|()| encoder.flush()).expect("room");
    }
    let (frame, result) = encoder.finish();
    result.expect("room");
    frame
}

/// Corrects the checksum of the first header.
pub fn repaired(mut file: Vec<u8>) -> Vec<u8> {
    const FLAGS: usize = 4;
    if let [flags, ..] = file[file.len().min(FLAGS)..] {
        let end = 6 + if flags & 8 != 0 { 8 } else { 0 } + if flags & 1 != 0 { 4 } else { 0 };
        if file.len() > end && file.starts_with(&MAGIC.to_le_bytes()) {
            file[end] = (XxHash32::oneshot(0, &file[FLAGS..end]) >> 8) as u8;
        }
    }
    file
}

/// The data by the plain reader, which must have the bytes of liblz4 where this accepts the file.
pub fn other(file: &[u8]) -> Option<Vec<u8>> {
    let mut plain = Plain::default();
    let read = plain.read(file);
    match (read, liblz4(file)) {
        (Some(()), Some(data)) => assert!(data == plain.data, "other bytes than liblz4"),
        // liblz4 reads an offset of 0, which the format forbids, as zeros. It ignores the size 0, and dictionaries that it is not given.
        (None, Some(data)) => {
            assert!(plain.is_lenient, "only refused by the plain reader: {} bytes, {file:x?}", data.len())
        }
        (_, None) => {}
    }
    read.map(|()| plain.data)
}

fn liblz4(file: &[u8]) -> Option<Vec<u8>> {
    let (mut rest, mut data) = (file, Vec::new());
    while !rest.is_empty() || rest.len() == file.len() {
        // The library's decoder reads more than a short skippable frame.
        if let Some(after) = after_skippable(rest) {
            rest = after?;
            continue;
        }
        let mut decoder = lz4::Decoder::new(rest).expect("memory");
        decoder.read_to_end(&mut data).ok()?;
        let (after, result) = decoder.finish();
        result.ok()?;
        rest = after;
    }
    Some(data)
}

/// If `file` begins with a skippable frame: the rest after the frame, unless the frame is cut off.
fn after_skippable(file: &[u8]) -> Option<Option<&[u8]>> {
    let magic = u32::from_le_bytes(*file.first_chunk()?);
    SKIPPABLE_MAGIC.contains(&magic).then(|| {
        let (header, rest) = file.split_at_checked(SKIPPABLE_HEADER)?;
        rest.get(u32::from_le_bytes(*header.last_chunk()?) as usize..)
    })
}

/// A reader of whole frames, one byte of a match after the other.
#[derive(Default)]
struct Plain {
    data: Vec<u8>,
    /// Whether liblz4 may accept a frame that this reader refuses.
    is_lenient: bool,
}

impl Plain {
    fn read(&mut self, file: &[u8]) -> Option<()> {
        let mut rest = file;
        while !rest.is_empty() || rest.len() == file.len() {
            if let Some(after) = after_skippable(rest) {
                rest = after?;
                continue;
            }
            match number(&mut rest)? {
                MAGIC => self.frame(&mut rest)?,
                LEGACY_MAGIC => self.legacy(&mut rest)?,
                _ => return None,
            }
        }
        Some(())
    }

    fn legacy(&mut self, rest: &mut &[u8]) -> Option<()> {
        while !rest.is_empty() {
            let mut after = *rest;
            let len = number(&mut after)? as usize;
            if len > LEGACY_BLOCK + LEGACY_BLOCK / 255 + 16 {
                return Some(());
            }
            let block = take(&mut after, len)?;
            self.block(block, self.data.len(), LEGACY_BLOCK)?;
            *rest = after;
        }
        Some(())
    }

    fn frame(&mut self, rest: &mut &[u8]) -> Option<()> {
        let header = *rest;
        let [flags, size] = *take(rest, 2)?.first_chunk()?;
        let has = |flag: u8| flags & flag != 0;
        let content_size = if has(8) { Some(u64::from(number(rest)?) | u64::from(number(rest)?) << 32) } else { None };
        if has(1) {
            self.is_lenient = true;
            return None;
        }
        let len = header.len() - rest.len();
        let is_valid = flags & 0xc2 == 0x40 && size & 0x8f == 0 && size >= 0x40;
        if !is_valid || (XxHash32::oneshot(0, &header[..len]) >> 8) as u8 != take(rest, 1)?[0] {
            return None;
        }
        let (start, most) = (self.data.len(), 1 << (8 + 2 * (size >> 4)));
        loop {
            let size = number(rest)?;
            if size == 0 {
                break;
            }
            let block = take(rest, (size & !STORED) as usize).filter(|block| block.len() <= most)?;
            if has(0x10) && number(rest)? != XxHash32::oneshot(0, block) {
                return None;
            }
            match size & STORED {
                0 => self.block(block, if has(0x20) { self.data.len() } else { start }, most)?,
                _ => self.data.extend(block),
            }
        }
        if has(4) && number(rest)? != XxHash32::oneshot(0, &self.data[start..]) {
            return None;
        }
        self.is_lenient |= content_size == Some(0);
        content_size.is_none_or(|size| size == (self.data.len() - start) as u64).then_some(())
    }

    /// Decodes a block of at most `most` bytes, whose matches reach back to `first` at most.
    fn block(&mut self, mut block: &[u8], first: usize, most: usize) -> Option<()> {
        let end = self.data.len() + most;
        loop {
            let token = take(&mut block, 1)?[0];
            let literals = length(&mut block, token >> 4)?;
            self.data.extend(take(&mut block, literals)?);
            if self.data.len() > end {
                return None;
            }
            if block.is_empty() {
                return Some(());
            }
            let offset = usize::from(u16::from_le_bytes(*take(&mut block, 2)?.first_chunk()?));
            let len = length(&mut block, token & 15)? + 4;
            if offset == 0 {
                self.is_lenient = true;
                return None;
            }
            let from = self.data.len().checked_sub(offset).filter(|&from| from >= first)?;
            if self.data.len() + len > end {
                return None;
            }
            for at in from..from + len {
                self.data.push(self.data[at]);
            }
        }
    }
}

fn take<'a>(rest: &mut &'a [u8], len: usize) -> Option<&'a [u8]> {
    let (taken, after) = rest.split_at_checked(len)?;
    *rest = after;
    Some(taken)
}

fn number(rest: &mut &[u8]) -> Option<u32> {
    Some(u32::from_le_bytes(*take(rest, 4)?.first_chunk()?))
}

/// The length that begins with `nibble`, half a token.
fn length(rest: &mut &[u8], nibble: u8) -> Option<usize> {
    let mut len = usize::from(nibble);
    while nibble == 15 {
        let more = take(rest, 1)?[0];
        len += usize::from(more);
        if more < 255 {
            break;
        }
    }
    Some(len)
}
