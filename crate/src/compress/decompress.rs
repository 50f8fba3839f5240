//! Decompression of clusters and grains.

use super::failure::DecompressError;
use super::framing::{Compression, Framing, GrainFrame};
use super::grain;
use super::zstd::Unzstd;
use decant_codec::inflate::{Inflater, Stream, StreamEnd};

/// The stream of deflate in `input`, with the bytes behind it, for [`Decompressor::inflate_all`]. It decompresses to
/// `cluster` bytes. `None`: its start is not known, and only [`Decompressor::decompress`] can decompress `input`.
pub fn deflate_in(framing: Framing, cluster: usize, input: &[u8]) -> Option<&[u8]> {
    let Framing::Grain(GrainFrame { sector, .. }) = framing else { return Some(input) };
    grain::body(grain::behind_marker(sector?, cluster, input).ok()?.zlib).ok()
}

/// The decoders of all kinds, reused from cluster to cluster.
#[derive(Default)]
pub struct Decompressor {
    inflater: Inflater,
    unzstd: Unzstd,
}

impl Decompressor {
    /// Decompresses the start of `input` so that it fills `output` exactly. The length of compressed data is known roughly
    /// only: the bytes behind it are ignored as far as QEMU ignores them.
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

    /// Decompresses the grain at the start of `input` so that it fills `output` exactly. Returns the length of its zlib stream
    /// and of what stands before that.
    pub fn decompress_grain(
        &mut self,
        frame: GrainFrame,
        input: &[u8],
        output: &mut [u8],
    ) -> Result<usize, DecompressError> {
        if let Some(sector) = frame.sector {
            let marked = grain::behind_marker(sector, output.len(), input)?;
            return match self.inflate_grain(frame, marked.zlib, output) {
                // The file goes on, but the grain does not.
                Err(DecompressError::InputEnds) if marked.is_whole => Err(DecompressError::Invalid),
                result => result.map(|len| grain::MARKER_SIZE + len),
            };
        }
        // Some writers put the length before the stream. The checksum tells which is right.
        match (self.inflate_grain(frame, input, output), input.get(grain::LENGTH_SIZE..)) {
            (Err(_), Some(behind)) => self.inflate_grain(frame, behind, output).map(|len| grain::LENGTH_SIZE + len),
            (result, _) => result,
        }
    }

    /// Inflates a zlib stream that holds a whole grain, or the part of it that lies on the disk. Returns its length.
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

    /// Decompresses many streams of deflate, which is faster than one by one. Each is that of [`deflate_in`], and comes with
    /// a mark and its framing. `done` is called with the result of each, in any order: how many bytes of the input make
    /// the output, or `None` where the stream has no end there.
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
