//! Ciphers, their modes, and hashes.

use serde::{Deserialize, Serialize};
use zeroize::Zeroize;

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

/// A method to derive the initialisation vector from the number of a sector of 512 bytes. All numbers are little-endian.
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
    /// The length of a sector in bytes: 512 to 4096, a power of two.
    pub sector: u32,
    /// Added to the sector number for the initialisation vector.
    pub iv_offset: u64,
}

/// The most bytes of an encoded specification.
const LONGEST: usize = 24;

impl CipherSpec {
    /// Encodes the specification with a key, as [`SectorCipher::new`](crate::SectorCipher::new) takes it.
    pub fn with_key(&self, key: &[u8]) -> Vec<u8> {
        // Allocated at once: growing would leave a copy of the key that nothing wipes.
        let encoded = postcard::to_extend(self, Vec::with_capacity(LONGEST + key.len()));
        let mut encoded = encoded.expect("memory grows or aborts");
        encoded.extend(key);
        encoded
    }

    /// Decodes the result of `with_key`.
    #[cfg(feature = "direct")]
    pub(crate) fn and_key(encoded: &[u8]) -> (Self, &[u8]) {
        postcard::take_from_bytes(encoded).expect("both sides are of one version")
    }
}

/// Length of a legacy AES key of qcow2, in bytes. The specification says 256 bits; QEMU uses 128.
const LEGACY_KEY: usize = 16;

/// Encodes the key of the legacy method of qcow2: the password, truncated or padded with zeros.
pub fn legacy_key(password: &[u8]) -> Vec<u8> {
    let mut key = [0; LEGACY_KEY];
    let len = password.len().min(LEGACY_KEY);
    key[..len].copy_from_slice(&password[..len]);
    let (cipher, mode, iv) = (BlockCipher::Aes, Mode::Cbc, IvGenerator::Plain64);
    let encoded = CipherSpec { cipher, mode, iv, sector: 512, iv_offset: 0 }.with_key(&key);
    key.zeroize();
    encoded
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
    /// The hash called `name` in LUKS headers.
    #[cfg(feature = "direct")]
    pub fn by_name(name: &str) -> Option<Self> {
        Some(match name {
            "md5" => Self::Md5,
            "sha1" => Self::Sha1,
            "ripemd160" => Self::Ripemd160,
            "sha224" => Self::Sha224,
            "sha256" => Self::Sha256,
            "sha384" => Self::Sha384,
            "sha512" => Self::Sha512,
            _ => return None,
        })
    }

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
