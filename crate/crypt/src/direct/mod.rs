//! Linked.

mod aes;
mod argon2;
mod argon2_block;
mod block_cipher;
mod derivation;
mod hash;
mod keyed;
mod merge;
mod modes;
mod platform;
mod sector_cipher;

pub use argon2::{Argon2, Argon2Derivation, Argon2Kind};
pub use derivation::Derivation;
pub use hash::Hasher;
pub use merge::merge;
pub use platform::{Platform, PlatformFunction, derive, use_platform};
pub use sector_cipher::SectorCipher;

use block_cipher::CipherBlock;
use decant_module::Module;

/// The length of the longest hash, in bytes.
pub const LONGEST_HASH: usize = 64;

/// Waits for the decryption with this number, which [`SectorCipher::begin`] returned.
pub async fn settled(_begun: i32) {}

/// The functions are linked.
pub static MODULE: Module = Module::linked("crypt");
