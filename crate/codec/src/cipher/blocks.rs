//! Block ciphers of 128 bits behind one interface.

use super::aes::Aes;
use crate::BlockCipher;
use ::cipher::array::Array;
use ::cipher::consts::U16;
use ::cipher::{BlockCipherDecrypt, BlockCipherEncrypt, BlockSizeUser, KeyInit};

/// 16 bytes.
pub type Block = Array<u8, U16>;

/// A cipher with its key. Many blocks at once are several times as fast as one by one.
pub trait Blocks: Send + Sync {
    /// Encrypts each block by itself, in place.
    fn encrypt(&self, blocks: &mut [Block]);
    /// Decrypts each block by itself, in place.
    fn decrypt(&self, blocks: &mut [Block]);
}

impl<C> Blocks for C
where
    C: BlockSizeUser<BlockSize = U16> + BlockCipherEncrypt + BlockCipherDecrypt + Send + Sync,
{
    fn encrypt(&self, blocks: &mut [Block]) {
        self.encrypt_blocks(blocks);
    }

    fn decrypt(&self, blocks: &mut [Block]) {
        self.decrypt_blocks(blocks);
    }
}

/// `cipher` with `key`. The length of the key selects the variant; `None` if there is none for it.
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
