//! Modules of WebAssembly for code that few images need. They are loaded when they are needed, and have separate
//! memory.
//!
//! The two sides of a module share the types of its requests and failures. The host ([`Module`]) copies a request, its
//! input, and room for its output to a buffer in the memory of the module. The module ([`Guest`]) serves the request.
//! The host copies the output back. Where the code of a module is linked, it is called directly.

mod blocks;
mod decoding;
mod guest;
#[cfg(feature = "imported")]
mod host;
mod streams;

pub use blocks::{
    BeginSearch, Block, BlockFile, BlockSearch, BlockSizes, JoinedBlocks, SMALL_BLOCK, Search, SearchStep,
    SearchedFile, blocks_in,
};
pub use decoding::{
    Buffers, CreateDecoder, Fault, LARGEST_PART, LARGEST_WINDOW, PART_SIZE_LEN, SKIPPABLE_HEADER, SKIPPABLE_MAGIC,
    Step, StreamDecoder, StreamFeature, StreamState, USUAL_WINDOW, Undivided,
};
pub use guest::{Guest, Objects, Service};
#[cfg(feature = "imported")]
pub use host::{SeparateInstance, settled};
pub use streams::{CodecDecoder, Decoders, StreamFailure, StreamRequest};
#[cfg(feature = "imported")]
pub use streams::{ModuleCodec, ModuleDecoder, ModuleDivider, search};

use serde::Serialize;
use std::sync::OnceLock;

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

/// A module of WebAssembly, or the same code linked.
pub struct Module {
    name: &'static str,
    /// Threads share the bytes, and each instantiates the module with its first request.
    pub(crate) bytes: OnceLock<Vec<u8>>,
}

impl Module {
    /// The module that is loaded under `name`, unless its code is linked.
    pub const fn new(name: &'static str) -> Self {
        Self { name, bytes: OnceLock::new() }
    }

    /// The name under which it is loaded.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Whether requests can be made.
    pub fn is_ready(&self) -> bool {
        !cfg!(feature = "imported") || self.bytes.get().is_some()
    }

    /// Adds the module, by its bytes. To add it again has no effect.
    pub fn add(&self, bytes: Vec<u8>) {
        let _ = self.bytes.set(bytes);
    }
}

/// A failure of a module. It travels as a negative number.
pub trait Failure: Copy {
    /// Memory ran out.
    const OUT_OF_MEMORY: Self;

    /// Its number.
    fn number(self) -> i32;

    /// The failure with this number, if there is one.
    fn with_number(number: i32) -> Option<Self>;
}

/// Declares an enumeration of failures with their numbers. One of them is `OutOfMemory`.
#[macro_export]
macro_rules! failures {
    ($(#[$attribute:meta])* pub enum $Name:ident { $($(#[$of_variant:meta])* $Variant:ident = $number:literal,)+ }) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $Name {
            $($(#[$of_variant])* $Variant = $number,)+
        }

        impl $crate::Failure for $Name {
            const OUT_OF_MEMORY: Self = Self::OutOfMemory;

            fn number(self) -> i32 {
                self as i32
            }

            fn with_number(number: i32) -> Option<Self> {
                match number {
                    $($number => Some(Self::$Variant),)+
                    _ => None,
                }
            }
        }
    };
}
