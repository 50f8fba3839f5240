//! Decompresses clusters and grains.

use super::failure::DecompressError;
use super::framing::{Compression, Framing, GrainFrame};
use super::grain;
use super::zstd::Unzstd;
use decant_codec::inflate::{Inflater, Stream, StreamEnd};

/// Returns the deflate stream in `input`, with later bytes, for [`Decompressor::inflate_all`]; it should decompress to
/// `cluster` bytes. `None` if its start is unknown, so that only [`Decompressor::decompress`] can decompress `input`.
pub fn deflate_in(framing: Framing, cluster: usize, input: &[u8]) -> Option<&[u8]> {
    let Framing::Grain(GrainFrame { sector, .. }) = framing else { return Some(input) };
    grain::body(grain::behind_marker(sector?, cluster, input).ok()?.zlib).ok()
}

/// The decoders for all methods, reused from cluster to cluster.
#[derive(Default)]
pub struct Decompressor {
    inflater: Inflater,
    unzstd: Unzstd,
}

impl Decompressor {
    /// Decompresses the start of `input`, and fills `output` exactly. The length of compressed data is known roughly
    /// only, so later bytes are ignored to the same extent as by QEMU.
    pub fn decompress(
        &mut self,
        compression: Compression,
        framing: Framing,
        input: &[u8],
        output: &mut [u8],
    ) -> Result<(), DecompressError> {
        match (compression, framing) {
            (Compression::Deflate, Framing::Raw) => Ok(self.inflater.inflate(input, output).map(|_| ())?),
            (Compression::Deflate, Framing::Grain(frame)) => self.decompress_grain(frame, input, output).map(|_| ()),
            (Compression::Zstd, _) => self.unzstd.decompress(input, output),
        }
    }

    /// Decompresses the grain at the start of `input`, and fills `output` exactly. Returns the length of its zlib
    /// stream with the bytes before it.
    pub fn decompress_grain(
        &mut self,
        frame: GrainFrame,
        input: &[u8],
        output: &mut [u8],
    ) -> Result<usize, DecompressError> {
        if let Some(sector) = frame.sector {
            let marked = grain::behind_marker(sector, output.len(), input)?;
            return match self.inflate_grain(frame, marked.zlib, output) {
                // The marker bounds the grain, so more input would not help.
                Err(DecompressError::InputEnds) if marked.is_whole => Err(DecompressError::Invalid),
                result => result.map(|len| grain::MARKER_SIZE + len),
            };
        }
        // Some writers put the length before the stream. The checksum shows which is right.
        match (self.inflate_grain(frame, input, output), input.get(grain::LENGTH_SIZE..)) {
            (Err(_), Some(behind)) => self.inflate_grain(frame, behind, output).map(|len| grain::LENGTH_SIZE + len),
            (result, _) => result,
        }
    }

    /// Inflates a zlib stream of a whole grain, or of its part inside the disk. Returns the length of the stream.
    fn inflate_grain(&mut self, frame: GrainFrame, zlib: &[u8], output: &mut [u8]) -> Result<usize, DecompressError> {
        let len = frame.len as usize;
        match self.inflate_zlib(zlib, output) {
            Err(DecompressError::Invalid) if len < output.len() => {
                output[len..].fill(0);
                self.inflate_zlib(zlib, &mut output[..len])
            }
            result => result,
        }
    }

    fn inflate_zlib(&mut self, zlib: &[u8], output: &mut [u8]) -> Result<usize, DecompressError> {
        let body = grain::body(zlib)?;
        let end = self.inflater.inflate(body, output)?;
        Ok(grain::ZLIB_HEADER_SIZE + grain::check(body, end, output)?)
    }

    /// Inflates many streams, which is faster than one by one. Each comes from [`deflate_in`], with a mark and its
    /// framing. Calls `done` with the result of each, in any order: the number of input bytes that make the output, or
    /// `None` if the stream does not end there.
    pub fn inflate_all<'a, T>(
        &mut self,
        streams: impl Iterator<Item = ((T, Framing), Stream<'a>)>,
        mut done: impl FnMut(T, Stream<'a>, Result<Option<usize>, DecompressError>),
    ) {
        self.inflater.inflate_all(streams, |(mark, framing), stream, result| {
            let result = match (result, framing) {
                (Ok(end), Framing::Grain(_)) => grain::check(stream.input, end, stream.output).map(Some),
                (Ok(StreamEnd::At(end)), Framing::Raw) => Ok(Some(end)),
                (Ok(StreamEnd::GoesOn | StreamEnd::InputEnds), Framing::Raw) => Ok(None),
                (Err(error), _) => Err(error.into()),
            };
            done(mark, stream, result);
        });
    }
}
