//! Raw deflate (RFC 1951), one cluster at a time: by our own decoder, and by miniz_oxide where that one gives
//! up.

use super::DecompressError;
use super::inflate::{InflateError, Inflater};
use miniz_oxide::inflate::TINFLStatus;
use miniz_oxide::inflate::core::inflate_flags::TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF;
use miniz_oxide::inflate::core::{DecompressorOxide, decompress};

/// A decoder, reused from cluster to cluster: its tables cost more to allocate than to fill.
#[derive(Default)]
pub struct Deflated {
    inflater: Inflater,
    second: Option<Box<DecompressorOxide>>,
}

impl Deflated {
    /// Inflates the start of `input` so that it fills `output` exactly. What follows in `input` is
    /// ignored, as is what a longer stream would still bring: the length of compressed data is only
    /// known in sectors, and QEMU stops when the cluster is full.
    ///
    /// A refusal costs the user an image, and time is no matter then: so a second decoder is asked.
    pub fn decompress(&mut self, input: &[u8], output: &mut [u8]) -> Result<(), DecompressError> {
        let Err(error) = self.inflater.inflate(input, output) else { return Ok(()) };
        let second = self.second.get_or_insert_default();
        second.init();
        let (status, _, written) = decompress(second, input, output, 0, TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF);
        let is_good =
            matches!(status, TINFLStatus::Done | TINFLStatus::HasMoreOutput | TINFLStatus::FailedCannotMakeProgress);
        match error {
            _ if is_good && written == output.len() => Ok(()),
            InflateError::InputEnds => Err(DecompressError::InputEnds),
            InflateError::Invalid => Err(DecompressError::Invalid),
        }
    }
}
