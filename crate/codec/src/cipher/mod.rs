//! Block ciphers and their modes.

mod aes;
mod blocks;
mod keyed;
mod modes;
mod sectors;

use aes::AT_ONCE;
pub use blocks::{Block, Blocks};
pub use keyed::with_key;
pub use sectors::{InitialisationVectors, SectorCipher, SectorMode};

/// The unit of encryption, in bytes.
pub const SECTOR: usize = 512;
