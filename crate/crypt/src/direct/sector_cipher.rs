//! Decrypts sectors.

use super::block_cipher::{Blocks, CipherBlock};
use super::hash::{Hasher, LONGEST_HASH};
use super::modes::{finish, finish_chain, prepare};
use super::platform::{Direction, PlatformAes};
use crate::{BlockCipher, CipherSpec, CryptError, IvGenerator, Mode, SECTOR};
use ::cipher::{InvalidLength, KeyInit};
use serpent::Serpent;
use std::ops::{Deref, Range};
use twofish::Twofish;
use zeroize::Zeroizing;

/// The most sectors that are decrypted at once: the platform takes about as long for a call as for a few.
const SECTORS_AT_ONCE: usize = 256;

/// The fewest blocks to be worth two messages between threads: 16 KiB.
const FEWEST_ASYNC: usize = 1024;

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

    /// Lets the platform begin to decrypt whole sectors of `input`; `first` is the number of the first 512 bytes. Returns the
    /// number of this decryption, for `finish`; 0 if the platform does not decrypt these sectors; a negative number if it never can.
    pub fn begin(&self, first: u64, input: &[u8]) -> i32 {
        if self.spec.mode != Mode::Xts {
            return -1;
        }
        let input = CipherBlock::slice_as_chunks(input).0;
        let mut masked = Vec::new();
        // Two blocks are added.
        if input.len() < FEWEST_ASYNC || masked.try_reserve_exact(input.len() + 2).is_err() {
            return 0;
        }
        masked.resize(input.len(), CipherBlock::default());
        for (first, range) in self.ranges(first, input.len()) {
            let sectors = self.sectors(first, range.len());
            sectors.each(&input[range.clone()], &mut masked[range], prepare);
        }
        self.data.begin_chain(&mut masked)
    }

    /// Decrypts as `decrypt` does. Takes the platform's result for these sectors if it has arrived; `pending` is what `begin` returned.
    pub fn finish(&self, first: u64, input: &[u8], output: &mut [u8], pending: i32) -> Result<(), CryptError> {
        let blocks = CipherBlock::slice_as_chunks_mut(output).0;
        if !self.data.take_chain(pending, blocks) {
            return self.decrypt(first, input, output);
        }
        let input = CipherBlock::slice_as_chunks(input).0;
        let mut before = CipherBlock::default();
        for (first, range) in self.ranges(first, input.len()) {
            let sectors = self.sectors(first, range.len());
            sectors.each(&input[range.clone()], &mut blocks[range], |_, iv, input, output| {
                finish_chain(iv, input, output, &mut before);
            });
        }
        Ok(())
    }

    /// Decrypts whole sectors from `input` to `output`, which is as long; `first` is the number of the first 512 bytes.
    /// Fails if memory runs out.
    pub fn decrypt(&self, first: u64, input: &[u8], output: &mut [u8]) -> Result<(), CryptError> {
        let (input, output) = (CipherBlock::slice_as_chunks(input).0, CipherBlock::slice_as_chunks_mut(output).0);
        for (first, range) in self.ranges(first, input.len()) {
            let sectors = self.sectors(first, range.len());
            let (input, output) = (&input[range.clone()], &mut output[range]);
            sectors.each(input, output, prepare);
            match self.spec.mode {
                Mode::Xts | Mode::Cbc | Mode::Ecb => self.data.decrypt(output),
                Mode::Ctr => self.data.encrypt(output),
            }
            sectors.each(input, output, finish);
        }
        Ok(())
    }

    /// Divides `blocks` blocks into ranges of at most [`SECTORS_AT_ONCE`] sectors. `first` is the number of the first sector. Yields
    /// the number of each range's first sector, and the range.
    fn ranges(&self, first: u64, blocks: usize) -> impl Iterator<Item = (u64, Range<usize>)> + use<> {
        let some = self.spec.sector as usize * SECTORS_AT_ONCE;
        let len = some / size_of::<CipherBlock>();
        let starts = (0..blocks).step_by(len);
        (first..).step_by(some / SECTOR).zip(starts.map(move |start| start..blocks.min(start + len)))
    }

    /// The sectors of `blocks` blocks, at most [`SECTORS_AT_ONCE`] sectors, from the one that begins with number `first`.
    fn sectors(&self, first: u64, blocks: usize) -> Sectors {
        let per_sector = self.spec.sector as usize / size_of::<CipherBlock>();
        let mut all = [CipherBlock::default(); SECTORS_AT_ONCE];
        let ivs = &mut all[..blocks / per_sector];
        for (i, iv) in ivs.iter_mut().enumerate() {
            let number =
                first.wrapping_add(self.spec.iv_offset).wrapping_add((i * self.spec.sector as usize / SECTOR) as u64);
            match self.spec.iv {
                IvGenerator::Plain => iv[..4].copy_from_slice(&(number as u32).to_le_bytes()),
                IvGenerator::Plain64 | IvGenerator::Essiv(_) => iv[..8].copy_from_slice(&number.to_le_bytes()),
            }
        }
        for cipher in [&self.essiv, &self.tweak].into_iter().flatten() {
            cipher.encrypt(ivs);
        }
        Sectors { mode: self.spec.mode, blocks: per_sector, ivs: all }
    }
}

/// A cipher with its key. It is not in a box, whose allocation could fail.
enum Keyed {
    Aes(PlatformAes),
    Serpent(Serpent),
    Twofish(Twofish),
}

impl Keyed {
    /// Creates `cipher` with `key`, mainly for `direction`. The length of the key selects the variant.
    fn new(cipher: BlockCipher, key: &[u8], direction: Direction) -> Result<Self, CryptError> {
        if !matches!(key.len(), 16 | 24 | 32) {
            return Err(CryptError::UnsupportedKey);
        }
        Ok(match cipher {
            BlockCipher::Aes => Self::Aes(PlatformAes::new(key, direction)?),
            BlockCipher::Serpent => Self::Serpent(Serpent::new_from_slice(key)?),
            BlockCipher::Twofish => Self::Twofish(Twofish::new_from_slice(key)?),
        })
    }
}

impl From<InvalidLength> for CryptError {
    fn from(_: InvalidLength) -> Self {
        Self::UnsupportedKey
    }
}

impl Deref for Keyed {
    type Target = dyn Blocks;

    fn deref(&self) -> &Self::Target {
        match self {
            Self::Aes(cipher) => cipher,
            Self::Serpent(cipher) => cipher,
            Self::Twofish(cipher) => cipher,
        }
    }
}

/// Successive sectors.
struct Sectors {
    mode: Mode,
    /// The length of a sector, in blocks.
    blocks: usize,
    /// Tweaks for XTS, otherwise initialisation vectors.
    ivs: [CipherBlock; SECTORS_AT_ONCE],
}

impl Sectors {
    /// Calls `work` with the mode, the vector, the input and the output of each sector.
    fn each(
        &self,
        input: &[CipherBlock],
        output: &mut [CipherBlock],
        mut work: impl FnMut(Mode, &CipherBlock, &[CipherBlock], &mut [CipherBlock]),
    ) {
        for ((input, output), iv) in input.chunks(self.blocks).zip(output.chunks_mut(self.blocks)).zip(&self.ivs) {
            work(self.mode, iv, input, output);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Hash;

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
