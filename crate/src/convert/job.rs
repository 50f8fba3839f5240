//! A job: what to read, how to decode it, and where on the disk the result belongs. It knows no
//! format, so that a worker can run it without parsing any metadata.

use crate::damage::Lost;
use crate::decode::data_runs;
use crate::error::Result;
use crate::extent::Compression;
use crate::sink::Run;
use crate::source::{FileId, FileRange, Source, read_parts, read_ranges, zeroed};
use crate::units::HostOffset;
use serde::{Deserialize, Serialize};
use std::rc::Rc;

/// One job. Its output is packed: stretches of the disk stand one behind the other in a buffer,
/// each at a multiple of the output block.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// Its place in guest order, from 0.
    pub index: u64,
    /// How much of the disk it accounts for, in bytes: its own stretches and the holes before them.
    pub span: u64,
    /// What to read, into one buffer one behind the other.
    pub reads: Vec<FileRange>,
    /// What to decode, ascending by place in the output.
    pub pieces: Vec<Piece>,
    /// Where parts of the output belong on the disk, ascending; they fill the output buffer.
    pub stretches: Vec<Run>,
    /// Runs of zeros shorter than this (bytes) may become data where that saves a write.
    pub short_hole: u64,
    /// Whether zeros are written like data.
    pub dense: bool,
    /// Whether what cannot be decoded becomes zeros.
    pub salvage: bool,
    /// The names of the backing files with compressed data in the job, for messages.
    pub names: Vec<(FileId, String)>,
    /// Ranges that are lost before anything is read.
    pub lost: Vec<Lost>,
}

/// A part of the output that comes from one place of the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Piece {
    /// Position in the input buffer.
    pub input: usize,
    /// Length there.
    pub input_len: usize,
    /// Position in the output buffer.
    pub output: usize,
    /// Length there.
    pub output_len: usize,
    /// How the input is stored.
    pub stored: Stored,
}

/// How the bytes of a piece are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Stored {
    /// As they are.
    Plain,
    /// Encrypted.
    Encrypted {
        /// Which of the image's ciphers.
        cipher: u16,
        /// The number of its first sector of 512 bytes.
        sector: u64,
    },
    /// As a compressed cluster, or a part of one.
    Compressed(CompressedPart),
}

/// A part of a compressed cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompressedPart {
    /// How it is compressed.
    pub compression: Compression,
    /// Size of the cluster.
    pub cluster: usize,
    /// Where in the cluster the part begins.
    pub skip: usize,
    /// Which file holds it, and where: for messages, and to know it again.
    pub file: FileId,
    /// See `file`.
    pub host: HostOffset,
    /// Whether the file ends inside the range that the image gives for the compressed data.
    pub cut: bool,
}

/// What there is after a job was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loaded {
    /// The job's input, to be decoded.
    Input,
    /// The job's output, since nothing had to be decoded.
    Output,
}

/// So many more reads are worth a copy that is saved.
const MORE_READS: usize = 4;

impl Job {
    /// The length of the input buffer, in bytes.
    pub fn input_len(&self) -> usize {
        self.reads.iter().map(|read| read.len as usize).sum()
    }

    /// How much of the output is stored in the image, in bytes: the rest is holes.
    pub fn data_len(&self) -> u64 {
        self.pieces.iter().map(|piece| piece.output_len as u64).sum()
    }

    /// The length of the output buffer, in bytes.
    pub fn output_len(&self) -> usize {
        self.stretches.last().map_or(0, |last| last.start + last.len)
    }

    /// Reads what the job needs; answers with how many bytes that were, too. They go straight to their place
    /// in the output, where all are stored as they are and that takes hardly more reads: the buffer of the
    /// input then is the output's, and the other way round.
    pub async fn read(&self, files: &[Rc<dyn Source>], buffers: &mut Buffers) -> Result<(Loaded, u64)> {
        let buffer = &mut buffers.input;
        let Some(reads) = self.direct_reads() else {
            fit(buffer, self.input_len())?;
            read_ranges(files, &self.reads, buffer).await?;
            return Ok((Loaded::Input, buffer.len() as u64));
        };
        let read = reads.iter().map(|(range, _)| range.len).sum();
        fit(buffer, self.output_len())?;
        let mut parts = Vec::with_capacity(reads.len());
        let (mut rest, mut at) = (&mut buffer[..], 0);
        for (range, start) in reads {
            let (hole, behind) = rest.split_at_mut(start - at);
            hole.fill(0);
            let (part, behind) = behind.split_at_mut(range.len as usize);
            at = start + part.len();
            parts.push((range, part));
            rest = behind;
        }
        rest.fill(0);
        read_parts(files, parts).await?;
        std::mem::swap(&mut buffers.input, &mut buffers.output);
        Ok((Loaded::Output, read))
    }

    /// What to read to which place of the output, if nothing has to be decoded.
    fn direct_reads(&self) -> Option<Vec<(FileRange, usize)>> {
        let mut ends = Vec::with_capacity(self.reads.len());
        let mut end = 0;
        for read in &self.reads {
            end += read.len as usize;
            ends.push(end);
        }
        let mut direct: Vec<(FileRange, usize)> = Vec::new();
        for piece in &self.pieces {
            if piece.stored != Stored::Plain || direct.len() > self.reads.len() + MORE_READS {
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
        Some(direct)
    }

    /// Makes `output` as long as the job's output is. Its content is of no account.
    pub fn prepare<'a>(&self, output: &'a mut Vec<u8>) -> Result<&'a mut [u8]> {
        fit(output, self.output_len())?;
        Ok(output)
    }

    /// The runs of data in the finished output, zeros left out.
    pub fn runs(&self, output: &[u8]) -> Vec<Run> {
        if self.dense {
            return self.stretches.clone();
        }
        let mut runs = Vec::new();
        for stretch in &self.stretches {
            data_runs(output, stretch.start, stretch.start + stretch.len, stretch.guest, &mut runs);
        }
        if self.short_hole > 0 { join_short_holes(runs, self.short_hole) } else { runs }
    }

    /// Where on the disk the byte at `output` belongs.
    pub fn guest_of(&self, output: usize) -> u64 {
        let at = self.stretches.partition_point(|stretch| stretch.start <= output).saturating_sub(1);
        self.stretches.get(at).map_or(0, |stretch| stretch.guest + (output - stretch.start) as u64)
    }

    /// Splits the job into parts of about `size` bytes of output, for decoding side by side.
    pub fn parts<'a>(&'a self, mut output: &'a mut [u8], size: usize) -> Vec<Part<'a>> {
        let mut parts = Vec::new();
        let mut rest = &self.pieces[..];
        let mut base = 0;
        loop {
            let first = rest.first().map_or(0, |piece| piece.output);
            let count = rest.iter().take_while(|piece| piece.output - first < size).count();
            let (pieces, others) = rest.split_at(count);
            let end = others.first().map_or(base + output.len(), |next| next.output);
            let (part, behind) = output.split_at_mut(end - base);
            parts.push(Part { pieces, output: part, base });
            if others.is_empty() {
                return parts;
            }
            (rest, output, base) = (others, behind, end);
        }
    }
}

/// A part of a job, to be decoded by itself.
pub struct Part<'a> {
    /// What to decode.
    pub pieces: &'a [Piece],
    /// Where to.
    pub output: &'a mut [u8],
    /// Where that begins in the job's output.
    pub base: usize,
}

/// A job is no larger than this (bytes) for its own sake: slices of 16 to 32 MiB are read fastest, and a
/// cancel has to wait for the job that is being decoded.
pub const MAX_JOB: u64 = 32 << 20;

/// Of the bytes that a job writes, at most one in this many is a zero that a hole could have been:
/// so the output stays within 10 % of a perfectly sparse one.
const DATA_PER_FILLED_ZERO: u64 = 12;

/// Joins runs across short holes, the shortest first, as far as the bound above allows.
fn join_short_holes(runs: Vec<Run>, short_hole: u64) -> Vec<Run> {
    let gap = |pair: &[Run]| {
        let in_buffer = pair[1].start - (pair[0].start + pair[0].len);
        let on_disk = pair[1].guest - (pair[0].guest + pair[0].len as u64);
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
    let mut result: Vec<Run> = Vec::new();
    for (at, run) in runs.into_iter().enumerate() {
        match result.last_mut() {
            Some(last) if joined[at - 1] => last.len = run.start + run.len - last.start,
            _ => result.push(run),
        }
    }
    result
}

/// A pair of buffers of one job, kept for the next.
#[derive(Default)]
pub struct Buffers {
    /// What was read.
    pub input: Vec<u8>,
    /// What was decoded.
    pub output: Vec<u8>,
}

/// Makes `buf` exactly `len` bytes long. Its content is of no account; a buffer too small is given
/// back before the larger one is asked for.
pub(super) fn fit(buf: &mut Vec<u8>, len: usize) -> Result<()> {
    if buf.capacity() < len {
        *buf = Vec::new();
        *buf = zeroed(len)?;
    }
    buf.resize(len, 0);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::decoder::Decoder;
    use super::*;
    use crate::extras::Ciphers;

    const KIB: usize = 1024;

    #[test]
    fn parts_cover_the_output() {
        let stretch = |len: usize| Run { guest: 0, start: 0, len };
        let piece = |output: usize, output_len: usize| Piece {
            input: 0,
            input_len: output_len,
            output,
            output_len,
            stored: Stored::Plain,
        };
        // (length of the output, pieces, sizes of the parts)
        let cases: &[(usize, &[Piece], &[usize])] = &[
            // A hole of a dense output.
            (8192, &[], &[8192]),
            (8192, &[piece(0, 8192)], &[8192]),
            (8192, &[piece(512, 512)], &[8192]),
            (16_384, &[piece(512, 3000), piece(4096, 4096), piece(12_288, 100)], &[4096, 8192, 4096]),
        ];
        for (len, pieces, sizes) in cases {
            let job = Job { pieces: pieces.to_vec(), stretches: vec![stretch(*len)], ..Job::default() };
            let input = vec![7; *len];
            // What an earlier job has left.
            let mut output = vec![9; *len];
            let parts = job.parts(&mut output, 3500);
            assert_eq!(&parts.iter().map(|part| part.output.len()).collect::<Vec<_>>(), sizes);
            for part in parts {
                let lost = Decoder::default().decode_part(&job, part, &input, &Ciphers::default()).unwrap();
                assert_eq!(lost, []);
            }
            let mut expected = vec![0; *len];
            for piece in *pieces {
                expected[piece.output..piece.output + piece.output_len].fill(7);
            }
            assert!(output == expected);
        }
    }

    #[test]
    fn short_holes_are_filled_within_the_bound() {
        let run = |start: usize, len: usize| Run { guest: start as u64 * 1024, start: start * KIB, len: len * KIB };
        // (runs as (start, length), joined runs), in KiB; holes up to 64 KiB count as short
        type Runs = &'static [(usize, usize)];
        let cases: &[(Runs, Runs)] = &[
            (&[], &[]),
            (&[(0, 4)], &[(0, 4)]),
            // 4 KiB of zeros beside 8 KiB of data is too much.
            (&[(0, 4), (8, 4)], &[(0, 4), (8, 4)]),
            (&[(0, 480), (484, 480)], &[(0, 964)]),
            // Short enough for the allowance, but 64 KiB is no short hole.
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
