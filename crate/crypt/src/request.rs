//! Requests to the module.

use crate::{CipherSpec, CryptError, Hash, SALT};
use serde::{Deserialize, Serialize};

/// A request. The module keeps objects, which it numbers.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub enum Request {
    /// Creates an object with the key, or the password, that is the input. The output is its number, four bytes
    /// in little-endian order.
    Create(Creation),
    /// Uses the object with this number.
    Use(u32, Operation),
    /// Wipes and frees the object with this number.
    Free(u32),
    /// See [`merge`](crate::merge).
    Merge(Hash),
}

/// An object to create.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub enum Creation {
    /// A [`SectorCipher`](crate::SectorCipher).
    SectorCipher(CipherSpec),
    /// A [`Hasher`](crate::Hasher).
    Hasher(Hash),
    /// A [`Derivation`](crate::Derivation).
    Derivation {
        /// The hash.
        hash: Hash,
        /// The salt.
        salt: [u8; SALT],
        /// The number of the block to derive.
        block: u32,
    },
}

/// A function of an object.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub enum Operation {
    /// See [`SectorCipher::decrypt`](crate::SectorCipher::decrypt).
    Decrypt {
        /// The number of the first sector.
        first: u64,
    },
    /// See [`Hasher::add`](crate::Hasher::add).
    Add,
    /// See [`Hasher::hash`](crate::Hasher::hash).
    Hash,
    /// See [`Derivation::iterate`](crate::Derivation::iterate).
    Iterate {
        /// The number of iterations.
        count: u32,
    },
    /// See [`Derivation::block`](crate::Derivation::block).
    Block,
}

impl decant_module::Request for Request {
    type Failure = CryptError;

    fn wipes(&self) -> bool {
        // Data that other requests leave in the buffer is wiped when their object is freed, or before.
        !matches!(
            self,
            Self::Use(_, Operation::Decrypt { .. } | Operation::Add | Operation::Hash | Operation::Iterate { .. })
        )
    }
}
