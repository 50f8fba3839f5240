//! Decodes lz4: frames (format 1.6), and legacy frames (`lz4 -l`).
//!
//! On WebAssembly the decoder is a module with separate memory (`lz4.wasm`), which is loaded only for files that
//! need it.

#[cfg(feature = "direct")]
mod direct;

#[cfg(feature = "direct")]
pub use direct::Lz4Decoder;

use decant_module::Module;

/// The module. It must be ready before anything else is used, unless the decoder is linked.
pub static MODULE: Module = Module::new("lz4");

/// The magic number of a frame, little endian.
pub const MAGIC: u32 = 0x184d_2204;
/// The magic number of a frame of `lz4 -l`, little endian.
pub const LEGACY_MAGIC: u32 = 0x184c_2102;

#[cfg(not(feature = "direct"))]
decant_module::imported_codec!(Lz4, decant_module::StreamRequest, Lz4Decoder);

#[cfg(all(feature = "direct", target_arch = "wasm32"))]
decant_module::export!(lz4, decant_module::Decoders<Lz4Decoder>);
