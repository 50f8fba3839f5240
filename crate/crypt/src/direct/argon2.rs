//! Argon2 (RFC 9106), version 1.3.

use crate::{CryptError, SALT};
use ::argon2::{Algorithm, Block, Params, Version};
use zeroize::Zeroizing;

/// A variant of Argon2.
#[derive(Clone, Copy)]
pub enum Argon2Kind {
    /// Argon2i.
    I,
    /// Argon2id.
    Id,
}

/// The parameters of Argon2.
#[derive(Clone, Copy)]
pub struct Argon2 {
    /// The variant.
    pub kind: Argon2Kind,
    /// The number of passes, at least one.
    pub passes: u32,
    /// The memory in KiB: at least eight for each lane.
    pub memory: u32,
    /// The number of lanes: 1 to 2^24-1.
    pub lanes: u32,
}

/// Fills `key`, which has at least four bytes, with the key derived from `password`. Fails if memory runs out.
// Inlined in `decant-luks`, it would be compiled for size.
#[inline(never)]
pub fn argon2(how: Argon2, password: &[u8], salt: &[u8; SALT], key: &mut [u8]) -> Result<(), CryptError> {
    let algorithm = match how.kind {
        Argon2Kind::I => Algorithm::Argon2i,
        Argon2Kind::Id => Algorithm::Argon2id,
    };
    let params = Params::new(how.memory, how.passes, how.lanes, Some(key.len())).expect("the caller has checked them");
    let mut blocks: Zeroizing<Vec<Block>> = Zeroizing::default();
    blocks.try_reserve_exact(params.block_count()).map_err(|_| CryptError::OutOfMemory)?;
    blocks.resize(params.block_count(), Block::new());
    let context = ::argon2::Argon2::new(algorithm, Version::V0x13, params);
    let filled = context.hash_password_into_with_memory(password, salt, key, &mut blocks[..]);
    filled.expect("the caller has checked the lengths");
    Ok(())
}
