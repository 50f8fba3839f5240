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
