//! Block ciphers of 128 bits with a common interface, and AES (FIPS 197) with keys of all its lengths.

use ::aes::{Aes128, Aes192, Aes256};
use ::cipher::array::Array;
use ::cipher::consts::U16;
use ::cipher::{BlockCipherDecrypt, BlockCipherEncrypt, BlockSizeUser, InvalidLength, KeyInit};

/// A block of 16 bytes.
pub(super) type CipherBlock = Array<u8, U16>;

/// A cipher with its key. Many blocks at once are several times as fast as one at a time.
pub(super) trait Blocks {
    /// Encrypts each block independently, in place.
    fn encrypt(&self, blocks: &mut [CipherBlock]);
    /// Decrypts each block independently, in place.
    fn decrypt(&self, blocks: &mut [CipherBlock]);

    /// Lets the platform begin to decrypt a copy of `blocks` as a chain (CBC). Returns the number of this decryption; 0 if the
    /// platform cannot now; a negative number if it never can. Adds two blocks to `blocks`.
    fn begin_chain(&self, _blocks: &mut Vec<CipherBlock>) -> i32 {
        -1
    }

    /// Writes the result of decryption `pending`, which `begin_chain` returned, to `blocks`. Returns false and leaves `blocks` as they are
    /// if there is none.
    fn take_chain(&self, _pending: i32, _blocks: &mut [CipherBlock]) -> bool {
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

/// AES with a key, whose length selects the variant. It is not in a box, whose allocation could fail.
pub(super) enum Aes {
    Aes128(Aes128),
    Aes192(Aes192),
    Aes256(Aes256),
}

impl Aes {
    /// Expands a key of 16, 24 or 32 bytes. Fails for other lengths.
    pub(super) fn new(key: &[u8]) -> Result<Self, InvalidLength> {
        match key.len() {
            16 => Aes128::new_from_slice(key).map(Self::Aes128),
            24 => Aes192::new_from_slice(key).map(Self::Aes192),
            _ => Aes256::new_from_slice(key).map(Self::Aes256),
        }
    }
}

impl Blocks for Aes {
    fn encrypt(&self, blocks: &mut [CipherBlock]) {
        match self {
            Self::Aes128(cipher) => cipher.encrypt(blocks),
            Self::Aes192(cipher) => cipher.encrypt(blocks),
            Self::Aes256(cipher) => cipher.encrypt(blocks),
        }
    }

    fn decrypt(&self, blocks: &mut [CipherBlock]) {
        match self {
            Self::Aes128(cipher) => cipher.decrypt(blocks),
            Self::Aes192(cipher) => cipher.decrypt(blocks),
            Self::Aes256(cipher) => cipher.decrypt(blocks),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// FIPS 197, appendix C.
    #[test]
    fn the_examples_of_the_standard() {
        let key: Vec<u8> = (0..32).collect();
        let plain: [u8; 16] = std::array::from_fn(|i| i as u8 * 0x11);
        for (length, expected) in [
            (16, 0x69c4e0d8_6a7b0430_d8cdb780_70b4c55a_u128),
            (24, 0xdda97ca4_864cdfe0_6eaf70a0_ec0d7191),
            (32, 0x8ea2b7ca_516745bf_eafc4990_4b496089),
        ] {
            let aes = Aes::new(&key[..length]).unwrap();
            let mut block = [CipherBlock::from(plain)];
            aes.encrypt(&mut block);
            assert_eq!(u128::from_be_bytes(block[0].0), expected, "a key of {length} bytes");
            aes.decrypt(&mut block);
            assert_eq!(block[0].0, plain, "a key of {length} bytes");
        }
    }
}
