//! The WebAssembly module `zstd.wasm`.

#![allow(unsafe_code, reason = "exports without wasm-bindgen")]

use decant_module::{Decoders, Service, export};
use decant_zstd::{Request, Zstd, ZstdDecoder, ZstdDivider, ZstdError};

#[derive(Default)]
struct ZstdService {
    clusters: Zstd,
    streams: Decoders<ZstdDecoder, ZstdDivider>,
}

impl Service for ZstdService {
    type Request = Request;

    fn serve(&mut self, request: Request, input: &[u8], output: &mut [u8]) -> Result<usize, ZstdError> {
        match request {
            Request::Compress => self.clusters.compress(input, output),
            Request::Decompress => self.clusters.decompress(input, output).map(|()| output.len()),
            Request::Stream(request) => self.streams.serve(request, decant_zstd::search, input, output),
        }
    }
}

export!(zstd, ZstdService);
