//! Kinds of damage in VDI images.

use crate::error::damage::damages;

damages! {
    /// The file ends before or inside the block map.
    MAP_TRUNCATED = "vdi-map-truncated", "the file ends before the end of the block map", lacks "an entry of the block map";
    /// The file ends before or inside a block.
    BLOCK_TRUNCATED = "vdi-block-truncated", "the file ends before the end of a block", lacks "a block";
}
