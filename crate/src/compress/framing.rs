//! The compression method of a unit, and the frame around its compressed data.

use serde::{Deserialize, Serialize};

/// The compression method of clusters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Compression {
    /// Raw deflate (RFC 1951).
    Deflate,
    /// Zstandard (RFC 8878).
    Zstd,
}

/// The frame around compressed data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Framing {
    /// None.
    Raw,
    /// A VMDK grain: a zlib stream (RFC 1950), possibly after a marker.
    Grain(GrainFrame),
}

/// Maximum size of a compressed VMDK grain with its marker, in grains. Incompressible data in deflate is hardly longer
/// than one.
pub const MOST_COMPRESSED: u64 = 2;

/// The frame of a compressed VMDK grain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GrainFrame {
    /// The number of the grain's first sector, which its marker must have; `None` in a file without markers.
    pub sector: Option<u64>,
    /// Length of the grain's part inside the disk, in bytes. The last grain may be stored without the rest.
    pub len: u32,
}
