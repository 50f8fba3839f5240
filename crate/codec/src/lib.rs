//! Code that runs for every byte of a disk: decompression, checksums, hashes, and detection of zeros.
//!
//! It is a separate crate because it is compiled for speed, and the rest of Decant for size. It knows no image formats.
//! Each call processes many bytes, since calls from the other crate are not inlined.

pub mod bit_writer;
pub mod crc;
pub mod inflate;
pub mod sums;

/// A buffer of this many bytes could not be allocated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfMemory(pub usize);

/// Resizes `buffer` to exactly `len` bytes. Keeps its content and adds zeros. Fails if memory runs out. It is in this crate, since
/// code compiled for size would fill the buffer in a loop over its bytes.
pub fn resize(buffer: &mut Vec<u8>, len: usize) -> Result<(), OutOfMemory> {
    let more = len.saturating_sub(buffer.len());
    buffer.try_reserve_exact(more).map_err(|_| OutOfMemory(len))?;
    buffer.resize(len, 0);
    Ok(())
}

/// Number of bytes tested at once: enough that the test of the result costs little.
const STEP: usize = 256;

/// Whether all bytes of `block` are zero.
pub fn is_zero(block: &[u8]) -> bool {
    let mut steps = block.chunks_exact(STEP);
    steps.all(is_zero_step) && steps.remainder().iter().all(|&byte| byte == 0)
}

/// Joins words, not bytes: testing a register takes one instruction, but compilers would join its bytes one by one.
fn is_zero_step(step: &[u8]) -> bool {
    let (words, _) = step.as_chunks();
    words.iter().fold(0, |seen, &word| seen | u64::from_ne_bytes(word)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_counts() {
        for len in [0, 1, 255, 256, 257, 4096, 4099] {
            let mut bytes = vec![0; len];
            assert!(is_zero(&bytes), "{len} zeros");
            for at in [0, len / 2, len.saturating_sub(1)].into_iter().filter(|&at| at < len) {
                bytes[at] = 0x80;
                assert!(!is_zero(&bytes), "byte {at} of {len}");
                bytes[at] = 0;
            }
        }
    }
}
