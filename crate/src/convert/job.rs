//! A job: what to read, how to decode it, and its place on the disk. Workers run jobs without parsing any metadata.

use super::digest::Digested;
use super::sums::Summing;
use crate::compress::{Compression, Encoding, GuestRun, data_runs, renew};
use crate::disk::losses::Lost;
use crate::error::Result;
use crate::error::place::Place;
use crate::io::source::{FileId, FileRange, Source, read_parts, read_ranges};
use crate::modules::prepare;
use crate::offsets::{GuestOffset, GuestRange, HostOffset};
use decant_module::Module;
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::rc::Rc;

/// One job. Its output is packed: its guest ranges follow one another in a buffer, each at a multiple of the
/// writer's unit.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// The number of the job in guest order, from 0.
    pub(crate) index: u64,
    /// Length of the part of the disk that the job accounts for, in bytes: its guest ranges and the holes around them.
    pub(crate) span: u64,
    /// The host ranges to read, one after another into one buffer.
    pub(crate) reads: Vec<FileRange>,
    /// The pieces to decode, ascending by position in the output.
    pub(crate) pieces: Vec<Piece>,
    /// The guest ranges of the output, ascending. They fill the output buffer.
    pub(crate) guest_ranges: Vec<GuestRun>,
    /// The storage unit of the output, in bytes.
    pub(crate) unit: u64,
    /// Zeros between two runs of data may be written as data if they are fewer than this, in bytes; 0: never.
    pub(crate) short_hole: u64,
    /// Whether zeros in the guest ranges are written as data.
    pub(crate) dense: bool,
    pub(crate) encoding: Encoding,
    /// Whether pieces that cannot be decoded are read as zeros. Otherwise they are an error.
    pub(crate) salvage: bool,
    /// The part of the disk, all that the job accounts for, whose CRC-32 is wanted. All pieces are stored unchanged then.
    pub(crate) summed: Option<GuestRange>,
    /// How guest sums of the job are computed, if they are wanted.
    pub(crate) sums: Option<Summing>,
    pub(crate) digested: Digested,
    /// The files with compressed data in the job, for errors. See [`crate::Image::places`].
    pub(crate) places: Vec<(FileId, Place)>,
    /// Ranges that the planner found lost. Executors do not use them.
    #[serde(skip)]
    pub(crate) lost: Vec<Lost>,
}

/// A part of the output that comes from one range of the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Piece {
    /// Position in the input buffer, in bytes.
    pub(crate) input: usize,
    /// Length in the input buffer.
    pub(crate) input_len: usize,
    /// Position in the output buffer.
    pub(crate) output: usize,
    /// Length in the output buffer.
    pub(crate) output_len: usize,
    pub(crate) stored: Stored,
}

/// Storage of a piece's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Stored {
    /// Unchanged.
    Plain,
    /// Encrypted.
    Encrypted {
        /// Index of the cipher among those of the image.
        cipher: u16,
        /// The number of its first sector of 512 bytes.
        sector: u64,
    },
    /// As a compressed cluster, or part of one.
    Compressed(CompressedPart),
    /// Already at its place in the output.
    Ready,
}

/// A part of a compressed cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CompressedPart {
    pub(crate) compression: Compression,
    /// Length of the decompressed cluster, in bytes.
    pub(crate) cluster: usize,
    /// Offset of the part in the cluster, in bytes.
    pub(crate) skip: usize,
    /// The file with the compressed data; like `host`, for messages and to identify the cluster.
    pub(crate) file: FileId,
    /// The host offset of the compressed data.
    pub(crate) host: HostOffset,
    /// Number of bytes of the compressed data's range that are past the end of the file.
    pub(crate) missing: usize,
}

/// Extra reads accepted to avoid a copy.
const EXTRA_READS: usize = 4;

impl Job {
    /// The length of the input buffer, in bytes.
    pub(crate) fn input_len(&self) -> usize {
        self.reads.iter().map(|read| read.len as usize).sum()
    }

    /// Makes the modules ready that decode and encode the job. Fails as loading them does.
    pub(crate) async fn prepare_modules(&self) -> Result<()> {
        for module in self.modules() {
            prepare(module).await?;
        }
        Ok(())
    }

    /// The modules that are needed to decode and encode the job.
    fn modules(&self) -> impl Iterator<Item = &'static Module> {
        let of_piece = |piece: &Piece| match piece.stored {
            Stored::Compressed(part) => part.compression.module(),
            Stored::Encrypted { .. } => Some(&decant_crypt::MODULE),
            _ => None,
        };
        let of_digest = (self.digested == Digested::Blocks).then_some(&decant_crypt::MODULE);
        self.pieces.iter().filter_map(of_piece).chain(self.encoding.module()).chain(of_digest)
    }

    /// Number of output bytes that come from pieces.
    pub(crate) fn data_len(&self) -> u64 {
        self.pieces.iter().map(|piece| piece.output_len as u64).sum()
    }

    /// The length of the output buffer, in bytes.
    pub(crate) fn output_len(&self) -> usize {
        self.guest_ranges.last().map_or(0, |last| last.start + last.len)
    }

    /// Reads the input of the job into `buffer`.
    ///
    /// If no byte needs decoding, and this takes at most [`EXTRA_READS`] more reads, reads directly to the positions in
    /// the output; `buffer` then holds the job's output. Fails with `source`, or with `internal` if memory runs out.
    pub(super) async fn read(&self, files: &[Rc<dyn Source>], buffer: &mut Vec<u8>) -> Result<Read> {
        let Some(reads) = self.direct_reads(files) else {
            renew(buffer, self.input_len())?;
            read_ranges(files, &self.reads, buffer).await?;
            return Ok(Read { is_output: false, bytes: buffer.len() as u64 });
        };
        let bytes = reads.iter().map(|(range, _)| range.len).sum();
        renew(buffer, self.output_len())?;
        let mut parts = Vec::with_capacity(reads.len());
        let mut output = Ascending::new(buffer);
        for (range, start) in reads {
            output.zero_to(start);
            parts.push((range, output.take(start, range.len as usize)));
        }
        output.zero_to(self.output_len());
        read_parts(files, parts).await?;
        Ok(Read { is_output: true, bytes })
    }

    /// The reads of the job with their positions in the output; `None` if something must be decoded, or if the reads
    /// would be too many or too short.
    fn direct_reads(&self, files: &[Rc<dyn Source>]) -> Option<Vec<(FileRange, usize)>> {
        let mut ends = Vec::with_capacity(self.reads.len());
        let mut end = 0;
        for read in &self.reads {
            end += read.len as usize;
            ends.push(end);
        }
        let mut direct: Vec<(FileRange, usize)> = Vec::new();
        for piece in &self.pieces {
            if piece.stored != Stored::Plain || direct.len() > self.reads.len() + EXTRA_READS {
                return None;
            }
            let number = ends.partition_point(|&end| end <= piece.input);
            let read = self.reads.get(number)?;
            let start = HostOffset(read.end() - (ends[number] - piece.input) as u64);
            match direct.last_mut() {
                Some((last, at))
                    if last.file == read.file && last.end() == start.0 && *at + last.len as usize == piece.output =>
                {
                    last.len += piece.output_len as u64;
                }
                _ => direct.push((FileRange { file: read.file, start, len: piece.output_len as u64 }, piece.output)),
            }
        }
        let is_short = |range: &FileRange| {
            files.get(usize::from(range.file.0)).is_some_and(|file| range.len < file.profile().min_read)
        };
        let divided = direct.len() > self.reads.len();
        if divided && direct.iter().any(|(range, _)| is_short(range)) {
            return None;
        }
        Some(direct)
    }

    /// Resizes `output` to the job's output. Its content is undefined. Fails with `internal` if memory runs out.
    pub(crate) fn prepare<'a>(&self, output: &'a mut Vec<u8>) -> Result<&'a mut [u8]> {
        renew(output, self.output_len())?;
        Ok(output)
    }

    /// Returns the runs of data in the decoded output, without zeros. `zeros` are ascending ranges of the output that
    /// count as zeros whatever they contain; zeros are written to the parts of them that a run covers.
    pub(crate) fn runs(&self, output: &mut [u8], zeros: &[Range<usize>]) -> Vec<GuestRun> {
        let unit = self.unit as usize;
        let mut whole = Vec::with_capacity(zeros.len());
        for zero in zeros {
            // Units that are only partly in the range are searched for zeros like any other.
            let first = zero.start.next_multiple_of(unit).min(zero.end);
            let last = (zero.end / unit * unit).max(first);
            output[zero.start..first].fill(0);
            output[last..zero.end].fill(0);
            if first < last {
                whole.push(first..last);
            }
        }
        let runs = if self.dense { self.guest_ranges.clone() } else { self.sparse_runs(output, &whole) };
        for run in &runs {
            let end = run.start + run.len;
            let first = whole.partition_point(|zero| zero.end <= run.start);
            for zero in whole[first..].iter().take_while(|zero| zero.start < end) {
                output[zero.start.max(run.start)..zero.end.min(end)].fill(0);
            }
        }
        runs
    }

    fn sparse_runs(&self, output: &[u8], zeros: &[Range<usize>]) -> Vec<GuestRun> {
        let mut runs = Vec::new();
        for guest_range in &self.guest_ranges {
            let end = guest_range.start + guest_range.len;
            data_runs(output, guest_range.start..end, guest_range.guest, self.unit as usize, zeros, &mut runs);
        }
        if self.short_hole > 0 { join_short_holes(runs, self.short_hole) } else { runs }
    }

    /// Returns the guest offset of the byte at position `output`.
    pub(crate) fn guest_of(&self, output: usize) -> GuestOffset {
        let at = self.guest_ranges.partition_point(|guest_range| guest_range.start <= output).saturating_sub(1);
        self.guest_ranges
            .get(at)
            .map_or(GuestOffset(0), |guest_range| guest_range.guest + (output - guest_range.start) as u64)
    }
}

/// Splits a buffer into parts, in ascending order.
pub(super) struct Ascending<'a> {
    /// The remaining bytes, and their position.
    rest: &'a mut [u8],
    start: usize,
}

impl<'a> Ascending<'a> {
    pub(crate) fn new(buffer: &'a mut [u8]) -> Self {
        Self { rest: buffer, start: 0 }
    }

    /// Takes `len` bytes at `position`, which must not be before the end of the last part.
    pub(crate) fn take(&mut self, position: usize, len: usize) -> &'a mut [u8] {
        let (_, rest) = std::mem::take(&mut self.rest).split_at_mut(position - self.start);
        let (taken, rest) = rest.split_at_mut(len);
        (self.rest, self.start) = (rest, position + len);
        taken
    }

    /// Fills the remaining bytes before `position` with zeros.
    pub(crate) fn zero_to(&mut self, position: usize) {
        self.rest[..position - self.start].fill(0);
    }
}

/// At most one in this many bytes that a job writes is a zero that could be a hole: the output stays within 10 % of a
/// perfectly sparse one.
const DATA_PER_FILLED_ZERO: u64 = 12;

/// Joins runs across holes shorter than `short_hole`, shortest first, within [`DATA_PER_FILLED_ZERO`].
fn join_short_holes(runs: Vec<GuestRun>, short_hole: u64) -> Vec<GuestRun> {
    let gap = |pair: &[GuestRun]| {
        let in_buffer = pair[1].start - (pair[0].start + pair[0].len);
        let on_disk = pair[1].guest - pair[0].end();
        (in_buffer as u64 == on_disk && on_disk < short_hole).then_some(on_disk)
    };
    let mut gaps: Vec<(u64, usize)> =
        runs.windows(2).enumerate().filter_map(|(at, pair)| Some((gap(pair)?, at))).collect();
    gaps.sort_unstable();
    let mut allowance = runs.iter().map(|run| run.len as u64).sum::<u64>() / DATA_PER_FILLED_ZERO;
    let mut joined = vec![false; runs.len()];
    for (len, at) in gaps {
        if len > allowance {
            break;
        }
        allowance -= len;
        joined[at] = true;
    }
    let mut result: Vec<GuestRun> = Vec::new();
    for (at, run) in runs.into_iter().enumerate() {
        match result.last_mut() {
            Some(last) if joined[at - 1] => last.len = run.start + run.len - last.start,
            _ => result.push(run),
        }
    }
    result
}

/// The result of reading a job.
pub(super) struct Read {
    /// Whether the buffer already holds the job's output.
    pub(crate) is_output: bool,
    /// Number of bytes read.
    pub(crate) bytes: u64,
}

/// The buffers of one job.
#[derive(Default)]
pub(crate) struct JobBuffers {
    /// The bytes read.
    pub(crate) input: Vec<u8>,
    /// The decoded bytes.
    pub(crate) output: Vec<u8>,
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIB: usize = 1024;

    #[test]
    fn short_holes_are_filled_within_the_bound() {
        let run = |start: usize, len: usize| GuestRun {
            guest: GuestOffset(start as u64 * 1024),
            start: start * KIB,
            len: len * KIB,
        };
        // (runs as (start, length), joined runs), in KiB; holes up to 64 KiB count as short
        type Runs = &'static [(usize, usize)];
        let cases: &[(Runs, Runs)] = &[
            (&[], &[]),
            (&[(0, 4)], &[(0, 4)]),
            // 4 KiB of zeros beside 8 KiB of data is too much.
            (&[(0, 4), (8, 4)], &[(0, 4), (8, 4)]),
            (&[(0, 480), (484, 480)], &[(0, 964)]),
            // Within the allowance, but 64 KiB is not a short hole.
            (&[(0, 480), (544, 480)], &[(0, 480), (544, 480)]),
            // The shortest hole is filled first; then the allowance of 20 KiB is used up.
            (&[(0, 80), (100, 80), (184, 80)], &[(0, 80), (100, 164)]),
        ];
        for (runs, expected) in cases {
            let runs = runs.iter().map(|&(start, len)| run(start, len)).collect();
            let joined: Vec<_> = join_short_holes(runs, 64 * KIB as u64);
            let expected: Vec<_> = expected.iter().map(|&(start, len)| run(start, len)).collect();
            assert_eq!(joined, expected);
        }
    }
}
