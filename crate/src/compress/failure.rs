//! Errors of decompression.

use crate::error::Error;
use decant_codec::inflate::InflateError;

/// A failure to decompress a cluster or grain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DecompressError {
    /// The bytes are not valid compressed data, or the data ends before the cluster is full.
    Invalid,
    /// The input ends before the compressed data does.
    InputEnds,
    /// The marker belongs to another grain.
    Misplaced,
    /// The length in the marker is larger than any grain's.
    Oversized,
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
