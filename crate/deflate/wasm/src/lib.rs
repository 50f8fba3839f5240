//! The WebAssembly module `deflate.wasm`.

#![allow(unsafe_code, reason = "exports without wasm-bindgen")]

use decant_deflate::{DeflateError, Deflater, Request};
use decant_module::{Service, export};

#[derive(Default)]
struct DeflateService(Deflater);

impl Service for DeflateService {
    type Request = Request;

    fn serve(&mut self, request: Request, input: &[u8], output: &mut [u8]) -> Result<usize, DeflateError> {
        match request {
            Request::Segment => self.0.segment(input, output),
            Request::Stream { window } => self.0.stream(input, window as usize, output),
        }
    }
}

export!(deflate, DeflateService);
