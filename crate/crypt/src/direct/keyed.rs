//! A cipher for a key.

use super::block_cipher::Blocks;
use super::platform::{Direction, PlatformAes};
use crate::{BlockCipher, CryptError};
use ::cipher::{InvalidLength, KeyInit};
use serpent::Serpent;
use std::ops::Deref;
use twofish::Twofish;

/// A cipher with its key. It is not in a box, whose allocation could fail.
pub(super) enum Keyed {
    Aes(PlatformAes),
    Serpent(Serpent),
    Twofish(Twofish),
}

impl Keyed {
    /// Creates `cipher` with `key`, mainly for `direction`. The length of the key selects the variant.
    pub(super) fn new(cipher: BlockCipher, key: &[u8], direction: Direction) -> Result<Self, CryptError> {
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
