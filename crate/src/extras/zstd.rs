//! zstd (RFC 8878), one cluster at a time, by the C library, which is QEMU's too.

use crate::decode::DecompressError;
use zstd_safe::{DCtx, find_frame_compressed_size, get_error_name};

const MAGIC: u32 = 0xfd2f_b528;
const SKIPPABLE: std::ops::RangeInclusive<u32> = 0x184d_2a50..=0x184d_2a5f;
/// Where in a frame its descriptor stands, and behind it the window's.
const DESCRIPTOR: usize = 4;
const WINDOW: usize = 5;
/// The window descriptor of 2^27 bytes: more is refused, as QEMU does.
const LARGEST_WINDOW: u8 = (27 - 10) << 3;
/// How the library calls a frame that is not all there.
const INPUT_ENDS: &str = "Src size is incorrect";

/// A decoder, reused from cluster to cluster.
pub struct Unzstd(DCtx<'static>);

impl Default for Unzstd {
    fn default() -> Self {
        Self(DCtx::create())
    }
}

impl Unzstd {
    /// Decompresses frames from the start of `input` until `output` is full. What follows in
    /// `input` is ignored, since the length of compressed data is only known in sectors; but the
    /// last frame must end there, and its checksum and its declared size must be right.
    pub fn decompress(&mut self, mut input: &[u8], mut output: &mut [u8]) -> Result<(), DecompressError> {
        while !output.is_empty() {
            let magic = u32::from_le_bytes(*input.first_chunk().ok_or(DecompressError::InputEnds)?);
            let (used, written) = if SKIPPABLE.contains(&magic) {
                (frame_len(input)?, 0)
            } else if magic == MAGIC {
                self.frame(input, output)?
            } else {
                return Err(DecompressError::Invalid);
            };
            input = &input[used..];
            output = &mut output[written..];
        }
        Ok(())
    }

    /// Decompresses one frame; answers with its length and that of its content. It is decompressed in
    /// one go, straight to its place: so nothing is allocated by what its header says of its window.
    fn frame(&mut self, input: &[u8], output: &mut [u8]) -> Result<(usize, usize), DecompressError> {
        let is_single_segment = input.get(DESCRIPTOR).is_some_and(|descriptor| descriptor & 0x20 != 0);
        if !is_single_segment && input.get(WINDOW).is_some_and(|&window| window > LARGEST_WINDOW) {
            return Err(DecompressError::Invalid);
        }
        let len = frame_len(input)?;
        let written = self.0.decompress(output, &input[..len]).map_err(|_| DecompressError::Invalid)?;
        Ok((len, written))
    }
}

/// The length of the frame at the start of `input`.
fn frame_len(input: &[u8]) -> Result<usize, DecompressError> {
    find_frame_compressed_size(input).map_err(|code| match get_error_name(code) {
        INPUT_ENDS => DecompressError::InputEnds,
        _ => DecompressError::Invalid,
    })
}
