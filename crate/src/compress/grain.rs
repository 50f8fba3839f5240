//! The frame around the deflate data of a compressed VMDK grain: the marker (Virtual Disk Format 5.0, "Stream-Optimized
//! Compressed Sparse Extents") and the zlib header and checksum (RFC 1950).

use super::failure::DecompressError;
use super::framing::MOST_COMPRESSED;
use crate::offsets::{le32, le64};
use decant_codec::inflate::StreamEnd;

/// Size of a marker: the grain's first sector, and the length of the zlib stream.
pub(super) const MARKER_SIZE: usize = 12;
/// Size of the length of the zlib stream, which some writers put in place of a marker.
pub(super) const LENGTH_SIZE: usize = 4;
pub(super) const ZLIB_HEADER_SIZE: usize = 2;
const ADLER_SIZE: usize = 4;

/// The content after a marker.
pub(super) struct Marked<'a> {
    /// The zlib stream.
    pub zlib: &'a [u8],
    /// Whether it has the length in the marker, and is not cut off.
    pub is_whole: bool,
}

/// Parses the marker at the start of `input`, for a grain of `grain` bytes, and returns what follows. Fails with
/// `InputEnds` if the marker is cut off, with `Misplaced` unless it belongs to the grain at `sector`, and with
/// `Oversized` if its length is impossible.
pub(super) fn behind_marker(sector: u64, grain: usize, input: &[u8]) -> Result<Marked<'_>, DecompressError> {
    let (marker, data) = input.split_at_checked(MARKER_SIZE).ok_or(DecompressError::InputEnds)?;
    if le64(marker, 0) != sector {
        return Err(DecompressError::Misplaced);
    }
    let len = le32(marker, 8);
    if MARKER_SIZE as u64 + u64::from(len) > MOST_COMPRESSED * grain as u64 {
        return Err(DecompressError::Oversized);
    }
    let len = len as usize;
    Ok(Marked { zlib: &data[..len.min(data.len())], is_whole: len <= data.len() })
}

/// Checks the header of a zlib stream. Returns its deflate data, with the checksum and later bytes.
pub(super) fn body(zlib: &[u8]) -> Result<&[u8], DecompressError> {
    let (header, body) = zlib.split_at_checked(ZLIB_HEADER_SIZE).ok_or(DecompressError::InputEnds)?;
    let (method, flags) = (header[0], header[1]);
    let is_deflate = method & 0x0f == 8 && method >> 4 <= 7;
    let has_dictionary = flags & 0x20 != 0;
    let is_checked = (u16::from(method) << 8 | u16::from(flags)).is_multiple_of(31);
    if is_deflate && !has_dictionary && is_checked { Ok(body) } else { Err(DecompressError::Invalid) }
}

/// Checks `output` against the checksum after the deflate data in `body`. Returns the end of the checksum. Fails unless
/// the data ends when `output` is full.
pub(super) fn check(body: &[u8], end: StreamEnd, output: &[u8]) -> Result<usize, DecompressError> {
    let end = match end {
        StreamEnd::At(end) => end,
        StreamEnd::GoesOn => return Err(DecompressError::Invalid),
        StreamEnd::InputEnds => return Err(DecompressError::InputEnds),
    };
    let adler = body.get(end..end + ADLER_SIZE).ok_or(DecompressError::InputEnds)?;
    let expected = u32::from_be_bytes(adler.try_into().expect("four bytes"));
    if simd_adler32::adler32(&output) == expected { Ok(end + ADLER_SIZE) } else { Err(DecompressError::Invalid) }
}
