//! Code that runs for every byte of a disk: decompression, checksums, and detection of zeros.
//!
//! It is a separate crate because it is compiled for speed, and the rest of Decant for size. It knows no image formats.
//! Each call processes many bytes, since calls from the other crate are not inlined.

pub mod bit_writer;
pub mod crc;
pub mod inflate;
mod memory;
mod zeros;

pub use memory::resize;
pub use zeros::is_zero;

/// A buffer of this many bytes could not be allocated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfMemory(pub usize);
