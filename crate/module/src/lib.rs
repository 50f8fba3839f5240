//! Modules of WebAssembly for code that few images need. They are loaded when they are needed, and have separate
//! memory.
//!
//! The two sides of a module share the types of its requests and failures. The host ([`Module`]) copies a request, its
//! input, and room for its output to a buffer in the memory of the module. The module ([`Guest`]) serves the request.
//! The host copies the output back. Where the code of a module is linked, it is called directly.

mod blocks;
mod buffers;
mod decoding;
mod failure;
mod guest;
#[cfg(feature = "imported")]
mod host;
mod module;
mod objects;
mod skippable;

pub use blocks::{
    BeginSearch, Block, BlockFile, BlockSearch, JoinedBlocks, SMALL_BLOCK, Search, SearchStep, SearchedFile, blocks_in,
};
pub use buffers::Buffers;
pub use decoding::{
    Decoders, Fault, LARGEST_PART, LARGEST_WINDOW, PART_SIZE_LEN, Step, StreamDecoder, StreamFailure, StreamFeature,
    StreamRequest, StreamState, USUAL_WINDOW, Undivided,
};
#[cfg(feature = "imported")]
pub use decoding::{ModuleCodec, ModuleDecoder, ModuleDivider, search};
pub use failure::Failure;
pub use guest::{Guest, Service};
#[cfg(feature = "imported")]
pub use host::{Apart, settled};
pub use module::Module;
pub use objects::Objects;
pub use skippable::{SKIPPABLE_HEADER, SKIPPABLE_MAGIC};

use serde::Serialize;

/// The longest encoded request, in bytes. Longer data, and secrets, are input.
pub const MAX_REQUEST: usize = 64;

/// A request to a module.
pub trait Request: Serialize {
    /// Why serving it fails.
    type Failure: Failure;

    /// Whether to wipe the buffer afterwards, with what earlier requests have left there.
    fn wipes(&self) -> bool {
        false
    }
}
