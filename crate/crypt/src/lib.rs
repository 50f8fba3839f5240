//! Ciphers, hashes, key derivation, and the headers of LUKS.
//!
//! On WebAssembly they are a module with separate memory (`crypt.wasm`), which is loaded only for images that need
//! it. Keys and passwords are wiped in both memories. The module uses the platform's AES and PBKDF2 if there are any.

mod answer;
#[cfg(feature = "direct")]
mod direct;
#[cfg(not(feature = "direct"))]
mod imported;
mod request;
#[cfg(all(feature = "direct", target_arch = "wasm32"))]
mod service;
mod spec;

pub use answer::{Answer, Description, LuksInfo, MAX_ANSWER, Slot};
#[cfg(feature = "direct")]
pub use direct::{
    Hasher, Platform, PlatformFunction, SectorCipher, Unlocking, describe, hash_blocks, settled, use_platform,
};
#[cfg(not(feature = "direct"))]
pub use imported::{Hasher, SectorCipher, Unlocking, describe, hash_blocks, settled};
pub use request::{Creation, CryptRequest, Operation};
pub use spec::{BlockCipher, CipherSpec, Hash, IvGenerator, Mode, legacy_key};

use decant_module::{Module, failures};

/// The module. It must be ready before anything else is used, unless the functions are linked.
pub static MODULE: Module = Module::new("crypt");

/// The unit in which sectors are numbered, in bytes.
pub const SECTOR: usize = 512;

/// The most bytes that are decrypted at once: as many as caches hold twice, and still many for a call.
pub const AT_ONCE: usize = 256 * SECTOR;

/// The blocks of [`hash_blocks`], in bytes.
pub const HASHED_BLOCK: usize = 4096;

/// The length of a SHA-256, in bytes.
pub const SHA256: usize = 32;

/// The length of a salt in LUKS, in bytes.
pub const SALT: usize = 32;

failures! {
    /// A failure of a cipher, a hash or a key derivation.
    pub enum CryptError {
        /// The cipher takes no key of that length.
        UnsupportedKey = -1,
        /// Memory ran out.
        OutOfMemory = -2,
    }
}
