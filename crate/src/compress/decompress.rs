//! Decompresses units: clusters and grains.

use super::decoding_damage::DecompressError;
use super::encoding::fit;
use super::grain::{self, GrainFrame, GrainMarker};
use super::methods::Compression;
use decant_codec::inflate::{Inflater, Stream, StreamEnd};
use decant_zstd::Zstd;

/// The decoders for all methods, reused from unit to unit.
#[derive(Default)]
pub(crate) struct Decompressor {
    inflater: Inflater,
    zstd: Zstd,
    /// Compressed data that extends past the end of the file, padded with the zeros that QEMU reads there.
    padded: Vec<u8>,
}

impl Decompressor {
    /// Decompresses the unit at the start of `input`, and fills `output` exactly. The length of compressed data is
    /// known roughly only, so later bytes are ignored to the same extent as by QEMU. `missing` is the number of bytes
    /// of the compressed data's range that are past the end of the file.
    ///
    /// QEMU reads zeros there. They add nothing to a unit, but may be invalid after a full unit of deflate, so the data
    /// must be valid with them too.
    pub(crate) fn decompress(
        &mut self,
        compression: Compression,
        input: &[u8],
        missing: usize,
        output: &mut [u8],
    ) -> Result<(), DecompressError> {
        match compression {
            Compression::Deflate => {
                self.inflater.inflate(input, output)?;
                if missing > 0 { self.inflate_padded(input, missing, output) } else { Ok(()) }
            }
            Compression::Zstd => Ok(self.zstd.decompress(input, output)?),
            Compression::Grain(frame) => self.decompress_grain(frame, input, output).map(drop),
        }
    }

    /// Inflates `input` followed by `missing` zeros.
    fn inflate_padded(&mut self, input: &[u8], missing: usize, output: &mut [u8]) -> Result<(), DecompressError> {
        self.padded.clear();
        fit(&mut self.padded, input.len() + missing)?;
        self.padded[..input.len()].copy_from_slice(input);
        match self.inflater.inflate(&self.padded, output) {
            Ok(_) => Ok(()),
            Err(_) => Err(DecompressError::InputEnds),
        }
    }

    /// Decompresses the grain at the start of `input`, and fills `output` exactly. Returns the length of its zlib
    /// stream with the bytes before it.
    pub(crate) fn decompress_grain(
        &mut self,
        frame: GrainFrame,
        input: &[u8],
        output: &mut [u8],
    ) -> Result<usize, DecompressError> {
        if let Some(sector) = frame.sector {
            let marked = grain::after_marker(sector, output.len(), input)?;
            return match self.inflate_grain(frame, marked.zlib, output) {
                // The marker bounds the grain, so more input would not help.
                Err(DecompressError::InputEnds) if marked.is_whole => Err(DecompressError::Invalid),
                result => result.map(|len| GrainMarker::LEN + len),
            };
        }
        // Some writers put the length before the stream. The checksum shows which is right.
        match (self.inflate_grain(frame, input, output), input.get(grain::LENGTH_SIZE..)) {
            (Err(_), Some(data)) => self.inflate_grain(frame, data, output).map(|len| grain::LENGTH_SIZE + len),
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

    /// Inflates many streams, which is faster than one by one. Each comes from [`Compression::deflate_in`], with a
    /// mark and its compression. Calls `done` with the result of each, in any order: the number of input bytes that make the output, or
    /// `None` if the stream does not end there.
    pub(crate) fn inflate_all<'a, T>(
        &mut self,
        streams: impl Iterator<Item = ((T, Compression), Stream<'a>)>,
        mut done: impl FnMut(T, Stream<'a>, Result<Option<usize>, DecompressError>),
    ) {
        self.inflater.inflate_all(streams, |(mark, compression), stream, result| {
            let result = match (result, compression) {
                (Ok(end), Compression::Grain(_)) => grain::check(stream.input, end, stream.output).map(Some),
                (Ok(StreamEnd::At(end)), _) => Ok(Some(end)),
                (Ok(StreamEnd::HasMore | StreamEnd::InputEnds), _) => Ok(None),
                (Err(error), _) => Err(error.into()),
            };
            done(mark, stream, result);
        });
    }
}
