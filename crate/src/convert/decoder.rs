//! Decodes jobs: turns their pieces into their output.

use super::cache::{ClusterCache, Compressed};
use super::job::{Ascending, CompressedPart, Job, JobBuffers, Piece, Stored};
use super::repeats::{Repeat, RepeatOutcome, Unit, Units};
use crate::compress::inflate::Stream;
use crate::compress::{DecompressError, Decompressor, GuestRun};
use crate::disk::losses::Lost;
use crate::error::Result;
use crate::offsets::HostOffset;
use std::cell::Cell;
use std::ops::Range;

/// Decodes jobs. Each thread reuses one from job to job.
#[derive(Default)]
pub(crate) struct Decoder {
    decompressor: Decompressor,
    cache: ClusterCache,
}

/// The result of decoding a job.
#[derive(Debug, Default)]
pub(crate) struct DecodedJob {
    /// The runs of data in the output, without zeros.
    pub(crate) runs: Vec<GuestRun>,
    /// In a salvage: the ranges that could not be decoded.
    pub(crate) lost: Vec<Lost>,
}

impl Decoder {
    /// Decodes all of `job`, whose encrypted pieces are decrypted, from `buffers.input` to `buffers.output`. Bytes outside of runs are
    /// undefined. Fails with `internal` if memory runs out, and without salvage with the error of the first piece that cannot be decoded.
    pub(crate) fn decode(&mut self, job: &Job, buffers: &mut JobBuffers) -> Result<DecodedJob> {
        let output = job.prepare(&mut buffers.output)?;
        let (lost, zeros) = self.decode_pieces(job, &buffers.input, output)?;
        Ok(DecodedJob { runs: job.runs(output, &zeros), lost })
    }

    /// Decodes the pieces of `job` from `input`, and fills bytes without a piece with zeros. Returns the lost ranges, and the ascending
    /// ranges of the output that are zeros but were not filled.
    fn decode_pieces(&mut self, job: &Job, input: &[u8], output: &mut [u8]) -> Result<(Vec<Lost>, Vec<Range<usize>>)> {
        // In another job's input the same position may have another cluster.
        self.cache.forget();
        let mut failures = Vec::new();
        let units = self.decode_each(job, input, output, &mut failures);
        self.inflate_units(&units, output, job.salvage, &mut failures);
        let zeros = self.repeat_units(units, input, output, job.salvage, &mut failures);
        failures.sort_unstable_by_key(|failure| failure.piece.output);
        let lost = failures.into_iter().map(|failure| failure.lose(job)).collect::<Result<_>>()?;
        Ok((lost, zeros))
    }

    /// Decodes the pieces one after the other, apart from those that can be inflated together with others, or repeat another one, and
    /// adds failures to `failures`. Returns the compressed pieces that are whole clusters.
    fn decode_each<'a>(
        &mut self,
        job: &'a Job,
        input: &'a [u8],
        output: &mut [u8],
        failures: &mut Vec<Failure<'a>>,
    ) -> Units<'a> {
        let compressed = job.pieces.iter().filter(|piece| matches!(piece.stored, Stored::Compressed(_))).count();
        let mut units = Units::of_most(compressed);
        let mut filled = 0;
        for piece in &job.pieces {
            output[filled..piece.output].fill(0);
            filled = piece.output + piece.output_len;
            let from = &input[piece.input..piece.input + piece.input_len];
            let to = &mut output[piece.output..filled];
            match piece.stored {
                Stored::Ready => {}
                Stored::Plain => to.copy_from_slice(from),
                Stored::Encrypted { .. } => unreachable!("encrypted pieces were decrypted before"),
                Stored::Compressed(stored) => {
                    let Err(error) = self.decode_compressed(piece, stored, from, to, &mut units) else { continue };
                    to.fill(0);
                    failures.push(Failure { piece, stored, error });
                    if !job.salvage {
                        // An earlier piece may still fail, and is reported then. Later pieces do not matter.
                        break;
                    }
                }
            }
        }
        output[filled..].fill(0);
        units
    }

    /// Decompresses `piece`, or adds it to `units` for later.
    fn decode_compressed<'a>(
        &mut self,
        piece: &'a Piece,
        stored: CompressedPart,
        from: &'a [u8],
        to: &mut [u8],
        units: &mut Units<'a>,
    ) -> std::result::Result<(), DecompressError> {
        if stored.cluster != piece.output_len {
            return self.decompress(stored, from, to);
        }
        let deflate = deflate_of_whole(stored, from);
        let Some(unit) = units.add(piece, stored, deflate).filter(|_| deflate.is_none()) else { return Ok(()) };
        let result = self.decompress(stored, from, to);
        // Set once, so it cannot fail.
        let _ = units.units[unit].result.set(result.clone().map(|()| None));
        result
    }

    /// Inflates the deflate units, and adds failures to `failures`. Without `salvage`, starts no unit after a failure.
    fn inflate_units<'a>(
        &mut self,
        units: &Units<'a>,
        output: &mut [u8],
        salvage: bool,
        failures: &mut Vec<Failure<'a>>,
    ) {
        let mut outputs = Ascending::new(output);
        let has_failed = Cell::new(false);
        let streams = units
            .units
            .iter()
            .enumerate()
            .filter_map(|(number, unit)| Some((number, unit, unit.deflate?)))
            // They finish in any order, but all started ones do finish, so the first failure is among them.
            .take_while(|_| salvage || !has_failed.get())
            .map(|(number, unit, deflate)| {
                let output = outputs.take(unit.piece.output, unit.piece.output_len);
                ((number, unit.stored.compression), Stream { input: deflate, output })
            });
        self.decompressor.inflate_all(streams, |number, stream, result| {
            if let Err(error) = &result {
                stream.output.fill(0);
                let Unit { piece, stored, .. } = units.units[number];
                failures.push(Failure { piece, stored, error: error.clone() });
                has_failed.set(true);
            }
            let _ = units.units[number].result.set(result);
        });
    }

    /// Produces the pieces that repeat units, and adds failures to `failures`. Returns the ranges of the output that are zeros but were
    /// not filled.
    fn repeat_units<'a>(
        &mut self,
        mut units: Units<'a>,
        input: &[u8],
        output: &mut [u8],
        salvage: bool,
        failures: &mut Vec<Failure<'a>>,
    ) -> Vec<Range<usize>> {
        let mut zeros: Vec<Range<usize>> = Vec::new();
        for repeat in std::mem::take(&mut units.repeats) {
            let Repeat { piece, stored, .. } = repeat;
            if !salvage && failures.iter().any(|failure| failure.piece.output < piece.output) {
                break;
            }
            let to = piece.output..piece.output + piece.output_len;
            let failed = match units.outcome(&repeat) {
                RepeatOutcome::Same(_) if units.is_zero(&repeat, output) => {
                    match zeros.last_mut() {
                        Some(last) if last.end == piece.output => last.end += piece.output_len,
                        _ => zeros.push(piece.output..piece.output + piece.output_len),
                    }
                    continue;
                }
                RepeatOutcome::Same(Range { start, end }) => {
                    output.copy_within(start..end, to.start);
                    continue;
                }
                RepeatOutcome::Differs => {
                    let from = &input[piece.input..piece.input + piece.input_len];
                    self.decompress(stored, from, &mut output[to.clone()]).err()
                }
                RepeatOutcome::Fails(error) => Some(error),
                RepeatOutcome::Unknown => continue,
            };
            if let Some(error) = failed {
                output[to].fill(0);
                failures.push(Failure { piece, stored, error });
            }
        }
        zeros
    }

    /// Fills `to` with the part of a cluster that `stored` describes. `from` has the compressed data of the whole
    /// cluster.
    fn decompress(
        &mut self,
        stored: CompressedPart,
        from: &[u8],
        to: &mut [u8],
    ) -> std::result::Result<(), DecompressError> {
        let CompressedPart { compression, cluster, skip, file, host, missing } = stored;
        if to.len() == cluster {
            return self.decompressor.decompress(compression, from, missing, to);
        }
        let of = Compressed { file, host, len: from.len() + missing, compression };
        let whole =
            self.cache.get(of, cluster, |whole| self.decompressor.decompress(compression, from, missing, whole))?;
        to.copy_from_slice(&whole[skip..skip + to.len()]);
        Ok(())
    }
}

/// Returns the deflate data of a whole cluster in `from`, with the bytes after it; `None` unless it is deflate data
/// that is complete in the file.
fn deflate_of_whole(stored: CompressedPart, from: &[u8]) -> Option<&[u8]> {
    if stored.missing > 0 { None } else { stored.compression.deflate_in(stored.cluster, from) }
}

/// A piece that could not be decompressed.
struct Failure<'a> {
    piece: &'a Piece,
    stored: CompressedPart,
    error: DecompressError,
}

impl Failure<'_> {
    /// Returns the lost range in a salvage. Otherwise, or if the failure is not damage, returns the error.
    fn lose(self, job: &Job) -> Result<Lost> {
        let Self { piece, stored, error } = self;
        let is_cut = error == DecompressError::InputEnds && stored.missing > 0;
        let place = HostOffset(stored.host.0 + if is_cut { piece.input_len as u64 } else { 0 });
        let damage = stored.compression.damage(error, is_cut)?;
        if job.salvage {
            return Ok(Lost { start: job.guest_of(piece.output), len: piece.output_len as u64, damage });
        }
        let file = job.places.iter().find(|(of, _)| *of == stored.file).map(|(_, place)| place.clone());
        Err(damage.error(place, place.0).within(file))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compress::Compression;
    use crate::compress::decoding_damage::COMPRESSED_INVALID;
    use crate::io::source::FileId;
    use crate::offsets::GuestOffset;

    const CLUSTER: usize = 4096;
    /// Whole clusters, and parts of clusters (`true`), each at a multiple of the cluster size.
    const PARTIAL: [bool; 8] = [false, false, true, false, false, false, true, false];

    fn text(number: usize) -> Vec<u8> {
        (0..CLUSTER).map(|at| ((at * at) >> number) as u8 | 1).collect()
    }

    /// A job of `PARTIAL`, in which the `bad` pieces are not deflate; its input, and its output.
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
                    missing: 0,
                }),
            });
            input.extend(stream);
        }
        job.guest_ranges = vec![GuestRun { guest: GuestOffset(1 << 30), start: 0, len: output.len() }];
        (job, input, output)
    }

    #[test]
    fn the_first_damage_is_reported_and_all_damaged_ranges_are_lost() {
        for bad in [&[][..], &[0], &[1], &[2], &[7], &[3, 4], &[2, 5], &[1, 2], &[0, 6], &[1, 3, 4, 6, 7]] {
            let (mut job, input, expected) = job(bad);
            for salvage in [false, true] {
                job.salvage = salvage;
                let mut output = vec![9; expected.len()];
                let result = Decoder::default().decode_pieces(&job, &input, &mut output);
                if let (false, Some(first)) = (salvage, bad.first()) {
                    let place = HostOffset((first * CLUSTER) as u64);
                    let error = COMPRESSED_INVALID.error(place, place.0);
                    assert_eq!(result.unwrap_err().to_string(), error.to_string(), "{bad:?}");
                    continue;
                }
                let lost: Vec<_> = result.unwrap().0.iter().map(|lost| (lost.start, lost.len)).collect();
                let expected_lost =
                    bad.iter().map(|&number| (job.guest_of(number * CLUSTER), job.pieces[number].output_len as u64));
                assert!(expected_lost.eq(lost.iter().copied()), "{bad:?}: {lost:?}");
                assert!(output == expected, "{bad:?}");
            }
        }
    }

    #[test]
    fn bytes_without_a_piece_are_zeros() {
        let piece = |output: usize, output_len: usize| Piece {
            input: 0,
            input_len: output_len,
            output,
            output_len,
            stored: Stored::Plain,
        };
        // (length of the output, pieces)
        let cases: &[(usize, &[Piece])] = &[
            // A hole of a dense output.
            (8192, &[]),
            (8192, &[piece(0, 8192)]),
            (8192, &[piece(512, 512)]),
            (16_384, &[piece(512, 3000), piece(4096, 4096), piece(12_288, 100)]),
        ];
        for (len, pieces) in cases {
            let job = Job { pieces: pieces.to_vec(), ..Job::default() };
            // The output has bytes of an earlier job.
            let (input, mut output) = (vec![7; *len], vec![9; *len]);
            let (lost, zeros) = Decoder::default().decode_pieces(&job, &input, &mut output).unwrap();
            assert!(lost.is_empty() && zeros.is_empty());
            let mut expected = vec![0; *len];
            for piece in *pieces {
                expected[piece.output..piece.output + piece.output_len].fill(7);
            }
            assert!(output == expected);
        }
    }
}
