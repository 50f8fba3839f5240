//! Decodes bzip2.
//!
//! On WebAssembly the decoder is a module with separate memory (`crate/bzip2/wasm`), which is loaded only for files that
//! are packed by it.

#[cfg(feature = "direct")]
mod direct;
#[cfg(not(feature = "direct"))]
mod imported;

#[cfg(feature = "direct")]
pub use direct::{Bzip2Decoder, Bzip2Divider, MODULE};
#[cfg(not(feature = "direct"))]
pub use imported::{Bzip2Decoder, Bzip2Divider, MODULE};

/// The signature of a stream, which the size of its blocks follows.
pub const MAGIC: [u8; 3] = *b"BZh";
/// The signature of a block: six bytes, big endian.
pub const BLOCK: u64 = 0x3141_5926_5359;
/// The signature of the end of a stream: six bytes, big endian.
pub const END: u64 = 0x1772_4538_5090;
