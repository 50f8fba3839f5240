//! Compresses buffers with deflate (RFC 1951).
//!
//! On WebAssembly the compressor is a module with separate memory (`crate/deflate/wasm`), which is loaded only for outputs
//! that need it.

#[cfg(feature = "direct")]
mod direct;
#[cfg(not(feature = "direct"))]
mod imported;

#[cfg(feature = "direct")]
pub use direct::{Deflater, MODULE};
#[cfg(not(feature = "direct"))]
pub use imported::{Deflater, MODULE};

use decant_codec::bit_writer::SLACK;
use decant_module::failures;
use serde::{Deserialize, Serialize};

/// Minimum length of a block, in bytes; shorter input is one block.
const SHORTEST_BLOCK: usize = 5000;
/// Maximum overhead of a block, in bytes: its first bits, padding, and the length of a stored block.
const BLOCK_OVERHEAD: usize = 10;

/// Minimum size of the output buffer for an input of `len` bytes, in bytes.
pub fn bound(len: usize) -> usize {
    // Full blocks are longer than the shortest, and stored blocks of 65,535 bytes are longer still.
    len.saturating_add((len / SHORTEST_BLOCK + 2) * BLOCK_OVERHEAD + SLACK)
}

failures! {
    /// A failure to compress.
    pub enum DeflateError {
        /// Memory ran out.
        OutOfMemory = -1,
    }
}

/// A request to the module.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub enum Request {
    /// See [`Deflater::segment`].
    Segment,
    /// See [`Deflater::stream`].
    Stream {
        /// How far matches reach back, in bytes.
        window: u32,
    },
}

impl decant_module::Request for Request {
    type Failure = DeflateError;
}
