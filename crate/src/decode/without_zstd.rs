//! Stands in for the decoder of zstd in the small build, which opens no image that needs it.

use super::DecompressError;
use crate::error::Error;

/// A decoder that always fails.
#[derive(Default)]
pub struct Unzstd;

impl Unzstd {
    /// Fails with `internal`.
    pub fn decompress(&mut self, _input: &[u8], _output: &mut [u8]) -> Result<(), DecompressError> {
        Err(Error::left_out("zstd").into())
    }
}
