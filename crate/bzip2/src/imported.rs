//! By the module `crate/bzip2/wasm`.

use decant_module::{Module, ModuleDecoder, Step, StreamDecoder, StreamFailure, StreamRequest};

/// The module. It must be ready before [`Bzip2Decoder`] is created.
pub static MODULE: Module = Module::loaded("bzip2");

/// A decoder in the module.
pub struct Bzip2Decoder(ModuleDecoder);

impl Bzip2Decoder {
    /// Creates a decoder. Fails if memory runs out.
    pub fn new() -> Result<Self, StreamFailure> {
        ModuleDecoder::new::<StreamRequest>(&MODULE).map(Self)
    }
}

impl StreamDecoder for Bzip2Decoder {
    fn decode(&mut self, input: &[u8], output: &mut [u8]) -> Step {
        self.0.decode(input, output)
    }
}

/// A divider of streams in the module.
pub struct Bzip2Divider(ModuleDecoder);

impl Bzip2Divider {
    /// Creates a divider. Fails if memory runs out.
    pub fn new() -> Result<Self, StreamFailure> {
        ModuleDecoder::dividing::<StreamRequest>(&MODULE).map(Self)
    }
}

impl StreamDecoder for Bzip2Divider {
    fn decode(&mut self, input: &[u8], output: &mut [u8]) -> Step {
        self.0.decode(input, output)
    }
}
