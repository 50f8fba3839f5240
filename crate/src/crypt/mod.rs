//! Disk encryption, for all formats: reads headers, derives keys from passwords, and decrypts sectors.

mod ciphers;
mod keys;
mod layer_key;
pub mod luks;

pub use ciphers::Ciphers;
pub(crate) use ciphers::out_of_memory;
pub use decant_crypt::{BlockCipher, CipherSpec, IvGenerator, Mode};
pub use keys::{CipherKey, Keys};
pub(crate) use layer_key::{YieldPoint, unlock};

use crate::offsets::ByteRange;
use luks::Luks;

/// The encryption of an image.
#[derive(Clone, Debug)]
pub(crate) enum Encryption {
    /// The legacy method of qcow2: AES-128-CBC. The password is the key, and sectors are numbered by guest offset.
    Aes,
    /// LUKS. In qcow2, sectors are numbered by host offset.
    Luks {
        header: Box<Luks>,
        /// The range of the header and its key material in the image's file.
        place: ByteRange,
    },
}

impl Encryption {
    /// Whether sectors are numbered by guest offset.
    pub(crate) fn is_by_guest(&self) -> bool {
        matches!(self, Self::Aes)
    }
}
