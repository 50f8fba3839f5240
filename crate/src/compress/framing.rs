//! How a unit is compressed, and what surrounds the compressed data.

use serde::{Deserialize, Serialize};

/// How clusters are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Compression {
    /// Raw deflate (RFC 1951).
    Deflate,
    /// Zstandard (RFC 8878).
    Zstd,
}

/// What surrounds compressed data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Framing {
    /// Nothing.
    Raw,
    /// A VMDK grain: a zlib stream (RFC 1950), perhaps behind a marker.
    Grain(GrainFrame),
}

/// Upper bound on a compressed grain of VMDK with its marker, in grains. Deflate that does not compress is hardly longer
/// than one.
pub const MOST_COMPRESSED: u64 = 2;

/// How a compressed grain of VMDK is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GrainFrame {
    /// The number of the grain's first sector, which its marker must have; `None` in a file without markers.
    pub sector: Option<u64>,
    /// How many bytes of the grain lie on the disk. The last grain may be stored without the bytes behind them.
    pub len: u32,
}
