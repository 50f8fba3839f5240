//! Encodings of an output. Executors encode the data of jobs; the coordinator places the results in guest order.

use super::data_runs::GuestRun;
use super::grain::FRAME_BOUND;
use crate::error::{Error, Result};
use crate::io::source::zeroed;
use crate::offsets::GuestOffset;
use decant_codec::resize;
use decant_deflate::bound;
use decant_module::Module;
use serde::{Deserialize, Serialize};

/// How the data of an output is encoded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Encoding {
    /// Nothing is encoded: data is stored at its guest offset.
    #[default]
    Plain,
    /// Not at all, but an assembler places the units. Units that follow one another are one part.
    Stored,
    /// Data is compressed, and an assembler places the results.
    Compressed(CompressedEncoding),
}

/// The encoding of an output with compressed data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CompressedEncoding {
    /// Each run of data is compressed to a segment of one deflate stream; [`super::gzip_member`] joins them.
    Segments,
    /// Each unit of data is encoded separately.
    Units(UnitEncoding),
}

/// Longest dataless job in an output of segments, in bytes; zeros cost bytes there.
pub(crate) const ENCODED_HOLE: u64 = 4 << 30;

/// The encoding of units.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnitEncoding {
    /// The size of a unit, in bytes, a power of two. The last unit of a disk is filled up with zeros, unless the method keeps
    /// its length.
    pub(crate) unit: u32,
    pub(crate) method: UnitMethod,
}

/// The compression of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum UnitMethod {
    /// Raw deflate (RFC 1951) that reaches back at most 4 KiB; unchanged if that is not smaller than a unit.
    Deflate,
    /// A zstd frame (RFC 8878); unchanged if that is not smaller than a unit.
    Zstd,
    /// A zstd frame with its content size and a checksum. The last unit of a disk keeps its length.
    ZstdFrame,
    /// A block of xz with its sizes and a CRC-64. The last unit of a disk keeps its length.
    XzBlock,
    /// A VMDK grain: a marker and a zlib stream, padded with zeros to whole sectors.
    Grain,
}

impl UnitMethod {
    /// Whether the last unit of a disk is filled up with zeros.
    pub(super) fn fills_up(self) -> bool {
        !matches!(self, Self::ZstdFrame | Self::XzBlock)
    }

    /// Whether a unit is stored unchanged if that is not longer.
    pub(super) fn may_store(self) -> bool {
        matches!(self, Self::Deflate | Self::Zstd)
    }

    /// The maximum length of an encoded unit of `unit` bytes.
    pub(crate) fn bound(self, unit: usize) -> usize {
        match self {
            Self::ZstdFrame => decant_zstd::bound(unit),
            Self::XzBlock => decant_xz::bound(unit),
            Self::Deflate | Self::Zstd | Self::Grain => bound(unit).saturating_add(FRAME_BOUND),
        }
    }
}

impl Encoding {
    /// The module that compresses.
    pub(crate) fn module(self) -> Option<&'static Module> {
        let Self::Compressed(encoding) = self else { return None };
        Some(match encoding {
            CompressedEncoding::Units(UnitEncoding { method: UnitMethod::Zstd | UnitMethod::ZstdFrame, .. }) => {
                &decant_zstd::MODULE
            }
            CompressedEncoding::Units(UnitEncoding { method: UnitMethod::XzBlock, .. }) => &decant_xz::MODULE,
            _ => &decant_deflate::MODULE,
        })
    }

    /// Whether data is compressed. The division of compressed data among jobs may show in the output.
    pub fn is_compressed(self) -> bool {
        matches!(self, Self::Compressed(_))
    }
}

/// The data in a job's output buffer, with its guest offsets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Placement {
    /// Data that is stored at its guest offset.
    Runs(Vec<GuestRun>),
    /// Encoded data, ascending by guest offset.
    Parts(Vec<EncodedPart>),
}

impl Placement {
    /// Number of bytes that the data adds to the output.
    pub(crate) fn len(&self) -> u64 {
        match self {
            Self::Runs(runs) => runs.iter().map(|run| run.len as u64).sum(),
            Self::Parts(parts) => parts.iter().map(|part| part.encoded_len as u64).sum(),
        }
    }
}

/// A part of the disk, encoded.
///
/// In an output of segments, it is a run of data, compressed to deflate blocks. They refer to nothing before them, none
/// is marked as the last, and they end at a byte-aligned sync point, so segments can be concatenated to one stream.
/// Otherwise, it is a unit, or several units that are stored unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EncodedPart {
    /// The guest offset of the data.
    pub guest: GuestOffset,
    /// Length of the data, in bytes.
    pub len: u64,
    /// The CRC-32 of the data; only segments have it.
    pub crc: u32,
    /// Position of the encoded bytes in the buffer.
    pub start: usize,
    /// Length of the encoded bytes.
    pub encoded_len: usize,
    /// Number of encoded bytes that the index of xz does not count; 0 in other encodings.
    pub padding: u8,
    /// Whether the data is unchanged.
    pub is_stored: bool,
}

impl EncodedPart {
    /// A run of units that are stored unchanged.
    pub(crate) fn stored(run: &GuestRun) -> Self {
        Self {
            guest: run.guest,
            len: run.len as u64,
            crc: 0,
            start: run.start,
            encoded_len: run.len,
            padding: 0,
            is_stored: true,
        }
    }
}

/// A buffer has room for this share more than it needs, and for a multiple of `ROOM` bytes: the input of a job, its output and what
/// it is encoded to have similar lengths, so that one buffer can be used for each of them without another allocation.
const MORE_ROOM: usize = 64;
const ROOM: usize = 64 << 10;

/// Resizes `buffer` to exactly `len` bytes. Its content is undefined. Frees a buffer that is too small before it allocates
/// a larger one. Fails with `internal` if memory runs out.
pub(crate) fn renew(buffer: &mut Vec<u8>, len: usize) -> Result<()> {
    if buffer.capacity() < len {
        let room = if len < ROOM { len } else { len.saturating_add(len / MORE_ROOM).next_multiple_of(ROOM) };
        *buffer = Vec::new();
        *buffer = zeroed(room)?;
    }
    fit(buffer, len)
}

/// Resizes `buffer` to exactly `len` bytes. Keeps its content and adds zeros. Fails with `internal` if memory runs out.
pub(crate) fn fit(buffer: &mut Vec<u8>, len: usize) -> Result<()> {
    resize(buffer, len).map_err(Error::no_room)
}
