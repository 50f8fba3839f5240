//! Stands in for the encoder in a build without compression. [`crate::writer::OutputFormat::compressed`]
//! tells which formats need the other build.

use super::Segment;
use crate::error::{Error, Result};
use crate::target::Run;

/// An encoder that always fails.
#[derive(Default)]
pub struct Encoder;

impl Encoder {
    /// Fails with `internal`.
    pub fn deflate(&mut self, _bytes: &[u8], _runs: &[Run], _output: &mut Vec<u8>) -> Result<Vec<Segment>> {
        Err(Error::left_out("compression"))
    }
}
