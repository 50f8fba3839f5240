//! Kinds of damage detected while decoding compressed data.

use super::{Damage, damages};

damages! {
    /// The file ends inside a compressed cluster.
    COMPRESSED_CUT = "compressed-cut", "the file ends inside a compressed cluster", lacks "the end of a compressed cluster";
    /// A compressed cluster does not decompress to a whole cluster.
    COMPRESSED_INVALID = "compressed-invalid", "a compressed cluster does not decompress to a whole cluster";
    /// The file ends inside a compressed grain.
    GRAIN_CUT = "grain-cut", "the file ends inside a compressed grain", lacks "the end of a compressed grain";
    /// A compressed grain does not decompress to a whole grain with the correct checksum.
    GRAIN_INVALID = "grain-invalid", "a compressed grain does not decompress to a whole grain with the right checksum";
    /// The marker of a compressed grain belongs to another grain.
    GRAIN_MISPLACED = "grain-misplaced", "a compressed grain has the marker of another grain";
    /// The marker of a compressed grain states more than twice the grain size.
    GRAIN_OVERSIZED = "grain-oversized", "the marker of a compressed grain states more than twice the size of the grain";
}

/// All kinds in this file, for deserialization.
pub(super) const ALL: &[Damage] =
    &[COMPRESSED_CUT, COMPRESSED_INVALID, GRAIN_CUT, GRAIN_INVALID, GRAIN_MISPLACED, GRAIN_OVERSIZED];
