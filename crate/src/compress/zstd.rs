//! Decompresses zstd (RFC 8878), one cluster at a time, by the C library that QEMU also uses.

use super::failure::DecompressError;
use crate::error::Error;
use zstd_safe::{DCtx, find_frame_compressed_size};

const MAGIC: u32 = 0xfd2f_b528;
const SKIPPABLE: std::ops::RangeInclusive<u32> = 0x184d_2a50..=0x184d_2a5f;
/// Offsets in a frame: of the frame header descriptor, and of the window descriptor after it.
const DESCRIPTOR: usize = 4;
const WINDOW: usize = 5;
/// The window descriptor of 2^27 bytes. QEMU rejects larger windows too.
const LARGEST_WINDOW: u8 = (27 - 10) << 3;
/// Error codes of the library (`zstd_errors.h`; functions return them negated): out of memory, and a truncated frame.
const MEMORY_ALLOCATION: usize = 64;
const SRC_SIZE_WRONG: usize = 72;
/// Approximate size of a decoder, in bytes, for the out-of-memory message.
const DECODER: usize = 160 << 10;

/// A decoder. It is allocated on first use, and reused for all clusters.
#[derive(Default)]
pub struct Unzstd(Option<DCtx<'static>>);

impl Unzstd {
    /// Decompresses frames from the start of `input` until `output` is full. Later bytes are ignored, since the length
    /// of compressed data is known in sectors only. The last frame must end when `output` is full, with a correct
    /// checksum and content size.
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

    /// Decompresses one frame. Returns the length of the frame and of its content. One call decompresses directly to
    /// `output`, so the declared window needs no memory.
    fn frame(&mut self, input: &[u8], output: &mut [u8]) -> Result<(usize, usize), DecompressError> {
        let is_single_segment = input.get(DESCRIPTOR).is_some_and(|descriptor| descriptor & 0x20 != 0);
        if !is_single_segment && input.get(WINDOW).is_some_and(|&window| window > LARGEST_WINDOW) {
            return Err(DecompressError::Invalid);
        }
        let len = frame_len(input)?;
        let written = self.context()?.decompress(output, &input[..len]).map_err(|code| match reason(code) {
            // The frame is complete, so an error about its length means invalid data.
            DecompressError::InputEnds => DecompressError::Invalid,
            reason => reason,
        })?;
        Ok((len, written))
    }

    fn context(&mut self) -> Result<&mut DCtx<'static>, Error> {
        if self.0.is_none() {
            self.0 = Some(DCtx::try_create().ok_or_else(|| Error::out_of_memory(DECODER))?);
        }
        Ok(self.0.as_mut().expect("it was just made"))
    }
}

/// Interprets an error that a function of the library returned in place of a length.
fn reason(result: usize) -> DecompressError {
    match result.wrapping_neg() {
        SRC_SIZE_WRONG => DecompressError::InputEnds,
        MEMORY_ALLOCATION => Error::out_of_memory(DECODER).into(),
        _ => DecompressError::Invalid,
    }
}

/// Returns the length of the frame at the start of `input`.
fn frame_len(input: &[u8]) -> Result<usize, DecompressError> {
    find_frame_compressed_size(input).map_err(reason)
}

#[cfg(test)]
mod tests {
    use super::*;
    use zstd_safe::get_error_name;

    #[test]
    fn codes_are_those_of_the_library() {
        let names = [MEMORY_ALLOCATION, SRC_SIZE_WRONG].map(|code| get_error_name(code.wrapping_neg()));
        assert_eq!(names, ["Allocation error : not enough memory", "Src size is incorrect"]);
        assert!(matches!(reason(MEMORY_ALLOCATION.wrapping_neg()), DecompressError::Failed(_)));
        assert_eq!(reason(SRC_SIZE_WRONG.wrapping_neg()), DecompressError::InputEnds);
        assert_eq!(reason(1usize.wrapping_neg()), DecompressError::Invalid);
    }
}
