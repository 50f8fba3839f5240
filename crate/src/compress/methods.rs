//! The compression methods of units, each with the frame around its compressed data.

use super::decoding_damage::{COMPRESSED_CUT, COMPRESSED_INVALID, DecompressError, GRAIN_CUT, GRAIN_INVALID};
use super::grain::GrainFrame;
use crate::error::Error;
use crate::error::damage::Damage;
use decant_module::Module;
use serde::{Deserialize, Serialize};

/// The compression of a unit. Two units of the same bytes may differ by the frame that they must have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Compression {
    /// Raw deflate (RFC 1951).
    Deflate,
    /// Zstandard (RFC 8878).
    Zstd,
    /// A VMDK grain: a zlib stream (RFC 1950), possibly after a marker.
    Grain(GrainFrame),
}

impl Compression {
    /// The module that decompresses it, if that is not linked.
    pub(crate) fn module(self) -> Option<&'static Module> {
        match self {
            Self::Zstd => Some(&decant_zstd::MODULE),
            Self::Deflate | Self::Grain(_) => None,
        }
    }

    /// Returns the deflate stream in `input`, with later bytes, for [`super::Decompressor::inflate_all`]; it should
    /// decompress to `unit` bytes. `None` if there is none or its start is unknown, so that only
    /// [`super::Decompressor::decompress`] can decompress `input`.
    pub(crate) fn deflate_in(self, unit: usize, input: &[u8]) -> Option<&[u8]> {
        match self {
            Self::Deflate => Some(input),
            Self::Zstd => None,
            Self::Grain(frame) => frame.deflate_in(unit, input),
        }
    }

    /// Returns the damage of a unit that fails to decompress with `error`. `is_cut` means that the file ends inside the
    /// unit. Fails with the error inside [`DecompressError::Failed`].
    pub(crate) fn damage(self, error: DecompressError, is_cut: bool) -> Result<Damage, Error> {
        let (cut, invalid) = match self {
            Self::Deflate | Self::Zstd => (COMPRESSED_CUT, COMPRESSED_INVALID),
            Self::Grain(_) => (GRAIN_CUT, GRAIN_INVALID),
        };
        match error {
            DecompressError::Failed(error) => Err(error),
            DecompressError::Damaged(damage) => Ok(damage),
            DecompressError::InputEnds if is_cut => Ok(cut),
            DecompressError::InputEnds | DecompressError::Invalid => Ok(invalid),
        }
    }
}
