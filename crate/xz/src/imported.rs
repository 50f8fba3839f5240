//! By the module `crate/xz/wasm`.

use decant_module::{BlockFile, BlockSearch, Module, ModuleCodec, ModuleDecoder, ModuleDivider, StreamRequest};

/// The module. It must be ready before anything else is used.
pub static MODULE: Module = Module::loaded("xz");

/// xz in the module.
pub struct XzCodec;

impl ModuleCodec for XzCodec {
    type Request = StreamRequest;

    fn module() -> &'static Module {
        &MODULE
    }
}

/// A decoder of streams.
pub type XzDecoder = ModuleDecoder<XzCodec>;
/// A divider of streams.
pub type XzDivider = ModuleDivider<XzCodec>;

/// Begins to search a file for blocks. Returns `None` if memory runs out.
pub fn search(file: BlockFile) -> Option<Box<dyn BlockSearch>> {
    decant_module::search::<XzCodec>(file)
}
