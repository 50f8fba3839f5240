//! By the module `crate/zstd/wasm`.

use crate::{Request, ZstdError};
use decant_module::{BlockFile, BlockSearch, Module, ModuleCodec, ModuleDecoder, ModuleDivider};

/// The module. It must be ready before anything else is used.
pub static MODULE: Module = Module::loaded("zstd");

/// The decoder and the encoder of the module, which are allocated on first use, and reused for all clusters.
#[derive(Default)]
pub struct Zstd(());

impl Zstd {
    /// See `direct/mod.rs`.
    pub fn decompress(&mut self, input: &[u8], output: &mut [u8]) -> Result<(), ZstdError> {
        MODULE.serve(Request::Decompress, input, output).map(drop)
    }

    /// See `direct/mod.rs`.
    pub fn compress(&mut self, input: &[u8], output: &mut [u8]) -> Result<usize, ZstdError> {
        MODULE.serve(Request::Compress, input, output)
    }
}

/// zstd in the module.
pub struct ZstdCodec;

impl ModuleCodec for ZstdCodec {
    type Request = Request;

    fn module() -> &'static Module {
        &MODULE
    }
}

/// A decoder of streams.
pub type ZstdDecoder = ModuleDecoder<ZstdCodec>;
/// A divider of streams.
pub type ZstdDivider = ModuleDivider<ZstdCodec>;

/// Begins to search a file for blocks. Returns `None` if memory runs out.
pub fn search(file: BlockFile) -> Option<Box<dyn BlockSearch>> {
    decant_module::search::<ZstdCodec>(file)
}
