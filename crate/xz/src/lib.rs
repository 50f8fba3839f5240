//! Decodes xz.
//!
//! On WebAssembly the decoder is a module with separate memory (`crate/xz/wasm`), which is loaded only for files that
//! are packed by it.

#[cfg(feature = "direct")]
mod direct;
#[cfg(not(feature = "direct"))]
mod imported;

#[cfg(feature = "direct")]
pub use direct::{MODULE, XzDecoder, XzDivider, search};
#[cfg(not(feature = "direct"))]
pub use imported::{MODULE, XzDecoder, XzDivider, search};

/// The signature of a stream.
pub const MAGIC: [u8; 6] = *b"\xfd7zXZ\0";
