//! Ciphers, hashes and key derivation.
//!
//! On WebAssembly they are a module with separate memory (`crate/crypt/wasm`), which is loaded only for images that need
//! it. Keys and passwords are wiped there as they are here.

#[cfg(feature = "direct")]
mod direct;
#[cfg(not(feature = "direct"))]
mod imported;
mod request;
mod spec;

#[cfg(feature = "direct")]
pub use direct::{Derivation, Hasher, MODULE, SectorCipher, merge};
#[cfg(not(feature = "direct"))]
pub use imported::{Derivation, Hasher, MODULE, SectorCipher, merge};
pub use request::{Creation, Operation, Request};
pub use spec::{BlockCipher, CipherSpec, Hash, IvGenerator, Mode};

use decant_module::failures;

/// The unit of encryption, in bytes.
pub const SECTOR: usize = 512;

/// The length of a salt of PBKDF2 in LUKS1, in bytes.
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
