//! By the module `crate/lz4/wasm`.

use decant_module::{Module, ModuleCodec, ModuleDecoder, StreamRequest};

/// The module. It must be ready before anything else is used.
pub static MODULE: Module = Module::loaded("lz4");

/// lz4 in the module.
pub struct Lz4Codec;

impl ModuleCodec for Lz4Codec {
    type Request = StreamRequest;

    fn module() -> &'static Module {
        &MODULE
    }
}

/// A decoder of streams.
pub type Lz4Decoder = ModuleDecoder<Lz4Codec>;
