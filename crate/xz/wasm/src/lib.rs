//! The WebAssembly module `xz.wasm`.

#![allow(unsafe_code, reason = "exports without wasm-bindgen")]

use decant_module::{Decoders, Service, StreamFailure, StreamRequest, export};
use decant_xz::{XzDecoder, XzDivider};

#[derive(Default)]
struct XzService(Decoders<XzDecoder, XzDivider>);

impl Service for XzService {
    type Request = StreamRequest;

    fn serve(&mut self, request: StreamRequest, input: &[u8], output: &mut [u8]) -> Result<usize, StreamFailure> {
        self.0.serve(request, decant_xz::search, input, output)
    }
}

export!(xz, XzService);
