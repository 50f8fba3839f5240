//! zstd (RFC 8878), one cluster at a time or as a stream, by the C library that QEMU also uses.
//!
//! On WebAssembly the library is a module with separate memory (`zstd.wasm`), which is loaded only for images,
//! files and outputs that need it.

#[cfg(feature = "direct")]
mod direct;
mod seek_table;
mod zeros;

pub use seek_table::{MAX_FRAMES, SeekTable};
pub use zeros::zero_frame;

#[cfg(feature = "direct")]
pub use direct::{Zstd, ZstdDecoder, ZstdDivider, search};
#[cfg(not(feature = "direct"))]
pub use imported::Zstd;

use decant_module::{Module, StreamRequest, failures};
use serde::{Deserialize, Serialize};

/// The module. It must be ready before anything else is used, unless the library is linked.
pub static MODULE: Module = Module::new("zstd");

/// The magic number of a frame, little endian.
pub const MAGIC: u32 = 0xfd2f_b528;

/// Returns the maximum length of a frame of `len` bytes, as the library's `ZSTD_COMPRESSBOUND`.
pub const fn bound(len: usize) -> usize {
    const SMALL: usize = 128 << 10;
    len + (len >> 8) + (SMALL.saturating_sub(len) >> 11)
}

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
pub enum ZstdRequest {
    /// See [`Zstd::compress`].
    Compress,
    /// See [`Zstd::checked_frame`].
    CheckedFrame,
    /// See [`Zstd::decompress`].
    Decompress,
    /// About a [`ZstdDecoder`].
    Stream(StreamRequest),
}

impl From<StreamRequest> for ZstdRequest {
    fn from(request: StreamRequest) -> Self {
        Self::Stream(request)
    }
}

impl decant_module::Request for ZstdRequest {
    type Failure = ZstdError;
}

#[cfg(not(feature = "direct"))]
decant_module::imported_codec!(ZstdCodec, ZstdRequest, ZstdDecoder, ZstdDivider, search);

#[cfg(not(feature = "direct"))]
mod imported {
    use crate::{MODULE, ZstdError, ZstdRequest};

    /// The decoder and the encoder of the module, which are allocated on first use, and reused for all clusters.
    #[derive(Default)]
    pub struct Zstd(());

    impl Zstd {
        /// See `direct/mod.rs`.
        pub fn decompress(&mut self, input: &[u8], output: &mut [u8]) -> Result<(), ZstdError> {
            MODULE.serve(ZstdRequest::Decompress, input, output).map(drop)
        }

        /// See `direct/mod.rs`.
        pub fn compress(&mut self, input: &[u8], output: &mut [u8]) -> Result<usize, ZstdError> {
            MODULE.serve(ZstdRequest::Compress, input, output)
        }

        /// See `direct/mod.rs`.
        pub fn checked_frame(&mut self, input: &[u8], output: &mut [u8]) -> Result<usize, ZstdError> {
            MODULE.serve(ZstdRequest::CheckedFrame, input, output)
        }
    }
}

#[cfg(all(feature = "direct", target_arch = "wasm32"))]
mod service {
    use crate::{Zstd, ZstdDecoder, ZstdError, ZstdRequest};
    use decant_module::{Decoders, Service};

    #[derive(Default)]
    struct ZstdService {
        clusters: Zstd,
        streams: Decoders<ZstdDecoder>,
    }

    impl Service for ZstdService {
        type Request = ZstdRequest;

        fn serve(&mut self, request: ZstdRequest, input: &[u8], output: &mut [u8]) -> Result<usize, ZstdError> {
            match request {
                ZstdRequest::Compress => self.clusters.compress(input, output),
                ZstdRequest::CheckedFrame => self.clusters.checked_frame(input, output),
                ZstdRequest::Decompress => self.clusters.decompress(input, output).map(|()| output.len()),
                ZstdRequest::Stream(request) => self.streams.serve_stream(request, input, output),
            }
        }
    }

    decant_module::export!(zstd, ZstdService);
}
