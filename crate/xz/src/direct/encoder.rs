//! Encodes blocks. A library encodes LZMA2.

use crate::crc64::Crc64;
use crate::stream::block_header;
use crate::{UNIT, XzError, bound};
use lzma_rust2::{Lzma2Options, Lzma2Writer, Write};

/// The level of compression: of those of `xz`, the one that takes the least time for its size.
const LEVEL: u32 = 1;
/// Estimated bytes that the encoder of a block allocates besides its output. The library does not report that memory ran out, so
/// this much is allocated and freed first.
const MEMORY: usize = 9 << 20;

/// Encodes blocks.
#[derive(Default)]
pub struct XzEncoder(());

impl XzEncoder {
    /// Encodes `input` to one block at the start of `output`, which has [`bound`] bytes for it. Returns the length of the block.
    pub fn block(&mut self, input: &[u8], output: &mut [u8]) -> Result<usize, XzError> {
        let (mut memory, mut data) = (Vec::<u8>::new(), Vec::new());
        data.try_reserve_exact(bound(input.len())).map_err(|_| XzError::OutOfMemory)?;
        memory.try_reserve_exact(MEMORY).map_err(|_| XzError::OutOfMemory)?;
        drop(memory);
        let mut encoder = Lzma2Writer::new(data, Lzma2Options::with_preset(LEVEL));
        encoder.write_all(input).expect("memory takes all bytes");
        let data = encoder.finish().expect("memory takes all bytes");
        let header = block_header(data.len() as u64, input.len() as u64);
        let mut check = Crc64::default();
        check.add(input);
        let check = check.value().to_le_bytes();
        let padding = &[0; UNIT][..data.len().next_multiple_of(UNIT) - data.len()];
        let mut len = 0;
        for part in [&header[..], &data, padding, &check] {
            output[len..][..part.len()].copy_from_slice(part);
            len += part.len();
        }
        Ok(len)
    }
}
