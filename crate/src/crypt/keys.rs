//! Keys of encrypted layers. They are wiped when they are dropped, and have no `Debug`, so that none gets into a message.

use crate::crypt::luks::CipherSpec;
use crate::error::{Error, ErrorKind, Result};
use serde::{Deserialize, Serialize};
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

/// The key of one layer, and how it is used.
#[derive(Clone, Serialize, Deserialize, ZeroizeOnDrop)]
pub struct CipherKey {
    /// Cipher, mode and how a sector's number becomes its initialisation vector.
    #[zeroize(skip)]
    pub spec: CipherSpec,
    /// The key.
    pub key: Vec<u8>,
}

/// The keys of an image's encrypted layers, the top one first.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct Keys(pub Vec<CipherKey>);

impl Keys {
    /// The keys as bytes, to be sent to other workers. The receiver wipes them.
    pub fn to_bytes(&self) -> Result<Zeroizing<Vec<u8>>> {
        postcard::to_allocvec(self).map(Zeroizing::new).map_err(|_| internal())
    }

    /// The keys that `to_bytes` made the bytes of.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        postcard::from_bytes(bytes).map_err(|_| internal())
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

fn internal() -> Error {
    Error::new(ErrorKind::Internal, "Keys could not be handed between workers")
}

/// Wipes a stretch of secret bytes.
pub(super) fn wipe(bytes: &mut [u8]) {
    bytes.zeroize();
}
