//! PBKDF2 (RFC 8018, 5.2), with rests: it may run for seconds, and whoever waits wants to see how far
//! it is and to cancel.

use crate::error::Result;
use crate::format::luks::Hash;
use cipher::KeyInit;
use futures_util::future::LocalBoxFuture;
use hmac::{EagerHash, Hmac, Mac};
use sha1::Sha1;
use sha2::digest::OutputSizeUser;
use sha2::digest::array::typenum::Unsigned;
use sha2::{Digest, Sha256, Sha512};
use zeroize::Zeroize;

/// Iterations between two rests: about 10 ms.
const BREATH: u64 = 8192;

/// A rest: it is told the share of the work that is done (0 to 1), lets others run, and fails with
/// `cancelled` where nobody waits any more.
pub type Rest = dyn Fn(f64) -> LocalBoxFuture<'static, Result<()>>;

/// Counts the iterations of an unlocking.
pub(super) struct Pace<'a> {
    pub done: u64,
    pub total: u64,
    pub rest: &'a Rest,
}

impl Pace<'_> {
    async fn step(&mut self) -> Result<()> {
        self.done += 1;
        if self.done.is_multiple_of(BREATH) {
            (self.rest)(self.done as f64 / self.total.max(1) as f64).await?;
        }
        Ok(())
    }
}

/// The length of a hash, in bytes.
pub(super) fn hash_len(hash: Hash) -> usize {
    match hash {
        Hash::Sha1 => <Sha1 as OutputSizeUser>::OutputSize::USIZE,
        Hash::Sha256 => <Sha256 as OutputSizeUser>::OutputSize::USIZE,
        Hash::Sha512 => <Sha512 as OutputSizeUser>::OutputSize::USIZE,
    }
}

/// The hash of `parts`, one behind the other.
pub(super) fn hash(hash: Hash, parts: &[&[u8]]) -> Vec<u8> {
    fn digest<D: Digest>(parts: &[&[u8]]) -> Vec<u8> {
        let mut hasher = D::new();
        parts.iter().for_each(|part| hasher.update(part));
        hasher.finalize().to_vec()
    }
    match hash {
        Hash::Sha1 => digest::<Sha1>(parts),
        Hash::Sha256 => digest::<Sha256>(parts),
        Hash::Sha512 => digest::<Sha512>(parts),
    }
}

/// Fills `key` from a password.
pub(super) async fn pbkdf2(
    hash: Hash,
    password: &[u8],
    salt: &[u8],
    iterations: u32,
    key: &mut [u8],
    pace: &mut Pace<'_>,
) -> Result<()> {
    match hash {
        Hash::Sha1 => derive::<Sha1>(password, salt, iterations, key, pace).await,
        Hash::Sha256 => derive::<Sha256>(password, salt, iterations, key, pace).await,
        Hash::Sha512 => derive::<Sha512>(password, salt, iterations, key, pace).await,
    }
}

async fn derive<D: EagerHash>(
    password: &[u8],
    salt: &[u8],
    iterations: u32,
    key: &mut [u8],
    pace: &mut Pace<'_>,
) -> Result<()>
where
    Hmac<D>: Mac + KeyInit + Clone,
{
    let keyed = <Hmac<D> as KeyInit>::new_from_slice(password).expect("a key of any length");
    let len = <Hmac<D> as OutputSizeUser>::OutputSize::USIZE;
    for (number, part) in (1u32..).zip(key.chunks_mut(len)) {
        let mut mac = keyed.clone();
        mac.update(salt);
        mac.update(&number.to_be_bytes());
        let mut last = mac.finalize().into_bytes();
        let mut sum = last.clone();
        pace.step().await?;
        for _ in 1..iterations {
            let mut mac = keyed.clone();
            mac.update(&last);
            last = mac.finalize().into_bytes();
            sum.iter_mut().zip(&last).for_each(|(byte, other)| *byte ^= other);
            pace.step().await?;
        }
        part.copy_from_slice(&sum[..part.len()]);
        sum.zeroize();
        last.zeroize();
    }
    Ok(())
}
