//! Decrypts sectors of 512 bytes in modes XTS, CBC, CTR and ECB, with their initialisation vectors.

use super::modes::{cbc, ctr, xts};
use super::{AT_ONCE, Blocks, CipherBlock, SECTOR};

/// A cipher mode with its ciphers.
pub enum SectorMode {
    /// XTS (IEEE 1619). One key is for the data, one makes tweaks from initialisation vectors.
    Xts {
        /// Decrypts the data.
        data: Box<dyn Blocks>,
        /// Encrypts the vectors.
        tweak: Box<dyn Blocks>,
    },
    /// CBC: each block is masked with the encrypted block before it.
    Cbc(Box<dyn Blocks>),
    /// ECB: each block is decrypted independently, without an initialisation vector.
    Ecb(Box<dyn Blocks>),
    /// CTR: the initialisation vector is a counter of blocks; encrypted, it masks them.
    Ctr(Box<dyn Blocks>),
}

/// The source of a sector's initialisation vector. All numbers are little-endian.
pub enum InitialisationVectors {
    /// The low 32 bits of the sector number.
    Plain,
    /// The sector number.
    Plain64,
    /// The sector number, encrypted with the hash of the key.
    Essiv(Box<dyn Blocks>),
}

/// Decrypts the sectors of a disk.
pub struct SectorCipher {
    mode: SectorMode,
    vectors: InitialisationVectors,
}

impl SectorCipher {
    /// Creates a cipher, ready for use.
    pub fn new(mode: SectorMode, vectors: InitialisationVectors) -> Self {
        Self { mode, vectors }
    }

    /// Decrypts whole sectors in place; `first` is the number of the first.
    pub fn decrypt(&self, first: u64, bytes: &mut [u8]) {
        for (some, first) in bytes.chunks_mut(SECTOR * AT_ONCE).zip((first..).step_by(AT_ONCE)) {
            let sectors = some.chunks_exact_mut(SECTOR).map(|sector| CipherBlock::slice_as_chunks_mut(sector).0);
            // In XTS they become the tweaks.
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

    /// The initialisation vectors of sector `first` and the sectors after it.
    fn vectors_from(&self, first: u64) -> [CipherBlock; AT_ONCE] {
        let mut ivs = std::array::from_fn(|i| {
            let number = first.wrapping_add(i as u64);
            let mut iv = CipherBlock::default();
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
