//! Keys of encrypted layers. They are wiped on drop, and have no `Debug`, so that none appears in a message.

use crate::error::{Error, ErrorKind, Result};
use serde::{Deserialize, Serialize};
use zeroize::{ZeroizeOnDrop, Zeroizing};

/// The key of one layer, with its cipher: see [`decant_crypt::CipherSpec::with_key`].
#[derive(Clone, Serialize, Deserialize, ZeroizeOnDrop)]
pub struct CipherKey(pub Vec<u8>);

/// The keys of an image's encrypted layers, top layer first.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct Keys(pub Vec<CipherKey>);

impl Keys {
    /// Serialises the keys for other workers. The receiver must wipe the bytes. Fails with `internal`.
    pub fn to_bytes(&self) -> Result<Zeroizing<Vec<u8>>> {
        postcard::to_allocvec(self).map(Zeroizing::new).map_err(|_| internal())
    }

    /// Deserialises the result of `to_bytes`. Fails with `internal` for other bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        postcard::from_bytes(bytes).map_err(|_| internal())
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}

fn internal() -> Error {
    Error::new(ErrorKind::Internal, "Keys could not be passed between workers")
}
