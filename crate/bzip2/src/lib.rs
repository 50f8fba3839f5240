//! Decodes bzip2.
//!
//! On WebAssembly the decoder is a module with separate memory (`bzip2.wasm`), which is loaded only for files that
//! need it.

#[cfg(feature = "direct")]
mod direct;

#[cfg(feature = "direct")]
pub use direct::{Bzip2Decoder, Bzip2Divider};

use decant_module::Module;

/// The module. It must be ready before anything else is used, unless the decoder is linked.
pub static MODULE: Module = Module::new("bzip2");

/// The signature of a stream, which the size of its blocks follows.
pub const MAGIC: [u8; 3] = *b"BZh";
/// The signature of a block: six bytes, big endian.
pub const BLOCK: u64 = 0x3141_5926_5359;
/// The signature of the end of a stream: six bytes, big endian.
pub const END: u64 = 0x1772_4538_5090;

#[cfg(not(feature = "direct"))]
decant_module::imported_codec!(Bzip2, decant_module::StreamRequest, Bzip2Decoder, Bzip2Divider);

#[cfg(all(feature = "direct", target_arch = "wasm32"))]
decant_module::export!(bzip2, decant_module::Decoders<Bzip2Decoder>);
