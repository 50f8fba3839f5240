//! Encrypted disks of any format: how they are encrypted, what their headers say, how a password becomes a key, and how
//! sectors are decrypted.

mod derive;
mod keys;
pub mod luks;
mod sectors;
mod unlock;

pub use derive::YieldPoint;
pub use keys::{CipherKey, Keys};
pub use sectors::Ciphers;
pub use unlock::{MAX_ITERATIONS, unlock};

use crate::offsets::ByteRange;
use luks::Luks;

/// How an image is encrypted.
#[derive(Clone, Debug)]
pub enum Encryption {
    /// The legacy method of qcow2: AES-128-CBC. The password is the key, and sectors are numbered by guest offset.
    Aes,
    /// LUKS1. Sectors are numbered by host offset.
    Luks {
        /// The header.
        header: Box<Luks>,
        /// The range of the header and its key material in the image's file.
        place: ByteRange,
    },
}

impl Encryption {
    /// Whether sectors are numbered by guest offset.
    pub fn is_by_guest(&self) -> bool {
        matches!(self, Self::Aes)
    }
}
