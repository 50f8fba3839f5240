//! The WebAssembly module `bzip2.wasm`.

#![allow(unsafe_code, reason = "exports without wasm-bindgen")]

use decant_bzip2::{Bzip2Decoder, Bzip2Divider};
use decant_module::{Decoders, Service, StreamFailure, StreamRequest, export};

#[derive(Default)]
struct Bzip2Service(Decoders<Bzip2Decoder, Bzip2Divider>);

impl Service for Bzip2Service {
    type Request = StreamRequest;

    fn serve(&mut self, request: StreamRequest, input: &[u8], output: &mut [u8]) -> Result<usize, StreamFailure> {
        self.0.serve(request, |_| None, input, output)
    }
}

export!(bzip2, Bzip2Service);
