//! Decryption by sectors of 512 bytes: XTS, CBC, CTR and ECB, each with its initialisation vectors.

use super::modes::{cbc, ctr, xts};
use super::{AT_ONCE, Block, Blocks, SECTOR};

/// A cipher with its keys, and how it goes from block to block of a sector.
pub enum SectorMode {
    /// IEEE 1619. One key is for the data, one makes tweaks of the initialisation vectors.
    Xts {
        /// Decrypts the data.
        data: Box<dyn Blocks>,
        /// Encrypts the vectors.
        tweak: Box<dyn Blocks>,
    },
    /// Each block is masked with the encrypted block before it.
    Cbc(Box<dyn Blocks>),
    /// Each block by itself, without an initialisation vector.
    Ecb(Box<dyn Blocks>),
    /// The initialisation vector counts the blocks; encrypted, it masks them.
    Ctr(Box<dyn Blocks>),
}

/// What the initialisation vector of a sector is made of. All numbers are little-endian.
pub enum InitialisationVectors {
    /// The low 32 bits of the sector's number.
    Plain,
    /// The sector's number.
    Plain64,
    /// The sector's number, encrypted with the hash of the key.
    Essiv(Box<dyn Blocks>),
}

/// Decrypts a disk.
pub struct SectorCipher {
    mode: SectorMode,
    vectors: InitialisationVectors,
}

impl SectorCipher {
    /// A cipher that is ready for use.
    pub fn new(mode: SectorMode, vectors: InitialisationVectors) -> Self {
        Self { mode, vectors }
    }

    /// Decrypts whole sectors in place, of which the first is number `first`.
    pub fn decrypt(&self, first: u64, bytes: &mut [u8]) {
        for (some, first) in bytes.chunks_mut(SECTOR * AT_ONCE).zip((first..).step_by(AT_ONCE)) {
            let sectors = some.chunks_exact_mut(SECTOR).map(|sector| Block::slice_as_chunks_mut(sector).0);
            // For XTS they become the tweaks.
            let mut ivs = self.vectors_from(first);
            if let SectorMode::Xts { tweak, .. } = &self.mode {
                tweak.encrypt(&mut ivs);
            }
            for (blocks, iv) in sectors.zip(ivs) {
                match &self.mode {
                    SectorMode::Xts { data, .. } => xts(&**data, iv, blocks),
                    SectorMode::Cbc(cipher) => cbc(&**cipher, iv, blocks),
                    SectorMode::Ecb(cipher) => cipher.decrypt(blocks),
                    SectorMode::Ctr(cipher) => ctr(&**cipher, iv, blocks),
                }
            }
        }
    }

    /// The initialisation vectors of sector `first` and the following ones.
    fn vectors_from(&self, first: u64) -> [Block; AT_ONCE] {
        let mut ivs = std::array::from_fn(|i| {
            let number = first.wrapping_add(i as u64);
            let mut iv = Block::default();
            match &self.vectors {
                InitialisationVectors::Plain => iv[..4].copy_from_slice(&(number as u32).to_le_bytes()),
                InitialisationVectors::Plain64 | InitialisationVectors::Essiv(_) => {
                    iv[..8].copy_from_slice(&number.to_le_bytes())
                }
            }
            iv
        });
        if let InitialisationVectors::Essiv(cipher) = &self.vectors {
            cipher.encrypt(&mut ivs);
        }
        ivs
    }
}
