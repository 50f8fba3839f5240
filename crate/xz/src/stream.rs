//! Writes the parts of a stream around the data of its blocks (the .xz file format, version 1.2.1, sections 2 to 4).

use crate::{MAGIC, UNIT};
use decant_codec::crc;
use decant_module::BlockSizes;

/// The length of a CRC-32, in bytes.
pub(crate) const CRC: usize = 4;
pub(crate) const FOOTER_MAGIC: [u8; 2] = *b"YZ";
/// Flags of a block: its header states these sizes.
pub(crate) const COMPRESSED_SIZE: u8 = 0x40;
pub(crate) const DATA_SIZE: u8 = 0x80;
/// The flags of the streams that Decant writes: blocks have a CRC-64.
const FLAGS: [u8; 2] = [0, 4];
/// The filter LZMA2 (section 5.3.1) with the property of a dictionary of 1 MiB, as at level 1.
const LZMA2: [u8; 3] = [0x21, 1, 16];

/// The maximum length of an index in bytes: the footer states it in 32 bits, in units.
const LARGEST_INDEX: u64 = 1 << 34;
/// The longest record of a block of at most 128 MiB, in bytes.
const LONGEST_RECORD: u64 = 8;
/// The longest start and padding of an index, in bytes.
const AROUND_RECORDS: u64 = 16;
/// The maximum number of blocks in a [`Stream`].
pub const MAX_BLOCKS: u64 = (LARGEST_INDEX - AROUND_RECORDS) / LONGEST_RECORD;

/// Returns the header of a block with `compressed` bytes of LZMA2 for `data` bytes.
pub(crate) fn block_header(compressed: u64, data: u64) -> Vec<u8> {
    let mut header = vec![0, COMPRESSED_SIZE | DATA_SIZE];
    put_integer(compressed, &mut header);
    put_integer(data, &mut header);
    header.extend_from_slice(&LZMA2);
    header.resize(header.len().next_multiple_of(UNIT), 0);
    // The first byte states the length with the checksum, in units, less one.
    header[0] = (header.len() / UNIT) as u8;
    with_checksum(&header, false)
}

/// Returns the number of bytes of padding in a block that starts with `header`, as [`block_header`] makes it: all parts but the
/// compressed data have whole units, and the lowest bits of its size come first.
pub fn padding(header: &[u8]) -> usize {
    let compressed = usize::from(header[2]);
    compressed.wrapping_neg() % UNIT
}

/// A stream that is being written: its blocks are elsewhere.
#[derive(Default)]
pub struct Stream(BlockSizes);

impl Stream {
    /// The bytes before the first block.
    pub fn header() -> Vec<u8> {
        start_of_stream(FLAGS)
    }

    /// Adds `times` blocks of `unpadded` bytes without padding, each with `data` bytes of data: at most [`MAX_BLOCKS`] in all.
    /// Returns whether there was memory for them.
    pub fn add(&mut self, unpadded: u32, data: u32, times: u32) -> bool {
        self.0.add(unpadded, data, times)
    }

    /// Returns the bytes after the last block, the index and the footer, as pieces that are each repeated a number of times.
    pub fn end(self) -> Vec<(Vec<u8>, u64)> {
        let mut start = vec![0];
        put_integer(self.0.count(), &mut start);
        let mut pieces = vec![(start, 1)];
        pieces.extend(self.0.entries(|unpadded, data, bytes| {
            put_integer(unpadded.into(), bytes);
            put_integer(data.into(), bytes);
        }));
        let len: u64 = pieces.iter().map(|(bytes, times)| bytes.len() as u64 * times).sum();
        let padded = len.next_multiple_of(UNIT as u64);
        pieces.push((vec![0; (padded - len) as usize], 1));
        let checksum = pieces.iter().fold(0, |sum, (bytes, times)| {
            let (of_bytes, len) = (crc::crc32(bytes), bytes.len() as u64);
            (0..*times).fold(sum, |sum, _| crc::joined(sum, of_bytes, len))
        });
        pieces.push((checksum.to_le_bytes().to_vec(), 1));
        pieces.push((footer(FLAGS, padded), 1));
        pieces
    }
}

/// The header of a stream.
pub(crate) fn start_of_stream(flags: [u8; 2]) -> Vec<u8> {
    [&MAGIC[..], &with_checksum(&flags, false)].concat()
}

/// The footer after an index of `index_len` bytes without its checksum.
pub(crate) fn footer(flags: [u8; 2], index_len: u64) -> Vec<u8> {
    let units = (index_len / UNIT as u64) as u32;
    let content = with_checksum(&[&units.to_le_bytes()[..], &flags].concat(), true);
    [&content[..], &FOOTER_MAGIC].concat()
}

/// Returns `bytes` with their CRC-32, after or before them.
pub(crate) fn with_checksum(bytes: &[u8], is_before: bool) -> Vec<u8> {
    let checksum: [u8; CRC] = crc::crc32(bytes).to_le_bytes();
    if is_before { [&checksum[..], bytes].concat() } else { [bytes, &checksum].concat() }
}

/// Appends a variable-length integer (section 1.2).
pub(crate) fn put_integer(mut value: u64, bytes: &mut Vec<u8>) {
    while value > 0x7f {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}
