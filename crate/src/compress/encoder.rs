//! Compresses runs of data to segments.

use super::encoding::{Segment, fit};
use crate::error::{Error, Result};
use crate::io::target::Run;
use decant_codec::crc;
use decant_codec::deflate::Deflater;

/// Compresses data. Each thread reuses one from job to job; it allocates with the first job.
#[derive(Default)]
pub struct Encoder {
    deflater: Option<Deflater>,
}

impl Encoder {
    /// Compresses each of `runs` of `bytes`, and replaces `output` with the results, one after another. Fails with
    /// `internal` if memory runs out.
    pub fn deflate(&mut self, bytes: &[u8], runs: &[Run], output: &mut Vec<u8>) -> Result<Vec<Segment>> {
        let deflater = match &mut self.deflater {
            Some(deflater) => deflater,
            none => none.insert(Deflater::new().map_err(Error::no_room)?),
        };
        let bound = runs.iter().fold(0, |sum: usize, run| sum.saturating_add(Deflater::bound(run.len)));
        // Its content need not be copied when it grows.
        output.clear();
        if output.capacity() < bound {
            *output = Vec::new();
        }
        fit(output, bound)?;
        let mut segments = Vec::new();
        segments.try_reserve_exact(runs.len()).map_err(|_| Error::out_of_memory(size_of_val(runs)))?;
        let mut start = 0;
        for run in runs {
            let data = &bytes[run.start..run.start + run.len];
            let encoded_len = deflater.deflate(data, &mut output[start..]);
            let crc = crc::crc32(data);
            segments.push(Segment { guest: run.offset, len: run.len as u64, crc, start, encoded_len });
            start += encoded_len;
        }
        output.truncate(start);
        Ok(segments)
    }
}
