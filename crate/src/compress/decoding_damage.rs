//! Kinds of damage detected while decoding compressed data.

use crate::error::damage::{Damage, damages};
use serde::de::{Deserialize, Deserializer, Error};

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

const ALL: [Damage; 6] =
    [COMPRESSED_CUT, COMPRESSED_INVALID, GRAIN_CUT, GRAIN_INVALID, GRAIN_MISPLACED, GRAIN_OVERSIZED];

/// Accepts the kinds in this file only: workers find no others.
impl<'de> Deserialize<'de> for Damage {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let code = <&str>::deserialize(deserializer)?;
        let known = ALL.iter().find(|damage| damage.code() == code);
        known.copied().ok_or_else(|| D::Error::custom("a damage that is not one of decoding"))
    }
}
