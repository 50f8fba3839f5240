//! The WebAssembly module `zstd.wasm`.

#![allow(unsafe_code, reason = "exports without wasm-bindgen")]

use decant_module::{Service, export};
use decant_zstd::{Request, Zstd, ZstdError};

#[derive(Default)]
struct ZstdService(Zstd);

impl Service for ZstdService {
    type Request = Request;

    fn serve(&mut self, request: Request, input: &[u8], output: &mut [u8]) -> Result<usize, ZstdError> {
        match request {
            Request::Compress => self.0.compress(input, output),
            Request::Decompress => self.0.decompress(input, output).map(|()| output.len()),
        }
    }
}

export!(zstd, ZstdService);
