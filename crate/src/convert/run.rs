//! Runs a job: read, decode, find zeros, encode. Shared by all executors, which differ in where they decode.

use super::decoder::{DecodedJob, Decoder};
use super::digest::{DigestData, Digested, block_hashes};
use super::executor::ExecutedJob;
use super::job::{Job, JobBuffers, Piece, Stored};
use super::sector_size::has_large_sectors;
use super::sum::crc_of;
use super::sums::PartSum;
use crate::compress::{CompressedEncoding, EncodedPart, Encoder, Encoding, GuestRun, Placement};
use crate::crypt::{Ciphers, Keys};
use crate::disk::losses::Lost;
use crate::error::Result;
use crate::io::source::Source;
use std::cell::RefCell;
use std::rc::Rc;

/// Spare buffers, kept for the next job.
#[derive(Default)]
pub(crate) struct SpareBuffers {
    inputs: RefCell<Vec<Vec<u8>>>,
    outputs: RefCell<Vec<Vec<u8>>>,
}

impl SpareBuffers {
    /// Takes an input buffer, else an output buffer: reading a job directly into its output turns one into the other.
    fn take_input(&self) -> Vec<u8> {
        let spare = self.inputs.borrow_mut().pop().or_else(|| self.outputs.borrow_mut().pop());
        spare.unwrap_or_default()
    }

    fn take_output(&self) -> Vec<u8> {
        let spare = self.outputs.borrow_mut().pop().or_else(|| self.inputs.borrow_mut().pop());
        spare.unwrap_or_default()
    }

    fn give_input(&self, buffer: Vec<u8>) {
        self.inputs.borrow_mut().push(buffer);
    }

    /// Returns the buffer of a job's output for reuse.
    pub(crate) fn give_output(&self, buffer: Vec<u8>) {
        self.outputs.borrow_mut().push(buffer);
    }
}

/// A job after reading.
pub(crate) struct LoadedJob {
    job: Job,
    buffers: JobBuffers,
    is_output: bool,
    /// Number of bytes read.
    read: u64,
    /// See [`JobOutput::crc`].
    crc: Option<u32>,
}

impl LoadedJob {
    /// Decodes the job by `decode`, unless the buffer already holds the output, and finds zeros. For a compressed
    /// output, encodes the data by `encode` (see `Encoder::encode`). Returns the result and the input buffer, which is spare. Fails as
    /// `decode` and `encode` do.
    pub(crate) fn finish(
        mut self,
        decode: impl FnOnce(&Job, &mut JobBuffers) -> Result<DecodedJob>,
        encode: impl FnOnce(CompressedEncoding, &[u8], &[GuestRun], &mut Vec<u8>) -> Result<Vec<EncodedPart>>,
    ) -> Result<(JobOutput, Vec<u8>)> {
        let DecodedJob { runs, lost } = if self.is_output {
            DecodedJob { runs: self.job.runs(&mut self.buffers.output, &[]), lost: Vec::new() }
        } else {
            decode(&self.job, &mut self.buffers)?
        };
        let JobBuffers { input, output } = &mut self.buffers;
        let large_sectors = has_large_sectors(&runs, output);
        let sums = self.job.sums.map(|summing| summing.sums_of(&runs, output)).transpose()?.unwrap_or_default();
        let mut digested = None;
        let placement = match self.job.encoding {
            _ if self.job.sums.is_some_and(|summing| summing.discards) => Placement::Runs(Vec::new()),
            _ if self.job.digested == Digested::Blocks => {
                digested = Some(block_hashes(output, &runs)?);
                Placement::Runs(Vec::new())
            }
            Encoding::Plain => Placement::Runs(runs),
            Encoding::Stored => Placement::Parts(runs.iter().map(EncodedPart::stored).collect()),
            Encoding::Compressed(encoding) => {
                // The input is no longer needed.
                let parts = encode(encoding, output, &runs, input)?;
                std::mem::swap(input, output);
                if self.job.digested == Digested::Data {
                    digested = Some((std::mem::take(input), runs));
                }
                Placement::Parts(parts)
            }
        };
        let Self { buffers: JobBuffers { input, output: bytes }, read, crc, .. } = self;
        Ok((JobOutput { bytes, placement, digested, lost, read, large_sectors, crc, sums }, input))
    }

    /// Decrypts the encrypted pieces to their places in the output. The platform may do it while this waits. Fails with `internal`
    /// if a key is missing or memory runs out.
    async fn decrypt(&mut self, ciphers: &RefCell<Ciphers>, keys: &Keys) -> Result<()> {
        let JobBuffers { input, output } = &mut self.buffers;
        for at in 0..self.job.pieces.len() {
            let Piece { stored: Stored::Encrypted { cipher, sector }, .. } = self.job.pieces[at] else { continue };
            let cipher = ciphers.borrow_mut().get(keys, cipher)?;
            let output = self.job.prepare(output)?;
            let piece = &mut self.job.pieces[at];
            piece.stored = Stored::Ready;
            let from = &input[piece.input..piece.input + piece.input_len];
            let to = &mut output[piece.output..piece.output + piece.output_len];
            Ciphers::decrypt_async(&cipher, sector, from, to).await?;
        }
        Ok(())
    }
}

/// The result of a job.
pub struct JobOutput {
    /// The output buffer, which can be reused after writing.
    pub(crate) bytes: Vec<u8>,
    /// The runs of data in `bytes`, with their guest offsets. Zeros are left out; their bytes in the buffer are
    /// undefined.
    pub(crate) placement: Placement,
    /// See [`ExecutedJob::digested`].
    pub(crate) digested: Option<DigestData<Vec<u8>>>,
    /// In a salvage: the ranges that could not be decoded.
    pub(crate) lost: Vec<Lost>,
    /// Number of bytes read.
    pub(crate) read: u64,
    /// Whether the data has a GPT for sectors of 4,096 bytes.
    pub(crate) large_sectors: bool,
    /// The CRC-32 of [`Job::summed`].
    pub(crate) crc: Option<u32>,
    /// The guest sums, if they are wanted.
    pub(crate) sums: Vec<PartSum>,
}

impl JobOutput {
    /// Converts the result for the pipeline. `wrap` converts the buffer to the type that the target writes.
    pub fn executed<B>(self, wrap: impl Fn(Vec<u8>) -> B) -> ExecutedJob<B> {
        let Self { bytes, placement, digested, lost, read, large_sectors, crc, sums } = self;
        ExecutedJob {
            written: placement.len(),
            digested: digested.map(|(bytes, runs)| (wrap(bytes), runs)),
            output: Some((wrap(bytes), placement)),
            read,
            lost,
            large_sectors,
            crc,
            sums,
        }
    }
}

/// Runs jobs whose decoding is not divided among threads. Its memory is reused from job to job. Several jobs can be
/// read at once; they are decoded one after another.
pub struct Transcoder {
    keys: Keys,
    ciphers: RefCell<Ciphers>,
    decoder: RefCell<Decoder>,
    encoder: RefCell<Encoder>,
    spares: SpareBuffers,
}

impl Transcoder {
    /// Creates a transcoder that decrypts with `keys`.
    pub fn new(keys: Keys) -> Self {
        Self {
            keys,
            ciphers: RefCell::default(),
            decoder: RefCell::default(),
            encoder: RefCell::default(),
            spares: SpareBuffers::default(),
        }
    }

    /// Runs `job`, which reads from `files`. Fails with `source`, `corrupt` or `internal`.
    pub async fn run(&self, job: Job, files: &[Rc<dyn Source>]) -> Result<JobOutput> {
        let finish = async |mut loaded: LoadedJob| {
            loaded.decrypt(&self.ciphers, &self.keys).await?;
            let decode = |job: &_, buffers: &mut _| self.decoder.borrow_mut().decode(job, buffers);
            let encode = |encoding, bytes: &_, runs: &_, output: &mut _| {
                self.encoder.borrow_mut().encode(encoding, bytes, runs, output)
            };
            loaded.finish(decode, encode)
        };
        run_job(job, files, &self.spares, finish).await
    }

    /// Returns the buffer of a job's output for reuse.
    pub fn give_output(&self, buffer: Vec<u8>) {
        self.spares.give_output(buffer);
    }
}

/// Runs `job`: reads it from `files`, then calls `finish`, which decodes it on this or another thread. Buffers come
/// from `spares`. Fails with `source`, or as `finish` does.
pub(crate) async fn run_job(
    job: Job,
    files: &[Rc<dyn Source>],
    spares: &SpareBuffers,
    finish: impl AsyncFnOnce(LoadedJob) -> Result<(JobOutput, Vec<u8>)>,
) -> Result<JobOutput> {
    job.prepare_modules().await?;
    let mut buffer = spares.take_input();
    let read = job.read(files, &mut buffer).await?;
    let crc = job.summed.map(|range| crc_of(&job, range, &buffer, read.is_output));
    let buffers = match read.is_output {
        true if !job.encoding.is_compressed() => JobBuffers { input: Vec::new(), output: buffer },
        true => JobBuffers { input: spares.take_output(), output: buffer },
        // Taken only after reading, so that other jobs can use the buffer until then.
        false => JobBuffers { input: buffer, output: spares.take_output() },
    };
    let (output, input) = finish(LoadedJob { job, buffers, is_output: read.is_output, read: read.bytes, crc }).await?;
    if input.capacity() > 0 {
        spares.give_input(input);
    }
    Ok(output)
}
