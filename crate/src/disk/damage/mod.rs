//! The ranges of a disk that a salvage lost to damage.

mod losses;

pub(crate) use losses::LostRanges;
pub use losses::{Losses, MOST_LISTED};

use crate::error::damage::Damage;
use serde::{Deserialize, Serialize};

/// A range of the disk that could not be read and was replaced by zeros. In bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lost {
    /// First byte.
    pub start: u64,
    /// Length.
    pub len: u64,
    /// The reason.
    pub damage: Damage,
}

impl Lost {
    /// The guest offset after the last byte.
    pub fn end(&self) -> u64 {
        self.start + self.len
    }
}
