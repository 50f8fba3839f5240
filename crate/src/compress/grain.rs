//! The frame around the deflate data of a compressed VMDK grain: the marker (Virtual Disk Format 5.0, "Stream-Optimized
//! Compressed Sparse Extents") and the zlib header and checksum (RFC 1950).

use super::decoding_damage::{DecompressError, GRAIN_MISPLACED, GRAIN_OVERSIZED};
use crate::error;
use crate::offsets::{GuestOffset, SECTOR};
use crate::structure::structure;
use decant_codec::inflate::StreamEnd;
use decant_deflate::Deflater;
use serde::{Deserialize, Serialize};

/// Maximum size of a compressed grain with its marker, in grains. Incompressible data in deflate is hardly longer than
/// one.
pub(crate) const MOST_COMPRESSED: u64 = 2;

structure! {
    /// The marker before a compressed grain.
    pub(crate) struct GrainMarker: Little {
        /// The grain's first sector in the extent.
        lba: u64 = 0,
        /// The length of the zlib stream, in bytes.
        size: u32 = 8,
    }
}

/// Size of the length of the zlib stream, which some writers put in place of a marker.
pub(crate) const LENGTH_SIZE: usize = 4;
pub(super) const ZLIB_HEADER_SIZE: usize = 2;
const ADLER_SIZE: usize = 4;
/// A zlib header (RFC 1950, section 2.2): deflate with a window of 32 KiB, without a dictionary, the default level.
const ZLIB_HEADER: [u8; ZLIB_HEADER_SIZE] = [0x78, 0x9c];
/// Maximum number of bytes that the frame adds to the deflate data, padding included.
pub(super) const FRAME_BOUND: usize = GrainMarker::LEN + ZLIB_HEADER_SIZE + ADLER_SIZE + SECTOR as usize;
/// The window of deflate.
const WINDOW: usize = 32 << 10;

/// The frame of a compressed grain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GrainFrame {
    /// The number of the grain's first sector, which its marker must have; `None` in a file without markers.
    pub(crate) sector: Option<u64>,
    /// Length of the grain's part inside the disk, in bytes. The last grain may be stored without the rest.
    pub(crate) len: u32,
}

impl GrainFrame {
    /// See [`super::Compression::deflate_in`].
    pub(super) fn deflate_in(self, grain: usize, input: &[u8]) -> Option<&[u8]> {
        body(after_marker(self.sector?, grain, input).ok()?.zlib).ok()
    }
}

/// The content after a marker.
pub(super) struct Marked<'a> {
    pub(super) zlib: &'a [u8],
    /// Whether it has the length in the marker, and is not cut off.
    pub(super) is_whole: bool,
}

/// Parses the marker at the start of `input`, for a grain of `grain` bytes, and returns what follows. Fails with
/// `InputEnds` if the marker is cut off, and with `Damaged` if it belongs to another grain than that at `sector`, or if
/// its length is impossible.
pub(crate) fn after_marker(sector: u64, grain: usize, input: &[u8]) -> Result<Marked<'_>, DecompressError> {
    let (marker, data) = input.split_at_checked(GrainMarker::LEN).ok_or(DecompressError::InputEnds)?;
    let marker = GrainMarker::parse(marker);
    if marker.lba != sector {
        return Err(DecompressError::Damaged(GRAIN_MISPLACED));
    }
    if GrainMarker::LEN as u64 + u64::from(marker.size) > MOST_COMPRESSED * grain as u64 {
        return Err(DecompressError::Damaged(GRAIN_OVERSIZED));
    }
    let len = marker.size as usize;
    Ok(Marked { zlib: &data[..len.min(data.len())], is_whole: len <= data.len() })
}

/// Checks the header of a zlib stream. Returns its deflate data, with the checksum and later bytes.
pub(crate) fn body(zlib: &[u8]) -> Result<&[u8], DecompressError> {
    let (header, body) = zlib.split_at_checked(ZLIB_HEADER_SIZE).ok_or(DecompressError::InputEnds)?;
    let (method, flags) = (header[0], header[1]);
    let is_deflate = method & 0x0f == 8 && method >> 4 <= 7;
    let has_dictionary = flags & 0x20 != 0;
    let is_checked = (u16::from(method) << 8 | u16::from(flags)).is_multiple_of(31);
    if is_deflate && !has_dictionary && is_checked { Ok(body) } else { Err(DecompressError::Invalid) }
}

/// Encodes the grain `data`, at guest offset `guest`, to the start of `output`, with its marker, and padded to whole
/// sectors. `output` must have room for the deflate data and [`FRAME_BOUND`]. Returns the length. Fails
/// with `internal` if memory runs out.
pub(super) fn encode(
    deflater: &mut Deflater,
    data: &[u8],
    guest: GuestOffset,
    output: &mut [u8],
) -> error::Result<usize> {
    let (marker, zlib) = output.split_at_mut(GrainMarker::LEN);
    let (header, body) = zlib.split_at_mut(ZLIB_HEADER_SIZE);
    header.copy_from_slice(&ZLIB_HEADER);
    let end = deflater.stream(data, WINDOW, body)?;
    body[end..end + ADLER_SIZE].copy_from_slice(&simd_adler32::adler32(&data).to_be_bytes());
    let size = ZLIB_HEADER_SIZE + end + ADLER_SIZE;
    marker.copy_from_slice(&GrainMarker { lba: guest.0 / SECTOR, size: size as u32 }.to_bytes());
    let len = GrainMarker::LEN + size;
    let padded = len.next_multiple_of(SECTOR as usize);
    output[len..padded].fill(0);
    Ok(padded)
}

/// Checks `output` against the checksum after the deflate data in `body`. Returns the end of the checksum. Fails unless
/// the data ends when `output` is full.
pub(crate) fn check(body: &[u8], end: StreamEnd, output: &[u8]) -> Result<usize, DecompressError> {
    let end = match end {
        StreamEnd::At(end) => end,
        StreamEnd::HasMore => return Err(DecompressError::Invalid),
        StreamEnd::InputEnds => return Err(DecompressError::InputEnds),
    };
    let adler = body.get(end..end + ADLER_SIZE).ok_or(DecompressError::InputEnds)?;
    let expected = u32::from_be_bytes(adler.try_into().expect("four bytes"));
    if simd_adler32::adler32(&output) == expected { Ok(end + ADLER_SIZE) } else { Err(DecompressError::Invalid) }
}
