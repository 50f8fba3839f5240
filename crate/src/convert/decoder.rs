//! Decodes jobs: the pieces of one become its output.

use super::job::{Buffers, CompressedPart, Job, Part, Piece, Stored, fit};
use crate::damage::{Damage, Lost};
use crate::decode::inflate::Stream;
use crate::decode::{DecompressError, Decompressor};
use crate::error::Result;
use crate::extent::Compression;
use crate::extras::Ciphers;
use crate::sink::Run;
use crate::source::FileId;
use crate::units::HostOffset;
use std::cell::Cell;

/// Decodes pieces; one for each thread, kept from job to job.
#[derive(Default)]
pub struct Decoder {
    decompressor: Decompressor,
    /// A whole cluster, where pieces are only parts of it.
    cluster: Vec<u8>,
    /// Which one it is, while a part of a job is decoded: the next piece often is another part of it.
    cached: Option<(FileId, HostOffset)>,
}

/// What decoding a job has brought.
#[derive(Debug, Default)]
pub struct Outcome {
    /// The data in the output, zeros left out.
    pub runs: Vec<Run>,
    /// What was lost, when damage is tolerated.
    pub lost: Vec<Lost>,
}

impl Outcome {
    /// Of `job`, whose output was read as it is.
    pub fn of_direct(job: &Job, output: &[u8]) -> Self {
        Self { runs: job.runs(output), lost: job.lost.clone() }
    }
}

impl Decoder {
    /// Decodes all of `job` from `buffers.input` to `buffers.output`.
    pub fn decode(&mut self, job: &Job, buffers: &mut Buffers, ciphers: &Ciphers) -> Result<Outcome> {
        let output = job.prepare(&mut buffers.output)?;
        let mut lost = job.lost.clone();
        for part in job.parts(output, usize::MAX) {
            lost.extend(self.decode_part(job, part, &buffers.input, ciphers)?);
        }
        Ok(Outcome { runs: job.runs(&buffers.output), lost })
    }

    /// Decodes a part of a job. What no piece covers becomes zeros. Answers with what was lost there.
    pub fn decode_part(&mut self, job: &Job, part: Part<'_>, input: &[u8], ciphers: &Ciphers) -> Result<Vec<Lost>> {
        let Part { pieces, output, base } = part;
        // Another job's input may have another file's cluster at that place.
        self.cached = None;
        let mut filled = 0;
        let mut lost = Vec::new();
        for piece in pieces {
            let start = piece.output - base;
            output[filled..start].fill(0);
            filled = start + piece.output_len;
            let from = &input[piece.input..piece.input + piece.input_len];
            let to = &mut output[start..filled];
            match piece.stored {
                Stored::Plain => to.copy_from_slice(from),
                Stored::Encrypted { cipher, sector } => {
                    to.copy_from_slice(from);
                    ciphers.decrypt(cipher, sector, to)?;
                }
                Stored::Compressed(_) if whole_deflated(piece).is_some() => {}
                Stored::Compressed(part) => {
                    if let Err(error) = self.decompress(part, from, to) {
                        to.fill(0);
                        lost.push(lose(job, piece, part, error)?);
                    }
                }
            }
        }
        output[filled..].fill(0);
        self.inflate_whole(job, Part { pieces, output, base }, input, &mut lost)?;
        Ok(lost)
    }

    /// Decompresses the pieces that are whole clusters of deflate, all at once.
    fn inflate_whole(&mut self, job: &Job, part: Part<'_>, input: &[u8], lost: &mut Vec<Lost>) -> Result<()> {
        let Part { pieces, output: mut rest, base: mut at } = part;
        let has_failed = Cell::new(false);
        let pieces = pieces.iter().filter_map(|piece| Some((piece, whole_deflated(piece)?)));
        let streams = pieces.take_while(|_| job.salvage || !has_failed.get()).map(|(piece, part)| {
            let (output, behind) = std::mem::take(&mut rest)[piece.output - at..].split_at_mut(piece.output_len);
            (rest, at) = (behind, piece.output + piece.output_len);
            ((piece, part), Stream { input: &input[piece.input..piece.input + piece.input_len], output })
        });
        let mut failures = Vec::new();
        self.decompressor.inflate_all(streams, |(piece, part), stream, result| {
            if let Err(error) = result {
                has_failed.set(true);
                stream.output.fill(0);
                failures.push((piece, part, error));
            }
        });
        // They come in any order, but none before the first of them is missing: which one is told is no chance.
        failures.sort_unstable_by_key(|(piece, ..)| piece.output);
        for (piece, part, error) in failures {
            lost.push(lose(job, piece, part, error)?);
        }
        Ok(())
    }

    /// Decompresses a part of a cluster, whose compressed data is `from`.
    fn decompress(
        &mut self,
        part: CompressedPart,
        from: &[u8],
        to: &mut [u8],
    ) -> std::result::Result<(), DecompressError> {
        let CompressedPart { compression, cluster, skip, file, host, .. } = part;
        if to.len() == cluster {
            return self.decompressor.decompress(compression, from, to);
        }
        // Decompressed once for all its parts in a row.
        if self.cached != Some((file, host)) {
            self.cached = None;
            fit(&mut self.cluster, cluster).map_err(|_| DecompressError::Invalid)?;
            self.decompressor.decompress(compression, from, &mut self.cluster)?;
            self.cached = Some((file, host));
        }
        to.copy_from_slice(&self.cluster[skip..skip + to.len()]);
        Ok(())
    }
}

/// The compressed part that a piece is, if it is a whole cluster of deflate.
fn whole_deflated(piece: &Piece) -> Option<CompressedPart> {
    match piece.stored {
        Stored::Compressed(part) if part.compression == Compression::Deflate && part.cluster == piece.output_len => {
            Some(part)
        }
        _ => None,
    }
}

/// What is lost with a piece that could not be decompressed; an error where damage is not tolerated.
fn lose(job: &Job, piece: &Piece, part: CompressedPart, error: DecompressError) -> Result<Lost> {
    let (damage, place) = match error {
        DecompressError::InputEnds if part.cut => {
            (Damage::CompressedCut, HostOffset(part.host.0 + piece.input_len as u64))
        }
        _ => (Damage::CompressedInvalid, part.host),
    };
    if job.salvage {
        return Ok(Lost { start: job.guest_of(piece.output), len: piece.output_len as u64, damage });
    }
    let error = damage.error(place, place.0);
    let name = job.names.iter().find(|(of, _)| *of == part.file);
    Err(match name {
        Some((_, name)) => error.within(name),
        None => error,
    })
}
