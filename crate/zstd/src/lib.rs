//! zstd (RFC 8878), one cluster at a time, by the C library that QEMU also uses.
//!
//! On WebAssembly the library is a module with separate memory (`crate/zstd/wasm`), which is loaded only for images and
//! outputs that need it. Data is copied in and out.

#[cfg(feature = "direct")]
mod direct;
#[cfg(not(feature = "direct"))]
mod imported;

#[cfg(feature = "direct")]
pub use direct::{Zstd, add, is_ready};
#[cfg(not(feature = "direct"))]
pub use imported::{Zstd, add, is_ready};

/// A failure to compress or decompress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ZstdError {
    /// The input is not valid compressed data, or ends the frame before the output is full.
    Invalid,
    /// The input ends before the compressed data does.
    InputEnds,
    /// Memory ran out.
    OutOfMemory,
    /// The output is too short for the compressed data.
    OutputFull,
}

/// What the functions of the module return: a length, or an error as a negative number.
pub type Returned = i32;

const ERRORS: [ZstdError; 4] =
    [ZstdError::Invalid, ZstdError::InputEnds, ZstdError::OutOfMemory, ZstdError::OutputFull];

/// Returns `result` as a function of the module returns it.
pub fn to_returned(result: Result<usize, ZstdError>) -> Returned {
    match result {
        Ok(len) => len as Returned,
        Err(error) => -1 - ERRORS.iter().position(|&other| other == error).unwrap_or_default() as Returned,
    }
}

/// Interprets the result of a function of the module.
pub fn from_returned(returned: Returned) -> Result<usize, ZstdError> {
    usize::try_from(returned).map_err(|_| ERRORS[(-1 - returned) as usize])
}
