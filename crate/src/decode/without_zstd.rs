//! Stands in for the decoder of zstd in a build without it. [`crate::Image::needs_extras`] tells which
//! images need the other build.

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
