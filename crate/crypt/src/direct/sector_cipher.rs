//! Decrypts sectors.

use super::hash::Hasher;
use super::keyed::Keyed;
use super::modes::{finish, prepare};
use super::platform::Direction;
use super::{CipherBlock, LONGEST_HASH};
use crate::{CipherSpec, CryptError, IvGenerator, Mode, SECTOR};
use zeroize::Zeroizing;

/// The most sectors that are decrypted at once: the platform takes about as long for a call as for a few.
const AT_ONCE: usize = 256;

/// Decrypts the sectors of a disk.
pub struct SectorCipher {
    spec: CipherSpec,
    data: Keyed,
    /// Encrypts initialisation vectors to tweaks of XTS.
    tweak: Option<Keyed>,
    /// Encrypts sector numbers to initialisation vectors of ESSIV.
    essiv: Option<Keyed>,
}

impl SectorCipher {
    /// Prepares a cipher with the result of [`CipherSpec::with_key`]. Fails with `UnsupportedKey` if it takes no key of
    /// that length, or if memory runs out.
    pub fn new(encoded: &[u8]) -> Result<Self, CryptError> {
        let (spec, key) = CipherSpec::and_key(encoded);
        let CipherSpec { cipher, mode, iv, .. } = spec;
        let (data, tweak) = match mode {
            Mode::Xts if key.len().is_multiple_of(2) => {
                let (data, tweak) = key.split_at(key.len() / 2);
                (data, Some(Keyed::new(cipher, tweak, Direction::Encrypt)?))
            }
            Mode::Xts => return Err(CryptError::UnsupportedKey),
            Mode::Cbc | Mode::Ecb | Mode::Ctr => (key, None),
        };
        let essiv = match iv {
            IvGenerator::Plain | IvGenerator::Plain64 => None,
            IvGenerator::Essiv(hash) => {
                let mut hasher = Hasher::new(hash)?;
                hasher.add(key)?;
                let mut hashed = Zeroizing::new([0; LONGEST_HASH]);
                let hashed = &mut hashed[..hash.output_len()];
                hasher.hash(hashed)?;
                // Only MD5 and SHA-256 have the length of a key.
                Some(Keyed::new(cipher, hashed, Direction::Encrypt)?)
            }
        };
        let direction = if mode == Mode::Ctr { Direction::Encrypt } else { Direction::Decrypt };
        Ok(Self { spec, data: Keyed::new(cipher, data, direction)?, tweak, essiv })
    }

    /// Decrypts whole sectors from `input` to `output`, which is as long; `first` is the number of the first 512 bytes.
    /// Fails if memory runs out.
    pub fn decrypt(&self, first: u64, input: &[u8], output: &mut [u8]) -> Result<(), CryptError> {
        let CipherSpec { mode, sector, .. } = self.spec;
        let some = sector as usize * AT_ONCE;
        let firsts = (first..).step_by(some / SECTOR);
        let mut ivs = [CipherBlock::default(); AT_ONCE];
        for ((input, output), first) in input.chunks(some).zip(output.chunks_mut(some)).zip(firsts) {
            let ivs = &mut ivs[..input.len() / sector as usize];
            self.write_vectors(first, ivs);
            let (input, output) = (CipherBlock::slice_as_chunks(input).0, CipherBlock::slice_as_chunks_mut(output).0);
            let blocks = sector as usize / size_of::<CipherBlock>();
            for ((input, output), iv) in input.chunks(blocks).zip(output.chunks_mut(blocks)).zip(&*ivs) {
                prepare(mode, iv, input, output);
            }
            match mode {
                Mode::Xts | Mode::Cbc | Mode::Ecb => self.data.decrypt(output),
                Mode::Ctr => self.data.encrypt(output),
            }
            for ((input, output), iv) in input.chunks(blocks).zip(output.chunks_mut(blocks)).zip(&*ivs) {
                finish(mode, iv, input, output);
            }
        }
        Ok(())
    }

    /// Writes what the mode takes for the sector that begins with number `first`, and for the sectors after it: tweaks for
    /// XTS, otherwise initialisation vectors.
    fn write_vectors(&self, first: u64, ivs: &mut [CipherBlock]) {
        for (i, iv) in ivs.iter_mut().enumerate() {
            let number =
                first.wrapping_add(self.spec.iv_offset).wrapping_add((i * self.spec.sector as usize / SECTOR) as u64);
            *iv = CipherBlock::default();
            match self.spec.iv {
                IvGenerator::Plain => iv[..4].copy_from_slice(&(number as u32).to_le_bytes()),
                IvGenerator::Plain64 | IvGenerator::Essiv(_) => iv[..8].copy_from_slice(&number.to_le_bytes()),
            }
        }
        for cipher in [&self.essiv, &self.tweak].into_iter().flatten() {
            cipher.encrypt(ivs);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BlockCipher, Hash};

    #[test]
    fn keys_of_other_lengths_are_refused() {
        for cipher in [BlockCipher::Aes, BlockCipher::Serpent, BlockCipher::Twofish] {
            for (mode, iv, allowed) in [
                (Mode::Cbc, IvGenerator::Plain64, &[16, 24, 32][..]),
                (Mode::Xts, IvGenerator::Plain, &[32, 48, 64]),
                (Mode::Cbc, IvGenerator::Essiv(Hash::Sha256), &[16, 24, 32]),
                (Mode::Cbc, IvGenerator::Essiv(Hash::Sha1), &[]),
            ] {
                for len in 0..80 {
                    let spec = CipherSpec { cipher, mode, iv, sector: 512, iv_offset: 0 };
                    let refused = SectorCipher::new(&spec.with_key(&vec![1; len])).err();
                    let expected = (!allowed.contains(&len)).then_some(CryptError::UnsupportedKey);
                    assert_eq!(refused, expected, "{cipher:?}, {mode:?}, {iv:?}: {len} bytes");
                }
            }
        }
    }
}
