//! Prepares the ciphers of an image's layers from their keys.

use super::keys::{CipherKey, Keys};
use crate::crypt::luks::{IvGenerator, Mode};
use crate::error::{Error, ErrorKind, Result};
use decant_codec::cipher::{InitialisationVectors, SectorCipher, SectorMode, with_key};
use decant_codec::hash::hash;
use zeroize::Zeroizing;

/// The ciphers of an image's encrypted layers, ready for use, top layer first.
#[derive(Default)]
pub struct Ciphers(Vec<SectorCipher>);

impl Ciphers {
    /// Prepares `keys`. Fails with `unsupported` if a cipher does not take a key of that length.
    pub fn new(keys: &Keys) -> Result<Self> {
        keys.0.iter().map(sector_cipher).collect::<Result<_>>().map(Self)
    }

    /// Decrypts `bytes` in place with cipher number `cipher`. They must be whole sectors; `sector` is the number of the
    /// first. Fails with `internal` if there is no such cipher.
    pub fn decrypt(&self, cipher: u16, sector: u64, bytes: &mut [u8]) -> Result<()> {
        let cipher = self
            .0
            .get(usize::from(cipher))
            .ok_or_else(|| Error::new(ErrorKind::Internal, "A job needs a key that was not passed"))?;
        cipher.decrypt(sector, bytes);
        Ok(())
    }
}

/// Prepares one layer's cipher. Fails with `unsupported` if it does not take a key of that length.
pub(super) fn sector_cipher(CipherKey { spec, key }: &CipherKey) -> Result<SectorCipher> {
    let block = |key: &[u8]| with_key(spec.cipher, key).ok_or_else(|| spec.unsupported());
    let mode = match spec.mode {
        Mode::Xts if key.len() % 2 == 0 => {
            let (data, tweak) = key.split_at(key.len() / 2);
            SectorMode::Xts { data: block(data)?, tweak: block(tweak)? }
        }
        Mode::Xts => return Err(spec.unsupported()),
        Mode::Cbc => SectorMode::Cbc(block(key)?),
        Mode::Ecb => SectorMode::Ecb(block(key)?),
        Mode::Ctr => SectorMode::Ctr(block(key)?),
    };
    let vectors = match spec.iv {
        IvGenerator::Plain => InitialisationVectors::Plain,
        IvGenerator::Plain64 => InitialisationVectors::Plain64,
        // Only MD5 and SHA-256 have the length of a key.
        IvGenerator::Essiv(with) => InitialisationVectors::Essiv(block(&Zeroizing::new(hash(with, &[key])))?),
    };
    Ok(SectorCipher::new(mode, vectors))
}
