//! Raw deflate (RFC 1951), one cluster at a time.

use super::DecompressError;
use miniz_oxide::inflate::TINFLStatus;
use miniz_oxide::inflate::core::inflate_flags::TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF;
use miniz_oxide::inflate::core::{DecompressorOxide, decompress};

/// A decoder, reused from cluster to cluster: its tables cost more to allocate than to reset.
#[derive(Default)]
pub struct Inflater(Box<DecompressorOxide>);

impl Inflater {
    /// Inflates the start of `input` so that it fills `output` exactly. What follows in `input` is
    /// ignored, as is what a longer stream would still bring: the length of compressed data is only
    /// known in sectors, and QEMU stops when the cluster is full.
    pub fn inflate(&mut self, input: &[u8], output: &mut [u8]) -> Result<(), DecompressError> {
        self.0.init();
        let flags = TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF;
        let (status, _, written) = decompress(&mut self.0, input, output, 0, flags);
        match status {
            TINFLStatus::Done | TINFLStatus::HasMoreOutput | TINFLStatus::FailedCannotMakeProgress
                if written == output.len() =>
            {
                Ok(())
            }
            TINFLStatus::FailedCannotMakeProgress | TINFLStatus::NeedsMoreInput => Err(DecompressError::InputEnds),
            _ => Err(DecompressError::Invalid),
        }
    }
}
