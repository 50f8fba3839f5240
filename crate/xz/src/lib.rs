//! Decodes and encodes xz.
//!
//! On WebAssembly the codec is a module with separate memory (`xz.wasm`), which is loaded only for files that
//! and outputs that need it.

mod crc64;
#[cfg(feature = "direct")]
mod direct;
mod stream;
mod zeros;

#[cfg(feature = "direct")]
pub use direct::{XzDecoder, XzDivider, XzEncoder, search};
#[cfg(not(feature = "direct"))]
pub use imported::XzEncoder;
pub use stream::{MAX_BLOCKS, Stream, padding};
pub use zeros::zero_block;

use decant_module::{Module, StreamFailure, StreamRequest};
use serde::{Deserialize, Serialize};

/// The module. It must be ready before anything else is used, unless the decoder is linked.
pub static MODULE: Module = Module::new("xz");

/// The signature of a stream.
pub const MAGIC: [u8; 6] = *b"\xfd7zXZ\0";

/// The unit of all parts of a stream, in bytes.
pub(crate) const UNIT: usize = 4;

/// A failure to encode.
pub type XzError = StreamFailure;

/// Returns the maximum length of the block of `len` bytes. Incompressible data is in chunks of 64 KiB with 3 bytes each.
pub const fn bound(len: usize) -> usize {
    const AROUND: usize = 128;
    len + (len >> 14) + AROUND
}

/// A request to the module.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub enum XzRequest {
    /// See [`XzEncoder::block`].
    Block,
    /// About an [`XzDecoder`].
    Stream(StreamRequest),
}

impl From<StreamRequest> for XzRequest {
    fn from(request: StreamRequest) -> Self {
        Self::Stream(request)
    }
}

impl decant_module::Request for XzRequest {
    type Failure = XzError;
}

#[cfg(not(feature = "direct"))]
decant_module::imported_codec!(Xz, XzRequest, XzDecoder, XzDivider, search);

#[cfg(not(feature = "direct"))]
mod imported {
    use crate::{MODULE, XzError, XzRequest};

    /// The encoder of the module.
    #[derive(Default)]
    pub struct XzEncoder(());

    impl XzEncoder {
        /// See `direct/encoder.rs`.
        pub fn block(&mut self, input: &[u8], output: &mut [u8]) -> Result<usize, XzError> {
            MODULE.serve(XzRequest::Block, input, output)
        }
    }
}

#[cfg(all(feature = "direct", target_arch = "wasm32"))]
mod service {
    use crate::{XzDecoder, XzEncoder, XzError, XzRequest};
    use decant_module::{Decoders, Service};

    #[derive(Default)]
    struct XzService {
        blocks: XzEncoder,
        streams: Decoders<XzDecoder>,
    }

    impl Service for XzService {
        type Request = XzRequest;

        fn serve(&mut self, request: XzRequest, input: &[u8], output: &mut [u8]) -> Result<usize, XzError> {
            match request {
                XzRequest::Block => self.blocks.block(input, output),
                XzRequest::Stream(request) => self.streams.serve_stream(request, input, output),
            }
        }
    }

    decant_module::export!(xz, XzService);
}
