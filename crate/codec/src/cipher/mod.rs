//! Block ciphers and their modes.

mod aes;
mod block_cipher;
mod keyed;
mod modes;
mod sector_cipher;

use aes::AT_ONCE;
pub use block_cipher::{Blocks, CipherBlock};
pub use keyed::with_key;
pub use sector_cipher::{InitialisationVectors, SectorCipher, SectorMode};

/// The unit of encryption, in bytes.
pub const SECTOR: usize = 512;
