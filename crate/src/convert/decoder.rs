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

    /// Decodes a part of a job. What no piece covers becomes zeros. Answers with what was lost there; or fails with
    /// the first piece that cannot be decoded.
    pub fn decode_part(&mut self, job: &Job, part: Part<'_>, input: &[u8], ciphers: &Ciphers) -> Result<Vec<Lost>> {
        let Part { mut pieces, output, base } = part;
        // Another job's input may have another file's cluster at that place.
        self.cached = None;
        let mut filled = 0;
        let mut failures = Vec::new();
        for (number, piece) in pieces.iter().enumerate() {
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
                Stored::Compressed(stored) => {
                    let Err(error) = self.decompress(stored, from, to) else { continue };
                    to.fill(0);
                    failures.push(Failure { piece, stored, error });
                    if !job.salvage {
                        // Only one before it matters now.
                        pieces = &pieces[..number];
                        break;
                    }
                }
            }
        }
        output[filled..].fill(0);
        self.inflate_whole(Part { pieces, output, base }, input, job.salvage, &mut failures);
        failures.sort_unstable_by_key(|failure| failure.piece.output);
        failures.into_iter().map(|failure| failure.lose(job)).collect()
    }

    /// Decompresses the pieces that are whole clusters of deflate, all at once; without `salvage`, until one fails.
    fn inflate_whole<'a>(&mut self, part: Part<'a>, input: &'a [u8], salvage: bool, failures: &mut Vec<Failure<'a>>) {
        let Part { pieces, output: mut rest, base: mut at } = part;
        let goes_on = Cell::new(true);
        let whole = pieces.iter().filter_map(|piece| Some((piece, whole_deflated(piece)?)));
        // They end in any order. But all that have begun do end, so the first one that fails is always among them.
        let streams = whole.take_while(|_| goes_on.get()).map(|(piece, stored)| {
            let (output, behind) = std::mem::take(&mut rest)[piece.output - at..].split_at_mut(piece.output_len);
            (rest, at) = (behind, piece.output + piece.output_len);
            ((piece, stored), Stream { input: &input[piece.input..piece.input + piece.input_len], output })
        });
        self.decompressor.inflate_all(streams, |(piece, stored), stream, result| {
            let Err(error) = result else { return };
            stream.output.fill(0);
            failures.push(Failure { piece, stored, error });
            goes_on.set(salvage);
        });
    }

    /// Decompresses what is stored of a cluster, all of whose compressed data is `from`.
    fn decompress(
        &mut self,
        stored: CompressedPart,
        from: &[u8],
        to: &mut [u8],
    ) -> std::result::Result<(), DecompressError> {
        let CompressedPart { compression, cluster, skip, file, host, .. } = stored;
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

/// What a piece holds, if that is a whole cluster of deflate.
fn whole_deflated(piece: &Piece) -> Option<CompressedPart> {
    match piece.stored {
        Stored::Compressed(stored)
            if stored.compression == Compression::Deflate && stored.cluster == piece.output_len =>
        {
            Some(stored)
        }
        _ => None,
    }
}

/// A piece that could not be decompressed.
struct Failure<'a> {
    piece: &'a Piece,
    stored: CompressedPart,
    error: DecompressError,
}

impl Failure<'_> {
    /// What is lost with it; an error where damage is not tolerated.
    fn lose(self, job: &Job) -> Result<Lost> {
        let Self { piece, stored, error } = self;
        let (damage, place) = match error {
            DecompressError::InputEnds if stored.cut => {
                (Damage::CompressedCut, HostOffset(stored.host.0 + piece.input_len as u64))
            }
            _ => (Damage::CompressedInvalid, stored.host),
        };
        if job.salvage {
            return Ok(Lost { start: job.guest_of(piece.output), len: piece.output_len as u64, damage });
        }
        let error = damage.error(place, place.0);
        let name = job.names.iter().find(|(of, _)| *of == stored.file);
        Err(match name {
            Some((_, name)) => error.within(name),
            None => error,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLUSTER: usize = 4096;
    /// Whole clusters and, marked with `true`, parts of clusters, each at a multiple of the cluster size.
    const PARTIAL: [bool; 8] = [false, false, true, false, false, false, true, false];

    fn text(number: usize) -> Vec<u8> {
        (0..CLUSTER).map(|at| ((at * at) >> number) as u8 | 1).collect()
    }

    /// A job of `PARTIAL`, of which some pieces are no deflate; its input, and its output.
    fn job(bad: &[usize]) -> (Job, Vec<u8>, Vec<u8>) {
        let (mut job, mut input, mut output) = (Job::default(), Vec::new(), vec![0; PARTIAL.len() * CLUSTER]);
        for (number, partial) in PARTIAL.into_iter().enumerate() {
            let stream = match bad.contains(&number) {
                true => vec![0xff; 40],
                false => miniz_oxide::deflate::compress_to_vec(&text(number), 6),
            };
            let (skip, output_len) = if partial { (512, 1024) } else { (0, CLUSTER) };
            let at = number * CLUSTER;
            if !bad.contains(&number) {
                output[at..at + output_len].copy_from_slice(&text(number)[skip..skip + output_len]);
            }
            job.pieces.push(Piece {
                input: input.len(),
                input_len: stream.len(),
                output: at,
                output_len,
                stored: Stored::Compressed(CompressedPart {
                    compression: Compression::Deflate,
                    cluster: CLUSTER,
                    skip,
                    file: FileId(0),
                    host: HostOffset(at as u64),
                    cut: false,
                }),
            });
            input.extend(stream);
        }
        job.stretches = vec![Run { guest: 1 << 30, start: 0, len: output.len() }];
        (job, input, output)
    }

    #[test]
    fn the_first_damage_is_told_and_all_of_it_is_lost() {
        for bad in [&[][..], &[0], &[1], &[2], &[7], &[3, 4], &[2, 5], &[1, 2], &[0, 6], &[1, 3, 4, 6, 7]] {
            let (mut job, input, expected) = job(bad);
            for size in [usize::MAX, 3 * CLUSTER] {
                for salvage in [false, true] {
                    job.salvage = salvage;
                    let mut output = vec![9; expected.len()];
                    let mut decoder = Decoder::default();
                    let results: Result<Vec<_>> = job
                        .parts(&mut output, size)
                        .into_iter()
                        .map(|part| decoder.decode_part(&job, part, &input, &Ciphers::default()))
                        .collect();
                    if let (false, Some(first)) = (salvage, bad.first()) {
                        let place = HostOffset((first * CLUSTER) as u64);
                        let error = Damage::CompressedInvalid.error(place, place.0);
                        assert_eq!(results.unwrap_err().to_string(), error.to_string(), "{bad:?}");
                        continue;
                    }
                    let lost: Vec<_> = results.unwrap().concat().iter().map(|lost| (lost.start, lost.len)).collect();
                    let expected_lost = bad
                        .iter()
                        .map(|&number| (job.guest_of(number * CLUSTER), job.pieces[number].output_len as u64));
                    assert!(expected_lost.eq(lost.iter().copied()), "{bad:?}: {lost:?}");
                    assert!(output == expected, "{bad:?}, in parts of {size}");
                }
            }
        }
    }
}
