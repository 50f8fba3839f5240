//! By the module `crate/xz/wasm`.

use decant_module::{
    BlockFile, BlockSearch, Module, ModuleDecoder, ModuleSearch, Step, StreamDecoder, StreamFailure, StreamRequest,
};

/// The module. It must be ready before [`XzDecoder`] is created.
pub static MODULE: Module = Module::loaded("xz");

/// A decoder in the module.
pub struct XzDecoder(ModuleDecoder);

impl XzDecoder {
    /// Creates a decoder. Fails if memory runs out.
    pub fn new() -> Result<Self, StreamFailure> {
        ModuleDecoder::new::<StreamRequest>(&MODULE).map(Self)
    }
}

impl StreamDecoder for XzDecoder {
    fn decode(&mut self, input: &[u8], output: &mut [u8]) -> Step {
        self.0.decode(input, output)
    }
}

/// A divider in the module.
pub struct XzDivider(ModuleDecoder);

impl XzDivider {
    /// Creates a divider. Fails if memory runs out.
    pub fn new() -> Result<Self, StreamFailure> {
        ModuleDecoder::dividing::<StreamRequest>(&MODULE).map(Self)
    }
}

impl StreamDecoder for XzDivider {
    fn decode(&mut self, input: &[u8], output: &mut [u8]) -> Step {
        self.0.decode(input, output)
    }
}

/// Begins to search a file for blocks in the module. Returns `None` if memory runs out.
pub fn search(file: BlockFile) -> Option<Box<dyn BlockSearch>> {
    Some(Box::new(ModuleSearch::new::<StreamRequest>(&MODULE, file).ok()?))
}
