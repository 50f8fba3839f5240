//! Encodings of an output. Workers encode the data; the coordinator joins their results in guest order.
//!
//! For gzip, each run of data becomes a [`Segment`]; [`super::gzip_member`] joins segments, zeros and the writer's own
//! bytes to one member.

use crate::error::{Error, Result};
use crate::io::target::Run;
use decant_codec::resize;
use serde::{Deserialize, Serialize};

/// The encoding of an output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Encoding {
    /// Not encoded.
    #[default]
    Plain,
    /// One gzip member. Workers compress the data to segments.
    Gzip,
}

/// The data in a job's output buffer, with its guest offsets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Placement {
    /// Plain data.
    Runs(Vec<Run>),
    /// Encoded data.
    Segments(Vec<Segment>),
}

impl Placement {
    /// Number of bytes that the data adds to the output.
    pub(crate) fn len(&self) -> u64 {
        match self {
            Self::Runs(runs) => runs.iter().map(|run| run.len as u64).sum(),
            Self::Segments(segments) => segments.iter().map(|segment| segment.encoded_len as u64).sum(),
        }
    }
}

/// A run of data, compressed to deflate blocks. They refer to nothing before them, none is marked as the last, and they
/// end at a byte-aligned sync point, so segments can be concatenated to one stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Segment {
    /// The guest offset of the data.
    pub guest: u64,
    /// Length of the data, in bytes.
    pub len: u64,
    /// The CRC-32 of the data.
    pub crc: u32,
    /// Position of the compressed bytes in the buffer.
    pub start: usize,
    /// Length of the compressed bytes.
    pub encoded_len: usize,
}

/// Resizes `buffer` to exactly `len` bytes. Keeps its content and adds zeros. Fails with `internal` if memory runs out.
pub(crate) fn fit(buffer: &mut Vec<u8>, len: usize) -> Result<()> {
    resize(buffer, len).map_err(Error::no_room)
}
