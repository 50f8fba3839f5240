//! Stands in for keys and ciphers in the small build, which opens no encrypted image.

use crate::error::{Error, Result};

/// The keys of an image's encrypted layers: none.
#[derive(Clone, Default)]
pub struct Keys(());

impl Keys {
    /// Fails with `internal`.
    pub fn from_bytes(_bytes: &[u8]) -> Result<Self> {
        Err(Error::left_out("encryption"))
    }

    /// 0.
    pub fn len(&self) -> usize {
        0
    }

    /// True.
    pub fn is_empty(&self) -> bool {
        true
    }
}

/// The ciphers of an image's encrypted layers: none.
#[derive(Default)]
pub struct Ciphers;

impl Ciphers {
    /// Never fails: there are no keys.
    pub fn new(_keys: &Keys) -> Result<Self> {
        Ok(Self)
    }

    /// Fails with `internal`.
    pub fn decrypt(&self, _cipher: u16, _sector: u64, _bytes: &mut [u8]) -> Result<()> {
        Err(Error::left_out("encryption"))
    }
}
