//! Decrypts sectors of an image's layers by their keys.

use super::keys::{CipherKey, Keys};
use crate::error::{Error, ErrorKind, Result};
use decant_crypt::{CryptError, SectorCipher};

/// Approximate size of a cipher with its buffer, in bytes, for the out-of-memory message.
const CIPHER: usize = 256 << 10;

/// The ciphers of an image's encrypted layers, top layer first. Each is prepared with its first use.
pub struct Ciphers<'a> {
    keys: &'a Keys,
    ready: Vec<(u16, SectorCipher)>,
}

impl<'a> Ciphers<'a> {
    /// Creates ciphers with `keys`.
    pub fn new(keys: &'a Keys) -> Self {
        Self { keys, ready: Vec::new() }
    }

    /// Decrypts `input` to `output`, which is as long, with cipher number `cipher`. They must be whole sectors;
    /// `sector` is the number of the first. Fails with `internal` if the image has no key for it or memory runs out.
    pub fn decrypt(&mut self, cipher: u16, sector: u64, input: &[u8], output: &mut [u8]) -> Result<()> {
        let found = self.ready.iter().position(|(number, _)| *number == cipher);
        let at = match found {
            Some(at) => at,
            None => {
                let key = self.keys.0.get(usize::from(cipher));
                let missing = || Error::new(ErrorKind::Internal, "A job needs a key that was not passed");
                let CipherKey(key) = key.ok_or_else(missing)?;
                self.ready.push((cipher, SectorCipher::new(key).map_err(out_of_memory)?));
                self.ready.len() - 1
            }
        };
        self.ready[at].1.decrypt(sector, input, output).map_err(out_of_memory)
    }
}

/// The error for a failure of a hash, of an unlocking, or of a cipher with a key that it takes, as unlocking has checked.
pub(crate) fn out_of_memory(_: CryptError) -> Error {
    Error::out_of_memory(CIPHER)
}
