//! zstd (RFC 8878), one cluster at a time or as a stream, by the C library that QEMU also uses.
//!
//! On WebAssembly the library is a module with separate memory (`crate/zstd/wasm`), which is loaded only for images,
//! files and outputs that need it.

#[cfg(feature = "direct")]
mod direct;
#[cfg(not(feature = "direct"))]
mod imported;

#[cfg(feature = "direct")]
pub use direct::{MODULE, Zstd, ZstdDecoder, ZstdDivider, search};
#[cfg(not(feature = "direct"))]
pub use imported::{MODULE, Zstd, ZstdDecoder, ZstdDivider, search};

use decant_module::{StreamRequest, failures};
use serde::{Deserialize, Serialize};

/// The magic number of a frame, little endian.
pub const MAGIC: u32 = 0xfd2f_b528;

failures! {
    /// A failure to compress or decompress.
    pub enum ZstdError {
        /// The input is not valid compressed data, or ends the frame before the output is full.
        Invalid = -1,
        /// The input ends before the compressed data does.
        InputEnds = -2,
        /// Memory ran out.
        OutOfMemory = -3,
        /// The output is too short for the compressed data.
        OutputFull = -4,
    }
}

/// A request to the module.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub enum Request {
    /// See [`Zstd::compress`].
    Compress,
    /// See [`Zstd::decompress`].
    Decompress,
    /// About a [`ZstdDecoder`].
    Stream(StreamRequest),
}

impl From<StreamRequest> for Request {
    fn from(request: StreamRequest) -> Self {
        Self::Stream(request)
    }
}

impl decant_module::Request for Request {
    type Failure = ZstdError;
}
