//! Creates a cipher for a key.

use super::aes::Aes;
use super::block_cipher::Blocks;
use crate::BlockCipher;
use ::cipher::KeyInit;

/// Creates `cipher` with `key`. The length of the key selects the variant; `None` if there is none.
pub fn with_key(cipher: BlockCipher, key: &[u8]) -> Option<Box<dyn Blocks>> {
    fn new<C: KeyInit + Blocks + 'static>(key: &[u8]) -> Option<Box<dyn Blocks>> {
        C::new_from_slice(key).ok().map(|cipher| Box::new(cipher) as Box<dyn Blocks>)
    }
    match (cipher, key.len()) {
        (BlockCipher::Aes, _) => Aes::new(key).map(|cipher| Box::new(cipher) as Box<dyn Blocks>),
        (BlockCipher::Serpent, 16 | 24 | 32) => new::<serpent::Serpent>(key),
        (BlockCipher::Twofish, 16 | 24 | 32) => new::<twofish::Twofish>(key),
        _ => None,
    }
}
