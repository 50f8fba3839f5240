//! Hash functions and HMAC with a common interface.

use crate::Hash;
use cipher::KeyInit;
use hmac::{EagerHash, Hmac, Mac};
use md5::Md5;
use ripemd::Ripemd160;
use sha1::Sha1;
use sha2::digest::OutputSizeUser;
use sha2::digest::array::typenum::Unsigned;
use sha2::{Digest, Sha224, Sha256, Sha384, Sha512};

/// Expands to `$work`, with `$D` as the type that implements `$hash`.
macro_rules! with_hash {
    ($hash:expr, $D:ident => $work:expr) => {
        match $hash {
            Hash::Md5 => with_hash!(@ $D = Md5, $work),
            Hash::Sha1 => with_hash!(@ $D = Sha1, $work),
            Hash::Ripemd160 => with_hash!(@ $D = Ripemd160, $work),
            Hash::Sha224 => with_hash!(@ $D = Sha224, $work),
            Hash::Sha256 => with_hash!(@ $D = Sha256, $work),
            Hash::Sha384 => with_hash!(@ $D = Sha384, $work),
            Hash::Sha512 => with_hash!(@ $D = Sha512, $work),
        }
    };
    (@ $D:ident = $digest:ty, $work:expr) => {{
        type $D = $digest;
        $work
    }};
}

/// Length of a hash, in bytes.
pub fn hash_len(hash: Hash) -> usize {
    with_hash!(hash, D => <D as OutputSizeUser>::OutputSize::USIZE)
}

/// Hashes the concatenation of `parts`.
pub fn hash(hash: Hash, parts: &[&[u8]]) -> Vec<u8> {
    fn digest<D: Digest>(parts: &[&[u8]]) -> Vec<u8> {
        let mut hasher = D::new();
        parts.iter().for_each(|part| hasher.update(part));
        hasher.finalize().to_vec()
    }
    with_hash!(hash, D => digest::<D>(parts))
}

/// Writes the HMAC (RFC 2104) of the concatenated first argument to the second, with a fixed hash and key. The output
/// must have the length of the hash.
pub type Authenticate = dyn Fn(&[&[u8]], &mut [u8]);

/// Creates an HMAC with the key `password`. Compiled for each hash.
fn keyed_by<D: EagerHash + 'static>(password: &[u8]) -> Box<Authenticate>
where
    Hmac<D>: Mac + KeyInit + Clone,
{
    let keyed = <Hmac<D> as KeyInit>::new_from_slice(password).expect("a key of any length");
    Box::new(move |parts, output| {
        let mut mac = keyed.clone();
        parts.iter().for_each(|part| mac.update(part));
        output.copy_from_slice(&mac.finalize().into_bytes());
    })
}

/// Creates an HMAC with `hash` and the key `password`. Callers are compiled once, not for each hash, which saves wasm.
pub fn keyed(hash: Hash, password: &[u8]) -> Box<Authenticate> {
    with_hash!(hash, D => keyed_by::<D>(password))
}

/// An incremental hash.
pub trait Hasher {
    /// Adds `bytes`.
    fn add(&mut self, bytes: &[u8]);

    /// Returns the hash of all added bytes.
    fn finish(self: Box<Self>) -> Vec<u8>;
}

impl<D: Digest> Hasher for D {
    fn add(&mut self, bytes: &[u8]) {
        self.update(bytes);
    }

    fn finish(self: Box<Self>) -> Vec<u8> {
        self.finalize().to_vec()
    }
}

/// Begins an incremental hash.
pub fn hasher(hash: Hash) -> Box<dyn Hasher> {
    with_hash!(hash, D => Box::new(D::new()))
}
