//! A build without zstd and encryption: the same names as `extras`, which all fail. Whoever opens
//! an image learns from [`crate::Info::extras`] that the other build is needed.

use crate::error::{Error, ErrorKind, Result};

/// The other build does this.
fn absent() -> Error {
    Error::new(ErrorKind::Internal, "This part of Decant has neither zstd nor encryption")
}

/// The keys of an image's encrypted layers: none.
#[derive(Clone, Default)]
pub struct Keys;

impl Keys {
    /// Fails.
    pub fn from_bytes(_bytes: &[u8]) -> Result<Self> {
        Err(absent())
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        0
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        true
    }
}

/// The ciphers of an image's encrypted layers: none.
#[derive(Default)]
pub struct Ciphers;

impl Ciphers {
    /// Makes none.
    pub fn new(_keys: &Keys) -> Result<Self> {
        Ok(Self)
    }

    /// Fails.
    pub fn decrypt(&self, _cipher: u16, _sector: u64, _bytes: &mut [u8]) -> Result<()> {
        Err(absent())
    }
}

/// A decoder of zstd: none.
#[derive(Default)]
pub struct Unzstd;

impl Unzstd {
    /// Fails.
    pub fn decompress(
        &mut self,
        _input: &[u8],
        _output: &mut [u8],
    ) -> std::result::Result<(), crate::decode::DecompressError> {
        Err(crate::decode::DecompressError::Invalid)
    }
}
