//! deflate (RFC 1951). On WebAssembly the compressor is a module, which must be ready.

use crate::error::Error;
use decant_deflate::DeflateError;

/// Approximate size of a compressor, in bytes, for the out-of-memory message.
const DEFLATER: usize = 300 << 10;

impl From<DeflateError> for Error {
    fn from(DeflateError::OutOfMemory: DeflateError) -> Self {
        Self::out_of_memory(DEFLATER)
    }
}
