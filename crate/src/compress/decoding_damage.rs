//! How decompression fails, and the kinds of damage that it detects.

use crate::error::Error;
use crate::error::damage::{Damage, damages};
use decant_codec::inflate::InflateError;
use decant_zstd::ZstdError;
use serde::de::{self, Deserialize, Deserializer};

damages! {
    /// The file ends inside a compressed cluster.
    COMPRESSED_CUT = "compressed-cut", "the file ends inside a compressed cluster", lacks "the rest of a compressed cluster";
    /// A compressed cluster does not decompress to a whole cluster.
    COMPRESSED_INVALID = "compressed-invalid", "a compressed cluster does not decompress to a whole cluster";
    /// The file ends inside a compressed grain.
    GRAIN_CUT = "grain-cut", "the file ends inside a compressed grain", lacks "the rest of a compressed grain";
    /// A compressed grain does not decompress to a whole grain with the correct checksum.
    GRAIN_INVALID = "grain-invalid", "a compressed grain does not decompress to a whole grain with the right checksum";
    /// The marker of a compressed grain belongs to another grain.
    GRAIN_MISPLACED = "grain-misplaced", "a compressed grain has the marker of another grain";
    /// The marker of a compressed grain states more than twice the grain size.
    GRAIN_OVERSIZED = "grain-oversized", "the marker of a compressed grain states more than twice the size of the grain";
}

const ALL: [Damage; 6] =
    [COMPRESSED_CUT, COMPRESSED_INVALID, GRAIN_CUT, GRAIN_INVALID, GRAIN_MISPLACED, GRAIN_OVERSIZED];

/// Accepts the kinds in this file only: workers find no others.
impl<'de> Deserialize<'de> for Damage {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let code = <&str>::deserialize(deserializer)?;
        let known = ALL.iter().find(|damage| damage.code() == code);
        known.copied().ok_or_else(|| de::Error::custom("a damage that is not one of decoding"))
    }
}

/// Approximate size of a decoder of zstd, in bytes, for the out-of-memory message.
const ZSTD_DECODER: usize = 160 << 10;

/// A failure to decompress a unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum DecompressError {
    /// The bytes are not valid compressed data, or the data ends before the unit is full.
    Invalid,
    /// The input ends before the compressed data does.
    InputEnds,
    /// The frame around the compressed data is damaged.
    Damaged(Damage),
    /// The data is not at fault: for example, memory ran out.
    Failed(Error),
}

impl From<InflateError> for DecompressError {
    fn from(error: InflateError) -> Self {
        match error {
            InflateError::Invalid => Self::Invalid,
            InflateError::InputEnds => Self::InputEnds,
        }
    }
}

impl From<Error> for DecompressError {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

impl From<ZstdError> for DecompressError {
    fn from(error: ZstdError) -> Self {
        match error {
            ZstdError::InputEnds => Self::InputEnds,
            ZstdError::OutOfMemory => Error::out_of_memory(ZSTD_DECODER).into(),
            ZstdError::Invalid | ZstdError::OutputFull => Self::Invalid,
        }
    }
}
