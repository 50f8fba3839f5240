//! By the module `crate/lz4/wasm`.

use decant_module::{Module, ModuleDecoder, Step, StreamDecoder, StreamFailure, StreamRequest};

/// The module. It must be ready before [`Lz4Decoder`] is created.
pub static MODULE: Module = Module::loaded("lz4");

/// A decoder in the module.
pub struct Lz4Decoder(ModuleDecoder);

impl Lz4Decoder {
    /// Creates a decoder. Fails if memory runs out.
    pub fn new() -> Result<Self, StreamFailure> {
        ModuleDecoder::new::<StreamRequest>(&MODULE).map(Self)
    }
}

impl StreamDecoder for Lz4Decoder {
    fn decode(&mut self, input: &[u8], output: &mut [u8]) -> Step {
        self.0.decode(input, output)
    }
}
