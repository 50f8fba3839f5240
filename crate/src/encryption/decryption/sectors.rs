//! Decryption by sectors of 512 bytes: XTS, CBC, CTR and ECB, each with its initialisation vectors.

use super::keys::{CipherKey, Keys};
use crate::encryption::luks::{IvGenerator, Mode};
use crate::error::{Error, ErrorKind, Result};
use decant_codec::cipher::{AT_ONCE, Block, Blocks, SECTOR, cbc, ctr, with_key, xts};
use decant_codec::hash::hash;
use zeroize::Zeroizing;

/// The ciphers of an image's encrypted layers, ready for use, the top one first.
#[derive(Default)]
pub struct Ciphers(Vec<SectorCipher>);

impl Ciphers {
    /// Prepares `keys`. Fails with `unsupported` if a cipher does not take a key of that length.
    pub fn new(keys: &Keys) -> Result<Self> {
        keys.0.iter().map(SectorCipher::new).collect::<Result<_>>().map(Self)
    }

    /// Decrypts `bytes`, whole sectors of which the first is number `sector`, in place.
    pub fn decrypt(&self, cipher: u16, sector: u64, bytes: &mut [u8]) -> Result<()> {
        let cipher = self
            .0
            .get(usize::from(cipher))
            .ok_or_else(|| Error::new(ErrorKind::Internal, "A job is encrypted with a key that was not handed over"))?;
        cipher.decrypt(sector, bytes);
        Ok(())
    }
}

/// One layer's cipher.
pub(super) struct SectorCipher {
    mode: ReadyMode,
    iv: ReadyIv,
}

enum ReadyMode {
    Xts { data: Box<dyn Blocks>, tweak: Box<dyn Blocks> },
    Cbc(Box<dyn Blocks>),
    Ecb(Box<dyn Blocks>),
    Ctr(Box<dyn Blocks>),
}

enum ReadyIv {
    /// The low 32 bits of the sector's number.
    Plain,
    /// The sector's number.
    Plain64,
    /// The sector's number, encrypted with the hash of the key.
    Essiv(Box<dyn Blocks>),
}

impl SectorCipher {
    pub fn new(CipherKey { spec, key }: &CipherKey) -> Result<Self> {
        let block = |key: &[u8]| with_key(spec.cipher, key).ok_or_else(|| spec.unsupported());
        let mode = match spec.mode {
            Mode::Xts if key.len() % 2 == 0 => {
                let (data, tweak) = key.split_at(key.len() / 2);
                ReadyMode::Xts { data: block(data)?, tweak: block(tweak)? }
            }
            Mode::Xts => return Err(spec.unsupported()),
            Mode::Cbc => ReadyMode::Cbc(block(key)?),
            Mode::Ecb => ReadyMode::Ecb(block(key)?),
            Mode::Ctr => ReadyMode::Ctr(block(key)?),
        };
        let iv = match spec.iv {
            IvGenerator::Plain => ReadyIv::Plain,
            IvGenerator::Plain64 => ReadyIv::Plain64,
            // Only of MD5 and SHA-256 the length is that of a key.
            IvGenerator::Essiv(with) => ReadyIv::Essiv(block(&Zeroizing::new(hash(with, &[key])))?),
        };
        Ok(Self { mode, iv })
    }

    /// Decrypts whole sectors in place, of which the first is number `first`.
    pub fn decrypt(&self, first: u64, bytes: &mut [u8]) {
        for (some, first) in bytes.chunks_mut(SECTOR * AT_ONCE).zip((first..).step_by(AT_ONCE)) {
            let sectors = some.chunks_exact_mut(SECTOR).map(|sector| Block::slice_as_chunks_mut(sector).0);
            // For XTS they become the tweaks.
            let mut ivs = self.ivs(first);
            if let ReadyMode::Xts { tweak, .. } = &self.mode {
                tweak.encrypt(&mut ivs);
            }
            for (blocks, iv) in sectors.zip(ivs) {
                match &self.mode {
                    ReadyMode::Xts { data, .. } => xts(&**data, iv, blocks),
                    ReadyMode::Cbc(cipher) => cbc(&**cipher, iv, blocks),
                    ReadyMode::Ecb(cipher) => cipher.decrypt(blocks),
                    ReadyMode::Ctr(cipher) => ctr(&**cipher, iv, blocks),
                }
            }
        }
    }

    /// The initialisation vectors of sector `first` and the following ones.
    fn ivs(&self, first: u64) -> [Block; AT_ONCE] {
        let mut ivs = std::array::from_fn(|i| {
            let number = first.wrapping_add(i as u64);
            let mut iv = Block::default();
            match &self.iv {
                ReadyIv::Plain => iv[..4].copy_from_slice(&(number as u32).to_le_bytes()),
                ReadyIv::Plain64 | ReadyIv::Essiv(_) => iv[..8].copy_from_slice(&number.to_le_bytes()),
            }
            iv
        });
        if let ReadyIv::Essiv(cipher) = &self.iv {
            cipher.encrypt(&mut ivs);
        }
        ivs
    }
}
