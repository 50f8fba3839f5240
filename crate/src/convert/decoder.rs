//! Decodes jobs: the pieces of one become its output.

use super::job::{Buffers, Job, Part, Piece, Stored, fit};
use crate::damage::{Damage, Lost};
use crate::decode::{DecompressError, Decompressor};
use crate::error::Result;
use crate::extent::Compression;
use crate::extras::Ciphers;
use crate::sink::Run;
use crate::source::FileId;
use crate::units::HostOffset;

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
                Stored::Compressed { file, .. } => {
                    let Err((damage, place)) = self.decompress(piece, from, to) else { continue };
                    if !job.salvage {
                        let error = damage.error(place, place.0);
                        let name = job.names.iter().find(|(of, _)| *of == file);
                        return Err(match name {
                            Some((_, name)) => error.within(name),
                            None => error,
                        });
                    }
                    to.fill(0);
                    lost.push(Lost { start: job.guest_of(piece.output), len: piece.output_len as u64, damage });
                }
            }
        }
        output[filled..].fill(0);
        Ok(lost)
    }

    /// Decompresses a piece; what fails says where.
    fn decompress(
        &mut self,
        piece: &Piece,
        from: &[u8],
        to: &mut [u8],
    ) -> std::result::Result<(), (Damage, HostOffset)> {
        let Stored::Compressed { compression, cluster, skip, file, host, cut } = piece.stored else { return Ok(()) };
        let result = if to.len() == cluster {
            self.decompressor.decompress(compression, from, to)
        } else {
            self.cached_cluster(compression, cluster, (file, host), from)
                .map(|whole| to.copy_from_slice(&whole[skip..skip + to.len()]))
        };
        result.map_err(|error| match error {
            DecompressError::InputEnds if cut => (Damage::CompressedCut, HostOffset(host.0 + from.len() as u64)),
            _ => (Damage::CompressedInvalid, host),
        })
    }

    /// The cluster whose compressed data is `from`, decompressed once for all its pieces in a row.
    fn cached_cluster(
        &mut self,
        compression: Compression,
        cluster: usize,
        id: (FileId, HostOffset),
        from: &[u8],
    ) -> std::result::Result<&[u8], DecompressError> {
        if self.cached != Some(id) {
            self.cached = None;
            fit(&mut self.cluster, cluster).map_err(|_| DecompressError::Invalid)?;
            self.decompressor.decompress(compression, from, &mut self.cluster)?;
            self.cached = Some(id);
        }
        Ok(&self.cluster)
    }
}
