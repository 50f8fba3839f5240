//! Block ciphers of 128 bits with a common interface.

use ::cipher::array::Array;
use ::cipher::consts::U16;
use ::cipher::{BlockCipherDecrypt, BlockCipherEncrypt, BlockSizeUser};

/// A block of 16 bytes.
pub(super) type CipherBlock = Array<u8, U16>;

/// A cipher with its key. Many blocks at once are several times as fast as one at a time.
pub(super) trait Blocks {
    /// Encrypts each block independently, in place.
    fn encrypt(&self, blocks: &mut [CipherBlock]);
    /// Decrypts each block independently, in place.
    fn decrypt(&self, blocks: &mut [CipherBlock]);

    /// Lets the platform begin to decrypt a copy of `blocks` as a chain (CBC). Returns the number of that; 0 if it cannot now; a
    /// negative number if it never can. Adds two blocks.
    fn begin_chain(&self, _blocks: &mut Vec<CipherBlock>) -> i32 {
        -1
    }

    /// Takes the blocks that were decrypted as chain number `begun`. Returns false, with `blocks` as they are, if there are none.
    fn take_chain(&self, _begun: i32, _blocks: &mut [CipherBlock]) -> bool {
        false
    }
}

impl<C> Blocks for C
where
    C: BlockSizeUser<BlockSize = U16> + BlockCipherEncrypt + BlockCipherDecrypt,
{
    fn encrypt(&self, blocks: &mut [CipherBlock]) {
        self.encrypt_blocks(blocks);
    }

    fn decrypt(&self, blocks: &mut [CipherBlock]) {
        self.decrypt_blocks(blocks);
    }
}
