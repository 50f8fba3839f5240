//! Why data could not be decompressed.

use crate::error::Error;
use decant_codec::inflate::InflateError;

/// Why a cluster or a grain could not be decompressed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DecompressError {
    /// The bytes are no compressed data, or the data ends before the cluster is full.
    Invalid,
    /// The input ends before the compressed data does.
    InputEnds,
    /// The marker is that of another grain.
    Misplaced,
    /// The marker states more than any grain takes.
    Oversized,
    /// Not the fault of the data: memory ran out, for example.
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
