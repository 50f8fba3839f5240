//! Ciphers, hashes and key derivation.
//!
//! On WebAssembly they are a module with separate memory (`crate/crypt/wasm`), which is loaded only for images that need
//! it. Keys and passwords are wiped there as they are here. The module uses AES and PBKDF2 of the platform if it offers
//! them.

#[cfg(feature = "direct")]
mod direct;
#[cfg(not(feature = "direct"))]
mod imported;
mod request;
mod spec;

#[cfg(feature = "direct")]
pub use direct::{
    Argon2, Argon2Derivation, Argon2Kind, Derivation, Hasher, LONGEST_HASH, MODULE, Platform, PlatformFunction,
    SectorCipher, derive, merge, settled, use_platform,
};
#[cfg(not(feature = "direct"))]
pub use imported::{Hasher, MODULE, SectorCipher, Unlocking, describe, settled};
pub use request::{Creation, Operation, Request};
pub use spec::{BlockCipher, CipherSpec, Hash, IvGenerator, Mode, legacy_key};

use decant_module::failures;

/// The unit in which sectors are numbered, in bytes.
pub const SECTOR: usize = 512;

/// The most bytes that are decrypted at once: as many as caches hold twice, and still many for a call.
pub const AT_ONCE: usize = 256 * SECTOR;

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
