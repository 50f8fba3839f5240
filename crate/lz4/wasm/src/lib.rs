//! The WebAssembly module `lz4.wasm`.

#![allow(unsafe_code, reason = "exports without wasm-bindgen")]

use decant_lz4::Lz4Decoder;
use decant_module::{Decoders, Service, StreamFailure, StreamRequest, Undivided, export};

#[derive(Default)]
struct Lz4Service(Decoders<Lz4Decoder, Undivided>);

impl Service for Lz4Service {
    type Request = StreamRequest;

    fn serve(&mut self, request: StreamRequest, input: &[u8], output: &mut [u8]) -> Result<usize, StreamFailure> {
        self.0.serve(request, |_| None, input, output)
    }
}

export!(lz4, Lz4Service);
