//! zstd by its C library.

mod blocks;
mod divider;
mod frame_header;
mod stream;

pub use blocks::search;
pub use divider::ZstdDivider;
pub use stream::ZstdDecoder;

use crate::{MAGIC, ZstdError};
use decant_module::{BeginSearch, CodecDecoder, SKIPPABLE_MAGIC};
use zstd_safe::{CCtx, CParameter, DCtx, ResetDirective, find_frame_compressed_size};

/// Offsets in a frame: of the frame header descriptor, and of the window descriptor after it.
const DESCRIPTOR: usize = 4;
const WINDOW: usize = 5;
/// The window descriptor of 2^27 bytes. QEMU rejects larger windows too.
const LARGEST_WINDOW: u8 = (27 - 10) << 3;
/// Error codes of the library (`zstd_errors.h`; functions return them negated).
const MEMORY_ALLOCATION: usize = 64;
const DST_SIZE_TOO_SMALL: usize = 70;
const SRC_SIZE_WRONG: usize = 72;

/// A decoder and an encoder. Each is allocated on first use, and reused for all clusters.
#[derive(Default)]
pub struct Zstd {
    decoder: Option<DCtx<'static>>,
    encoder: Option<CCtx<'static>>,
}

impl Zstd {
    /// Decompresses frames from the start of `input` until `output` is full. Later bytes are ignored, since the length
    /// of compressed data is known in sectors only. The last frame must end when `output` is full, with a correct
    /// checksum and content size.
    pub fn decompress(&mut self, mut input: &[u8], mut output: &mut [u8]) -> Result<(), ZstdError> {
        while !output.is_empty() {
            let magic = u32::from_le_bytes(*input.first_chunk().ok_or(ZstdError::InputEnds)?);
            let (used, written) = if SKIPPABLE_MAGIC.contains(&magic) {
                (frame_len(input)?, 0)
            } else if magic == MAGIC {
                self.frame(input, output)?
            } else {
                return Err(ZstdError::Invalid);
            };
            input = &input[used..];
            output = &mut output[written..];
        }
        Ok(())
    }

    /// Compresses `input` to one frame at the start of `output`, at the library's default level, as QEMU does. Returns
    /// the length of the frame.
    pub fn compress(&mut self, input: &[u8], output: &mut [u8]) -> Result<usize, ZstdError> {
        self.compress_frame(input, output, false)
    }

    /// Compresses as [`Self::compress`] does, and adds a checksum of the content to the frame.
    pub fn checked_frame(&mut self, input: &[u8], output: &mut [u8]) -> Result<usize, ZstdError> {
        self.compress_frame(input, output, true)
    }

    fn compress_frame(&mut self, input: &[u8], output: &mut [u8], has_checksum: bool) -> Result<usize, ZstdError> {
        if self.encoder.is_none() {
            self.encoder = Some(CCtx::try_create().ok_or(ZstdError::OutOfMemory)?);
        }
        let encoder = self.encoder.as_mut().expect("it was just made");
        // A failure to compress leaves it inside a frame, where no parameter can be set.
        encoder.reset(ResetDirective::SessionOnly).map_err(reason)?;
        encoder.set_parameter(CParameter::ChecksumFlag(has_checksum)).map_err(reason)?;
        encoder.compress2(output, input).map_err(reason)
    }

    /// Decompresses one frame. Returns the length of the frame and of its content. One call decompresses directly to
    /// `output`, so the declared window needs no memory.
    fn frame(&mut self, input: &[u8], output: &mut [u8]) -> Result<(usize, usize), ZstdError> {
        let is_single_segment = input.get(DESCRIPTOR).is_some_and(|descriptor| descriptor & 0x20 != 0);
        if !is_single_segment && input.get(WINDOW).is_some_and(|&window| window > LARGEST_WINDOW) {
            return Err(ZstdError::Invalid);
        }
        let len = frame_len(input)?;
        let written = self.decoder()?.decompress(output, &input[..len]).map_err(|code| match reason(code) {
            ZstdError::OutOfMemory => ZstdError::OutOfMemory,
            // The frame is complete, so an error about its length means invalid data.
            _ => ZstdError::Invalid,
        })?;
        Ok((len, written))
    }

    fn decoder(&mut self) -> Result<&mut DCtx<'static>, ZstdError> {
        if self.decoder.is_none() {
            self.decoder = Some(DCtx::try_create().ok_or(ZstdError::OutOfMemory)?);
        }
        Ok(self.decoder.as_mut().expect("it was just made"))
    }
}

impl CodecDecoder for ZstdDecoder {
    type Divider = ZstdDivider;
    const SEARCH: BeginSearch = search;
}

/// Interprets an error that a function of the library returned in place of a length.
fn reason(result: usize) -> ZstdError {
    match result.wrapping_neg() {
        SRC_SIZE_WRONG => ZstdError::InputEnds,
        MEMORY_ALLOCATION => ZstdError::OutOfMemory,
        DST_SIZE_TOO_SMALL => ZstdError::OutputFull,
        _ => ZstdError::Invalid,
    }
}

/// Returns the length of the frame at the start of `input`.
fn frame_len(input: &[u8]) -> Result<usize, ZstdError> {
    find_frame_compressed_size(input).map_err(reason)
}

#[cfg(test)]
mod tests {
    use super::*;
    use zstd_safe::get_error_name;

    #[test]
    fn codes_are_those_of_the_library() {
        let names = [
            (MEMORY_ALLOCATION, "Allocation error : not enough memory", ZstdError::OutOfMemory),
            (DST_SIZE_TOO_SMALL, "Destination buffer is too small", ZstdError::OutputFull),
            (SRC_SIZE_WRONG, "Src size is incorrect", ZstdError::InputEnds),
            (stream::CHECKSUM_WRONG, "Restored data doesn't match checksum", ZstdError::Invalid),
        ];
        for (code, name, error) in names {
            assert_eq!(get_error_name(code.wrapping_neg()), name);
            assert_eq!(reason(code.wrapping_neg()), error);
        }
        assert_eq!(reason(1usize.wrapping_neg()), ZstdError::Invalid);
    }
}
