//! Code that runs for every byte of a disk: decompression and compression, checksums, decryption, and detection of
//! zeros.
//!
//! It is a separate crate because it is compiled for speed, and the rest of Decant for size. It knows no image formats.
//! Each call processes many bytes, since calls from the other crate are not inlined.

pub mod bit_writer;
pub mod cipher;
pub mod crc;
pub mod deflate;
pub mod hash;
pub mod inflate;
mod memory;
mod zeros;

pub use memory::resize;
pub use zeros::is_zero;

use serde::{Deserialize, Serialize};

/// A buffer of this many bytes could not be allocated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfMemory(pub usize);

/// A block cipher; the length of the key selects the variant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum BlockCipher {
    /// AES.
    Aes,
    /// Serpent.
    Serpent,
    /// Twofish.
    Twofish,
}

/// A hash function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Hash {
    /// MD5.
    Md5,
    /// SHA-1.
    Sha1,
    /// RIPEMD-160.
    Ripemd160,
    /// SHA-224.
    Sha224,
    /// SHA-256.
    Sha256,
    /// SHA-384.
    Sha384,
    /// SHA-512.
    Sha512,
}
