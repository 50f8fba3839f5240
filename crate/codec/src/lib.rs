//! What is done with every byte of a disk: decompression and compression, checksums, decryption and the search for zeros.
//!
//! This is a crate of its own because it is compiled for speed, and the rest of Decant for size. It knows no format of disk
//! images. One call does the work of many bytes: calls from the other crate are not inlined.

pub mod bits;
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

/// There was no memory for a buffer of so many bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfMemory(pub usize);

/// A block cipher; the length of the key chooses its variant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum BlockCipher {
    /// AES.
    Aes,
    /// Serpent.
    Serpent,
    /// Twofish.
    Twofish,
}

/// A hash.
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
