//! The names of ciphers, their modes, and hashes.

use serde::{Deserialize, Serialize};

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

/// A block cipher mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Mode {
    /// XTS (IEEE 1619): XEX with ciphertext stealing. The first half of the key is for the data, the second makes tweaks
    /// from initialisation vectors.
    Xts,
    /// CBC: each block is masked with the encrypted block before it.
    Cbc,
    /// ECB: each block is encrypted independently, without an initialisation vector.
    Ecb,
    /// CTR: the initialisation vector is a counter of blocks; encrypted, it masks them.
    Ctr,
}

/// A method to derive the initialisation vector from a sector number. All numbers are little-endian.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum IvGenerator {
    /// The low 32 bits of the sector number.
    Plain,
    /// The sector number.
    Plain64,
    /// The sector number, encrypted with the hash of the key.
    Essiv(Hash),
}

/// The encryption of sectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CipherSpec {
    /// The cipher.
    pub cipher: BlockCipher,
    /// The mode.
    pub mode: Mode,
    /// The initialisation vectors.
    pub iv: IvGenerator,
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

impl Hash {
    /// The length of a hash, in bytes.
    pub fn output_len(self) -> usize {
        match self {
            Self::Md5 => 16,
            Self::Sha1 | Self::Ripemd160 => 20,
            Self::Sha224 => 28,
            Self::Sha256 => 32,
            Self::Sha384 => 48,
            Self::Sha512 => 64,
        }
    }
}
