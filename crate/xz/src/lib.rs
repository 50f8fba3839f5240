//! Decodes xz.
//!
//! On WebAssembly the decoder is a module with separate memory (`xz.wasm`), which is loaded only for files that
//! are packed by it.

#[cfg(feature = "direct")]
mod direct;

#[cfg(feature = "direct")]
pub use direct::{XzDecoder, XzDivider, search};
#[cfg(not(feature = "direct"))]
pub use imported::{XzDecoder, XzDivider, search};

use decant_module::Module;

/// The module. It must be ready before anything else is used, unless the decoder is linked.
pub static MODULE: Module = Module::new("xz");

/// The signature of a stream.
pub const MAGIC: [u8; 6] = *b"\xfd7zXZ\0";

#[cfg(not(feature = "direct"))]
mod imported {
    use crate::MODULE;
    use decant_module::{BlockFile, BlockSearch, Module, ModuleCodec, ModuleDecoder, ModuleDivider, StreamRequest};

    /// xz in the module.
    pub struct Xz;

    impl ModuleCodec for Xz {
        type Request = StreamRequest;

        fn module() -> &'static Module {
            &MODULE
        }
    }

    /// A decoder of streams.
    pub type XzDecoder = ModuleDecoder<Xz>;
    /// A divider of streams.
    pub type XzDivider = ModuleDivider<Xz>;

    /// Begins to search a file for blocks. Returns `None` if memory runs out.
    pub fn search(file: BlockFile) -> Option<Box<dyn BlockSearch>> {
        decant_module::search::<Xz>(file)
    }
}

#[cfg(all(feature = "direct", target_arch = "wasm32"))]
decant_module::export!(xz, decant_module::Decoders<XzDecoder>);
