//! Decodes lz4: frames (format 1.6), and those of `lz4 -l`.
//!
//! On WebAssembly the decoder is a module with separate memory (`crate/lz4/wasm`), which is loaded only for files that
//! are packed by it.

#[cfg(feature = "direct")]
mod direct;
#[cfg(not(feature = "direct"))]
mod imported;

#[cfg(feature = "direct")]
pub use direct::{Lz4Decoder, MODULE};
#[cfg(not(feature = "direct"))]
pub use imported::{Lz4Decoder, MODULE};

/// The magic number of a frame, little endian.
pub const MAGIC: u32 = 0x184d_2204;
/// The magic number of a frame of `lz4 -l`, little endian.
pub const LEGACY_MAGIC: u32 = 0x184c_2102;
