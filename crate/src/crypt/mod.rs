//! Disk encryption, for all formats: reads headers, derives keys from passwords, and decrypts sectors.

mod ciphers;
mod keys;
pub mod luks;

pub use ciphers::Ciphers;
pub use decant_crypt::{BlockCipher, CipherSpec, IvGenerator, Mode};
pub use keys::{CipherKey, Keys};
pub(crate) use keys::{YieldPoint, unlock};

use crate::error::Error;
use crate::offsets::ByteRange;
use decant_crypt::CryptError;
use luks::Luks;

/// Approximate size of a cipher with its buffer, in bytes, for the out-of-memory message.
const CIPHER: usize = 256 << 10;

/// A hash, an unlocking, or a cipher with a key that unlocking has checked fails only if memory runs out.
impl From<CryptError> for Error {
    fn from(_: CryptError) -> Self {
        Self::out_of_memory(CIPHER)
    }
}

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
