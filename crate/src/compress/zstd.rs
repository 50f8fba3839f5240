//! zstd (RFC 8878). On WebAssembly it is a module, which must be ready.

use super::failure::DecompressError;
use crate::error::{Error, Result};
use decant_zstd::ZstdError;

/// Approximate sizes of a decoder and an encoder, in bytes, for the out-of-memory message.
const DECODER: usize = 160 << 10;
const ENCODER: usize = 1 << 20;

impl From<ZstdError> for DecompressError {
    fn from(error: ZstdError) -> Self {
        match error {
            ZstdError::InputEnds => Self::InputEnds,
            ZstdError::OutOfMemory => Error::out_of_memory(DECODER).into(),
            ZstdError::Invalid | ZstdError::OutputFull => Self::Invalid,
        }
    }
}

/// Compresses `unit` to a frame at the start of `output`, which is as long. Returns the length of the frame, or that of
/// `unit` if the frame does not fit. Fails with `internal` if memory runs out.
pub(super) fn compress(zstd: &mut decant_zstd::Zstd, unit: &[u8], output: &mut [u8]) -> Result<usize> {
    match zstd.compress(unit, output) {
        Ok(len) => Ok(len),
        Err(ZstdError::OutputFull) => Ok(unit.len()),
        Err(_) => Err(Error::out_of_memory(ENCODER)),
    }
}
