//! Hash functions and HMAC with a common interface.

use super::platform::PlatformHasher;
use crate::{CryptError, HASHED_BLOCK, Hash, SHA256};
use ::cipher::KeyInit;
use hmac::{EagerHash, Hmac, Mac};
use md5::Md5;
use ripemd::Ripemd160;
use sha1::Sha1;
use sha2::{Digest, Sha224, Sha256, Sha384, Sha512};

/// The length of the longest hash, in bytes.
pub(super) const LONGEST_HASH: usize = 64;

/// Declares the states of hashes and HMACs, which are not in boxes, whose allocation could fail.
macro_rules! hashes {
    ($($Name:ident: $Digest:ty,)+) => {
        #[derive(Clone)]
        enum State {
            $($Name($Digest),)+
        }

        impl State {
            fn new(hash: Hash) -> Self {
                match hash {
                    $(Hash::$Name => Self::$Name(Digest::new()),)+
                }
            }

            fn add(&mut self, bytes: &[u8]) {
                match self {
                    $(Self::$Name(digest) => digest.update(bytes),)+
                }
            }

            fn write(self, output: &mut [u8]) {
                match self {
                    $(Self::$Name(digest) => output.copy_from_slice(&digest.finalize()),)+
                }
            }
        }

        /// An HMAC (RFC 2104) with its key.
        pub(super) enum Authenticator {
            $($Name(Hmac<$Digest>),)+
        }

        impl Authenticator {
            pub(super) fn new(hash: Hash, key: &[u8]) -> Self {
                match hash {
                    $(Hash::$Name => Self::$Name(KeyInit::new_from_slice(key).expect("a key of any length")),)+
                }
            }

            /// Writes the HMAC of the concatenation of `parts` to `output`, which has the length of the hash.
            pub(super) fn write(&self, parts: &[&[u8]], output: &mut [u8]) {
                match self {
                    $(Self::$Name(keyed) => write(keyed.clone(), parts, output),)+
                }
            }
        }
    };
}

hashes! {
    Md5: Md5,
    Sha1: Sha1,
    Ripemd160: Ripemd160,
    Sha224: Sha224,
    Sha256: Sha256,
    Sha384: Sha384,
    Sha512: Sha512,
}

fn write<D: EagerHash>(mut mac: Hmac<D>, parts: &[&[u8]], output: &mut [u8])
where
    Hmac<D>: Mac,
{
    parts.iter().for_each(|part| mac.update(part));
    output.copy_from_slice(&mac.finalize().into_bytes());
}

/// An incremental hash, by the platform if it has the hash, otherwise by the module.
pub struct Hasher(Computed);

#[expect(clippy::large_enum_variant, reason = "a box could fail to be allocated")]
enum Computed {
    Platform(PlatformHasher),
    Module(State),
}

impl Hasher {
    /// Begins a hash. Fails if memory runs out.
    pub fn new(hash: Hash) -> Result<Self, CryptError> {
        Ok(Self(match PlatformHasher::new(hash) {
            Some(hasher) => Computed::Platform(hasher),
            None => Computed::Module(State::new(hash)),
        }))
    }

    /// Adds `bytes`. Fails if memory runs out.
    pub fn add(&mut self, bytes: &[u8]) -> Result<(), CryptError> {
        match &mut self.0 {
            // Only a lack of memory makes it fail.
            Computed::Platform(hasher) => hasher.add(bytes).then_some(()).ok_or(CryptError::OutOfMemory),
            Computed::Module(state) => {
                state.add(bytes);
                Ok(())
            }
        }
    }

    /// Writes the hash of all added bytes to `output`, which has its length. Fails if memory runs out.
    pub fn hash(&self, output: &mut [u8]) -> Result<(), CryptError> {
        match &self.0 {
            Computed::Platform(hasher) => hasher.write(output).then_some(()).ok_or(CryptError::OutOfMemory),
            Computed::Module(state) => {
                state.clone().write(output);
                Ok(())
            }
        }
    }
}

/// Writes the SHA-256 of each block of `HASHED_BLOCK` bytes to `output`, one after another. Zeros follow a shorter last block. Fails if
/// memory runs out.
pub fn hash_blocks(bytes: &[u8], output: &mut [u8]) -> Result<(), CryptError> {
    for (block, output) in bytes.chunks(HASHED_BLOCK).zip(output.chunks_exact_mut(SHA256)) {
        let mut hasher = Hasher::new(Hash::Sha256)?;
        hasher.add(block)?;
        if block.len() < HASHED_BLOCK {
            hasher.add(&[0; HASHED_BLOCK][block.len()..])?;
        }
        hasher.hash(output)?;
    }
    Ok(())
}
