//! By the module `crate/zstd/wasm`.

use crate::{Request, ZstdError};
use decant_module::{BlockFile, BlockSearch, Module, ModuleDecoder, ModuleSearch, Step, StreamDecoder};

/// The module. It must be ready before anything else is used.
pub static MODULE: Module = Module::loaded("zstd");

/// The decoder and the encoder of the module, which are allocated on first use, and reused for all clusters.
#[derive(Default)]
pub struct Zstd(());

impl Zstd {
    /// See `direct.rs`.
    pub fn decompress(&mut self, input: &[u8], output: &mut [u8]) -> Result<(), ZstdError> {
        MODULE.serve(Request::Decompress, input, output).map(drop)
    }

    /// See `direct.rs`.
    pub fn compress(&mut self, input: &[u8], output: &mut [u8]) -> Result<usize, ZstdError> {
        MODULE.serve(Request::Compress, input, output)
    }
}

/// A decoder of streams in the module.
pub struct ZstdDecoder(ModuleDecoder);

impl ZstdDecoder {
    /// Creates a decoder. Fails if memory runs out.
    pub fn new() -> Result<Self, ZstdError> {
        ModuleDecoder::new::<Request>(&MODULE).map(Self)
    }
}

impl StreamDecoder for ZstdDecoder {
    fn decode(&mut self, input: &[u8], output: &mut [u8]) -> Step {
        self.0.decode(input, output)
    }
}

/// A divider of streams in the module.
pub struct ZstdDivider(ModuleDecoder);

impl ZstdDivider {
    /// Creates a divider. Fails if memory runs out.
    pub fn new() -> Result<Self, ZstdError> {
        ModuleDecoder::dividing::<Request>(&MODULE).map(Self)
    }
}

impl StreamDecoder for ZstdDivider {
    fn decode(&mut self, input: &[u8], output: &mut [u8]) -> Step {
        self.0.decode(input, output)
    }
}

/// Begins to search a file for blocks in the module. Returns `None` if memory runs out.
pub fn search(file: BlockFile) -> Option<Box<dyn BlockSearch>> {
    Some(Box::new(ModuleSearch::new::<Request>(&MODULE, file).ok()?))
}
