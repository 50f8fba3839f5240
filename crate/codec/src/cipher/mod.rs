//! Block ciphers, and their modes.

mod aes;
mod blocks;
mod modes;

pub use aes::AT_ONCE;
pub use blocks::{Block, Blocks, with_key};
pub use modes::{cbc, ctr, xts};

/// The unit of encryption, in bytes.
pub const SECTOR: usize = 512;
