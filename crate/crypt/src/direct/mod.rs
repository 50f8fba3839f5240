//! Linked.

mod argon2;
mod argon2_block;
mod block_cipher;
mod derivation;
mod hash;
mod luks;
mod modes;
mod platform;
mod sector_cipher;

pub use hash::{Hasher, hash_blocks};
pub use luks::{Unlocking, describe};
pub use platform::{Platform, PlatformFunction, use_platform};
pub use sector_cipher::SectorCipher;

/// Waits for the decryption with this number, which [`SectorCipher::begin`] returned.
pub async fn settled(_pending: i32) {}
