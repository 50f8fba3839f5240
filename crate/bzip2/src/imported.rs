//! By the module `crate/bzip2/wasm`.

use decant_module::{Module, ModuleCodec, ModuleDecoder, ModuleDivider, StreamRequest};

/// The module. It must be ready before anything else is used.
pub static MODULE: Module = Module::loaded("bzip2");

/// bzip2 in the module.
pub struct Bzip2Codec;

impl ModuleCodec for Bzip2Codec {
    type Request = StreamRequest;

    fn module() -> &'static Module {
        &MODULE
    }
}

/// A decoder of streams.
pub type Bzip2Decoder = ModuleDecoder<Bzip2Codec>;
/// A divider of streams.
pub type Bzip2Divider = ModuleDivider<Bzip2Codec>;
