//! The forms in which an output stores the disk. Workers encode the data; the coordinator joins what they made, in the order
//! of the disk.
//!
//! For gzip, each run of data becomes a [`Segment`]. [`super::gzip_member`] makes one member of segments, zeros and the writer's own bytes.

use crate::error::{Error, Result};
use crate::io::target::Run;
use decant_codec::resize;
use serde::{Deserialize, Serialize};

/// The form of an output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Encoding {
    /// The bytes as they are.
    #[default]
    Plain,
    /// One gzip member. Workers compress the data to segments.
    Gzip,
}

/// Where the data lies in the buffer of a job's output, and where it belongs on the disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Placement {
    /// Data as it is.
    Runs(Vec<Run>),
    /// Encoded data.
    Segments(Vec<Segment>),
}

impl Placement {
    /// How many bytes of the output the data makes.
    pub fn len(&self) -> u64 {
        match self {
            Self::Runs(runs) => runs.iter().map(|run| run.len as u64).sum(),
            Self::Segments(segments) => segments.iter().map(|segment| segment.encoded_len as u64).sum(),
        }
    }

    /// Whether there is no data.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A run of data, compressed to blocks of deflate. They end at a sync point, which is aligned to a byte, and none is marked as
/// the last one. They refer to nothing before them. So segments can be concatenated to one stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Segment {
    /// The guest offset of the data.
    pub guest: u64,
    /// Length of the data, in bytes.
    pub len: u64,
    /// The CRC-32 of the data.
    pub crc: u32,
    /// Where the compressed bytes begin in the buffer.
    pub start: usize,
    /// Length of the compressed bytes.
    pub encoded_len: usize,
}

/// Makes `buffer` exactly `len` bytes long. It keeps its bytes, and new ones are zeros. Fails with `internal` if memory runs
/// out.
pub(super) fn fit(buffer: &mut Vec<u8>, len: usize) -> Result<()> {
    resize(buffer, len).map_err(Error::no_room)
}
