//! Requests to the module.

use crate::{CryptError, Hash};
use serde::{Deserialize, Serialize};

/// A request. The module keeps objects, which it numbers.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub enum CryptRequest {
    /// Creates an object with the secret that is the input. The output is its number, four bytes in little-endian
    /// order.
    Create(Creation),
    /// Uses the object with this number.
    Use(u32, Operation),
    /// Wipes and frees the object with this number.
    Free(u32),
    /// See [`hash_blocks`](crate::hash_blocks).
    HashBlocks,
    /// See [`describe`](crate::describe).
    Describe {
        /// The length of a copy of the header.
        len: u32,
    },
}

/// An object to create.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub enum Creation {
    /// A [`SectorCipher`](crate::SectorCipher).
    SectorCipher,
    /// A [`Hasher`](crate::Hasher).
    Hasher(Hash),
    /// An [`Unlocking`](crate::Unlocking). The input is the start of the file and the password.
    Unlocking {
        /// The length of the start.
        start: u32,
        /// The length of a copy of the header.
        len: u32,
    },
}

/// A function of an object.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub enum Operation {
    /// See [`SectorCipher::finish`](crate::SectorCipher::finish).
    Decrypt {
        /// The number of the first sector.
        first: u64,
        /// The number that `Begin` returned for these sectors; 0 if it was not called.
        pending: i32,
    },
    /// See [`Hasher::add`](crate::Hasher::add).
    Add,
    /// See [`Hasher::hash`](crate::Hasher::hash).
    Hash,
    /// See [`Unlocking::step`](crate::Unlocking::step).
    Step,
    /// See `SectorCipher::begin`. The output is its number, four bytes in little-endian order.
    Begin {
        /// The number of the first sector.
        first: u64,
    },
}

impl decant_module::Request for CryptRequest {
    type Failure = CryptError;

    fn wipes(&self) -> bool {
        // Data that other requests leave in the buffer is wiped when their object is freed, or before.
        !matches!(
            self,
            Self::HashBlocks
                | Self::Use(_, Operation::Decrypt { .. } | Operation::Add | Operation::Hash | Operation::Begin { .. })
        )
    }
}
