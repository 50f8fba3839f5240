//! Compresses buffers with deflate (RFC 1951).
//!
//! On WebAssembly the compressor is a module with separate memory (`deflate.wasm`), which is loaded only for outputs
//! that need it.

#[cfg(feature = "direct")]
mod direct;

#[cfg(feature = "direct")]
pub use direct::Deflater;
#[cfg(not(feature = "direct"))]
pub use imported::Deflater;

use decant_codec::bit_writer::SLACK;
use decant_module::{Module, failures};
use serde::{Deserialize, Serialize};

/// The module. It must be ready before anything else is used, unless the compressor is linked.
pub static MODULE: Module = Module::new("deflate");

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
pub enum DeflateRequest {
    /// See [`Deflater::segment`].
    Segment,
    /// See [`Deflater::stream`].
    Stream {
        /// How far matches reach back, in bytes.
        window: u32,
    },
}

impl decant_module::Request for DeflateRequest {
    type Failure = DeflateError;
}

#[cfg(not(feature = "direct"))]
mod imported {
    use crate::{DeflateError, DeflateRequest, MODULE, bound};

    /// The compressor of the module, which is allocated on first use, and reused.
    #[derive(Default)]
    pub struct Deflater(());

    impl Deflater {
        /// See `direct/mod.rs`.
        pub fn segment(&mut self, input: &[u8], output: &mut [u8]) -> Result<usize, DeflateError> {
            MODULE.serve(DeflateRequest::Segment, input, &mut output[..bound(input.len())])
        }

        /// See `direct/mod.rs`.
        pub fn stream(&mut self, input: &[u8], window: usize, output: &mut [u8]) -> Result<usize, DeflateError> {
            let request = DeflateRequest::Stream { window: window as u32 };
            MODULE.serve(request, input, &mut output[..bound(input.len())])
        }
    }
}

#[cfg(all(feature = "direct", target_arch = "wasm32"))]
mod service {
    use crate::{DeflateError, DeflateRequest, Deflater};
    use decant_module::Service;

    #[derive(Default)]
    struct DeflateService(Deflater);

    impl Service for DeflateService {
        type Request = DeflateRequest;

        fn serve(&mut self, request: DeflateRequest, input: &[u8], output: &mut [u8]) -> Result<usize, DeflateError> {
            match request {
                DeflateRequest::Segment => self.0.segment(input, output),
                DeflateRequest::Stream { window } => self.0.stream(input, window as usize, output),
            }
        }
    }

    decant_module::export!(deflate, DeflateService);
}
