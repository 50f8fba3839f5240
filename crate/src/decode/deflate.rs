//! Raw deflate (RFC 1951), whole clusters: by our own decoder, and by miniz_oxide where that one gives up.

use super::DecompressError;
use super::inflate::{InflateError, Inflater, Stream};
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
    pub fn decompress(&mut self, input: &[u8], output: &mut [u8]) -> Result<(), DecompressError> {
        let result = self.inflater.inflate(input, output);
        result.or_else(|error| try_again(self.second.get_or_insert_default(), input, output, error))
    }

    /// The same for each of `streams`, and tells `done` how that went: see `Inflater::inflate_all`.
    pub fn inflate_all<'a, T>(
        &mut self,
        streams: impl Iterator<Item = (T, Stream<'a>)>,
        mut done: impl FnMut(T, Stream<'a>, Result<(), DecompressError>),
    ) {
        let Self { inflater, second } = self;
        inflater.inflate_all(streams, |mark, Stream { input, output }, result| {
            let result = result.or_else(|error| try_again(second.get_or_insert_default(), input, output, error));
            done(mark, Stream { input, output }, result);
        });
    }
}

/// A refusal costs the user an image, and time is no matter then: so a second decoder is asked.
fn try_again(
    second: &mut DecompressorOxide,
    input: &[u8],
    output: &mut [u8],
    error: InflateError,
) -> Result<(), DecompressError> {
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
