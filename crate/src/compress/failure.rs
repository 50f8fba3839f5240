//! Errors of decompression.

use crate::error::Error;
use crate::error::damage::Damage;
use decant_codec::inflate::InflateError;

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
