//! Anti-forensic splitting ("LUKS On-Disk Format", version 1.2).

use super::LONGEST_HASH;
use super::hash::Hasher;
use crate::{CryptError, Hash};
use zeroize::Zeroizing;

/// Reverses the splitting of a key: writes the key to `key` that `split` has in stripes of that length. Fails if memory
/// runs out.
pub fn merge(hash: Hash, split: &[u8], key: &mut [u8]) -> Result<(), CryptError> {
    let stripes = split.len() / key.len();
    key.fill(0);
    for (number, stripe) in (1..).zip(split.chunks_exact(key.len())) {
        key.iter_mut().zip(stripe).for_each(|(byte, other)| *byte ^= other);
        if number < stripes {
            diffuse(hash, key)?;
        }
    }
    Ok(())
}

fn diffuse(hash: Hash, key: &mut [u8]) -> Result<(), CryptError> {
    let mut hashed = Zeroizing::new([0; LONGEST_HASH]);
    let hashed = &mut hashed[..hash.output_len()];
    for (number, part) in (0u32..).zip(key.chunks_mut(hash.output_len())) {
        let mut hasher = Hasher::new(hash)?;
        hasher.add(&number.to_be_bytes())?;
        hasher.add(part)?;
        hasher.hash(hashed)?;
        part.copy_from_slice(&hashed[..part.len()]);
    }
    Ok(())
}
