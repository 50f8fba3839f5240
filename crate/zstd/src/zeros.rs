//! Makes frames of zeros, without the library.

use crate::MAGIC;
use std::hash::Hasher;
use twox_hash::XxHash64;

/// The frame header descriptor (RFC 8878, section 3.1.1.1.1): a content size of 4 bytes, a single segment, a checksum.
const DESCRIPTOR: u8 = 0xa4;
/// The maximum size of a block, in bytes.
const BLOCK: u32 = 128 << 10;
/// The type of a block with one byte that is repeated, in its place in a block header (section 3.1.1.2).
const RLE: u32 = 1 << 1;

/// Returns a frame of `len` zeros, with its content size and a checksum. It has about 4 bytes for each 128 KiB.
pub fn zero_frame(len: u32) -> Vec<u8> {
    let mut frame = [&MAGIC.to_le_bytes()[..], &[DESCRIPTOR], &len.to_le_bytes()].concat();
    let mut hash = XxHash64::with_seed(0);
    let mut rest = len;
    loop {
        let size = rest.min(BLOCK);
        rest -= size;
        // A block of no bytes is a raw one: no byte would follow its header.
        let (kind, content) = if size == 0 { (0, &[][..]) } else { (RLE, &[0][..]) };
        let header = size << 3 | kind | u32::from(rest == 0);
        frame.extend_from_slice(&header.to_le_bytes()[..3]);
        frame.extend_from_slice(content);
        hash.write(&[0; BLOCK as usize][..size as usize]);
        if rest == 0 {
            break;
        }
    }
    // The checksum has the low 4 bytes of the hash.
    frame.extend_from_slice(&(hash.finish() as u32).to_le_bytes());
    frame
}
