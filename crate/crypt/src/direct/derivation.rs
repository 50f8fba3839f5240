//! PBKDF2 (RFC 8018, 5.2).

use super::hash::{Authenticator, LONGEST_HASH};
use crate::{Hash, SALT};
use zeroize::Zeroizing;

/// Derives one block of a key, which has the length of the hash. Blocks are numbered from 1.
pub(super) struct Derivation {
    authenticator: Authenticator,
    len: usize,
    last: Zeroizing<[u8; LONGEST_HASH]>,
    sum: Zeroizing<[u8; LONGEST_HASH]>,
}

impl Derivation {
    /// Does the first iteration.
    pub fn new(hash: Hash, password: &[u8], salt: &[u8; SALT], block: u32) -> Self {
        let (authenticator, len) = (Authenticator::new(hash, password), hash.output_len());
        let mut last = Zeroizing::new([0; LONGEST_HASH]);
        authenticator.write(&[salt, &block.to_be_bytes()], &mut last[..len]);
        Self { authenticator, len, sum: last.clone(), last }
    }

    /// Does `count` more iterations.
    pub fn iterate(&mut self, count: u32) {
        let mut next = Zeroizing::new([0; LONGEST_HASH]);
        for _ in 0..count {
            self.authenticator.write(&[&self.last[..self.len]], &mut next[..self.len]);
            std::mem::swap(&mut self.last, &mut next);
            self.sum.iter_mut().zip(&self.last[..self.len]).for_each(|(byte, other)| *byte ^= other);
        }
    }

    /// Writes the start of the block to `output`.
    pub fn block(&self, output: &mut [u8]) {
        output.copy_from_slice(&self.sum[..output.len()]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_the_crate_derives() {
        let salt = [7; SALT];
        for iterations in [1, 2, 1000] {
            let mut expected = [0; 80];
            pbkdf2::pbkdf2_hmac::<sha2::Sha256>(b"secret", &salt, iterations, &mut expected);
            for (number, expected) in (1..).zip(expected.chunks(32)) {
                let mut derivation = Derivation::new(Hash::Sha256, b"secret", &salt, number);
                // Two steps of different lengths give the same as one.
                derivation.iterate((iterations - 1) / 3);
                derivation.iterate(iterations - 1 - (iterations - 1) / 3);
                let mut block = vec![0; expected.len()];
                derivation.block(&mut block);
                assert_eq!(block, expected, "{iterations} iterations, block {number}");
            }
        }
    }
}
