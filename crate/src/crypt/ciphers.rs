//! Decrypts sectors of an image's layers by their keys.

use super::keys::{CipherKey, Keys};
use crate::error::{Error, ErrorKind, Result};
use decant_crypt::{AT_ONCE, SECTOR, SectorCipher, settled};
use std::rc::Rc;

/// The ciphers of an image's encrypted layers, top layer first. Each is prepared with its first use.
#[derive(Default)]
pub struct Ciphers {
    ready: Vec<(u16, Rc<SectorCipher>)>,
}

impl Ciphers {
    /// Returns cipher number `cipher`. `keys` must be those of the same image in every call. Fails with `internal` if the
    /// key is missing or memory runs out.
    pub fn get(&mut self, keys: &Keys, cipher: u16) -> Result<Rc<SectorCipher>> {
        let found = self.ready.iter().position(|(number, _)| *number == cipher);
        let at = match found {
            Some(at) => at,
            None => {
                let key = keys.0.get(usize::from(cipher));
                let missing = || Error::new(ErrorKind::Internal, "A job needs a key that was not passed");
                let CipherKey(key) = key.ok_or_else(missing)?;
                self.ready.push((cipher, Rc::new(SectorCipher::new(key).map_err(Error::from)?)));
                self.ready.len() - 1
            }
        };
        Ok(self.ready[at].1.clone())
    }

    /// Decrypts `input` to `output`, which is as long, with `cipher`. They must be whole sectors; `first` is the number of the
    /// first. The platform may do it while this waits. Fails with `internal` if memory runs out.
    pub(crate) async fn decrypt_async(
        cipher: &SectorCipher,
        first: u64,
        input: &[u8],
        output: &mut [u8],
    ) -> Result<()> {
        for start in (0..input.len()).step_by(AT_ONCE) {
            let end = input.len().min(start + AT_ONCE);
            let first = first + (start / SECTOR) as u64;
            let pending = cipher.begin(first, &input[start..end]);
            if pending > 0 {
                settled(pending).await;
            }
            cipher.finish(first, &input[start..end], &mut output[start..end], pending).map_err(Error::from)?;
        }
        Ok(())
    }

    /// Decrypts `input` to `output`, which is as long, with cipher number `cipher`. They must be whole sectors;
    /// `sector` is the number of the first. Fails as `get` does.
    pub fn decrypt(&mut self, keys: &Keys, cipher: u16, sector: u64, input: &[u8], output: &mut [u8]) -> Result<()> {
        self.get(keys, cipher)?.decrypt(sector, input, output).map_err(Error::from)
    }
}
