//! Encodes the data of jobs: to segments, or unit by unit.

use super::data_runs::GuestRun;
use super::encoding::{CompressedEncoding, EncodedPart, UnitEncoding, UnitMethod, fit, renew};
use super::grain;
use crate::error::{Error, Result};
use decant_codec::crc;
use decant_deflate::{DeflateError, Deflater, bound};
use decant_xz::XzEncoder;
use decant_zstd::{Zstd, ZstdError};

/// How far matches of qcow2's deflate reach back, in bytes: QEMU inflates with a window of this size.
const QCOW2_WINDOW: usize = 4096;

/// Approximate sizes of the compressors, in bytes, for the out-of-memory message.
const DEFLATER: usize = 300 << 10;
const ZSTD_ENCODER: usize = 1 << 20;
const XZ_ENCODER: usize = 9 << 20;

/// Encodes data. Each thread reuses one from job to job; it allocates with the first job.
#[derive(Default)]
pub struct Encoder {
    deflater: Deflater,
    zstd: Zstd,
    xz: XzEncoder,
    /// The last unit of a disk, filled up with zeros.
    last_unit: Vec<u8>,
}

impl Encoder {
    /// Encodes `runs` of `bytes` by `encoding`, and replaces `output` with the results, one after another. Runs must
    /// begin at a unit. Fails with `internal` if memory runs out.
    pub fn encode(
        &mut self,
        encoding: CompressedEncoding,
        bytes: &[u8],
        runs: &[GuestRun],
        output: &mut Vec<u8>,
    ) -> Result<Vec<EncodedPart>> {
        // An empty vector grows without copying.
        output.clear();
        match encoding {
            CompressedEncoding::Units(encoding) => self.units(encoding, bytes, runs, output),
            CompressedEncoding::Segments => self.segments(bytes, runs, output),
        }
    }

    fn segments(&mut self, bytes: &[u8], runs: &[GuestRun], output: &mut Vec<u8>) -> Result<Vec<EncodedPart>> {
        renew(output, runs.iter().fold(0, |sum: usize, run| sum.saturating_add(bound(run.len))))?;
        let mut segments = parts(runs.len())?;
        let mut start = 0;
        for run in runs {
            let data = &bytes[run.start..run.start + run.len];
            let encoded_len = self.deflater.segment(data, &mut output[start..])?;
            let (guest, len, crc) = (run.guest, run.len as u64, crc::crc32(data));
            segments.push(EncodedPart { guest, len, crc, start, encoded_len, padding: 0, is_stored: false });
            start += encoded_len;
        }
        output.truncate(start);
        Ok(segments)
    }

    fn units(
        &mut self,
        UnitEncoding { unit, method }: UnitEncoding,
        bytes: &[u8],
        runs: &[GuestRun],
        output: &mut Vec<u8>,
    ) -> Result<Vec<EncodedPart>> {
        let unit = unit as usize;
        let count = runs.iter().map(|run| run.len.div_ceil(unit)).sum();
        renew(output, method.bound(unit).saturating_mul(count))?;
        let mut units = parts(count)?;
        let mut start = 0;
        for run in runs {
            for at in (0..run.len).step_by(unit) {
                let mut data = &bytes[run.start + at..run.start + run.len.min(at + unit)];
                let (guest, len) = (run.guest + at as u64, data.len() as u64);
                if data.len() < unit && method.fills_up() {
                    fit(&mut self.last_unit, 0)?;
                    fit(&mut self.last_unit, unit)?;
                    self.last_unit[..data.len()].copy_from_slice(data);
                    data = &self.last_unit;
                }
                let room = &mut output[start..];
                let mut padding = 0;
                let encoded_len = match method {
                    UnitMethod::Deflate => self.deflater.stream(data, QCOW2_WINDOW, room)?,
                    UnitMethod::Zstd => compress_by_zstd(&mut self.zstd, data, &mut room[..unit])?,
                    UnitMethod::ZstdFrame => {
                        self.zstd.checked_frame(data, room).map_err(|_| Error::out_of_memory(ZSTD_ENCODER))?
                    }
                    UnitMethod::XzBlock => {
                        let len = self.xz.block(data, room).map_err(|_| Error::out_of_memory(XZ_ENCODER))?;
                        padding = decant_xz::padding(room) as u8;
                        len
                    }
                    UnitMethod::Grain => grain::encode(&mut self.deflater, data, guest, room)?,
                };
                let is_stored = method.may_store() && encoded_len >= unit;
                if is_stored {
                    room[..unit].copy_from_slice(data);
                }
                let encoded_len = if is_stored { unit } else { encoded_len };
                units.push(EncodedPart { guest, len, crc: 0, start, encoded_len, padding, is_stored });
                start += encoded_len;
            }
        }
        output.truncate(start);
        Ok(units)
    }
}

fn parts(count: usize) -> Result<Vec<EncodedPart>> {
    let mut parts = Vec::new();
    parts.try_reserve_exact(count).map_err(|_| Error::out_of_memory(count * size_of::<EncodedPart>()))?;
    Ok(parts)
}

/// Compresses `unit` to a frame at the start of `output`, which is as long. Returns the length of the frame, or that of
/// `unit` if the frame does not fit. Fails with `internal` if memory runs out.
fn compress_by_zstd(zstd: &mut Zstd, unit: &[u8], output: &mut [u8]) -> Result<usize> {
    match zstd.compress(unit, output) {
        Ok(len) => Ok(len),
        Err(ZstdError::OutputFull) => Ok(unit.len()),
        Err(_) => Err(Error::out_of_memory(ZSTD_ENCODER)),
    }
}

impl From<DeflateError> for Error {
    fn from(DeflateError::OutOfMemory: DeflateError) -> Self {
        Self::out_of_memory(DEFLATER)
    }
}
