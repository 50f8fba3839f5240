//! PBKDF2 (RFC 8018, 5.2). It may run for seconds, so it reports progress and can be cancelled.

use crate::encryption::luks::Hash;
use crate::error::Result;
use cipher::KeyInit;
use futures_util::future::LocalBoxFuture;
use hmac::{EagerHash, Hmac, Mac};
use md5::Md5;
use ripemd::Ripemd160;
use sha1::Sha1;
use sha2::digest::OutputSizeUser;
use sha2::digest::array::typenum::Unsigned;
use sha2::{Digest, Sha224, Sha256, Sha384, Sha512};
use zeroize::Zeroizing;

/// Iterations between two yield points: about 10 ms.
const YIELD_INTERVAL: u64 = 8192;

/// Yield point: receives the fraction of the iterations that are done (0 to 1), lets others run, and fails with
/// `cancelled` after a cancel.
pub type YieldPoint = dyn Fn(f64) -> LocalBoxFuture<'static, Result<()>>;

/// The iterations of an unlocking, counted.
pub(super) struct Iterations<'a> {
    pub done: u64,
    pub total: u64,
    pub yield_point: &'a YieldPoint,
}

impl Iterations<'_> {
    /// Counts one iteration.
    async fn step(&mut self) -> Result<()> {
        self.done += 1;
        if self.done.is_multiple_of(YIELD_INTERVAL) {
            (self.yield_point)(self.done as f64 / self.total.max(1) as f64).await?;
        }
        Ok(())
    }
}

/// `$work` with `$D` as the type that computes `$hash`.
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

/// The length of the longest hash, in bytes.
const LONGEST: usize = 64;

/// The length of a hash, in bytes.
pub(super) fn hash_len(hash: Hash) -> usize {
    with_hash!(hash, D => <D as OutputSizeUser>::OutputSize::USIZE)
}

/// The hash of `parts`, concatenated.
pub(super) fn hash(hash: Hash, parts: &[&[u8]]) -> Vec<u8> {
    fn digest<D: Digest>(parts: &[&[u8]]) -> Vec<u8> {
        let mut hasher = D::new();
        parts.iter().for_each(|part| hasher.update(part));
        hasher.finalize().to_vec()
    }
    with_hash!(hash, D => digest::<D>(parts))
}

/// Writes the HMAC (RFC 2104) of concatenated parts, with a certain hash and key.
type Authenticate = dyn Fn(&[&[u8]], &mut [u8]);

/// HMAC with the key `password`. Only this function is compiled for each hash, and not all of `pbkdf2`: the wasm is
/// smaller.
fn keyed<D: EagerHash + 'static>(password: &[u8]) -> Box<Authenticate>
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

/// Fills `key` with a key derived from `password`. Fails as the yield point does.
pub(super) async fn pbkdf2(
    hash: Hash,
    password: &[u8],
    salt: &[u8],
    iterations: u32,
    key: &mut [u8],
    count: &mut Iterations<'_>,
) -> Result<()> {
    let authenticate = with_hash!(hash, D => keyed::<D>(password));
    let len = hash_len(hash);
    let [mut last, mut next, mut sum] = std::array::from_fn(|_| Zeroizing::new([0; LONGEST]));
    for (number, part) in (1u32..).zip(key.chunks_mut(len)) {
        authenticate(&[salt, &number.to_be_bytes()], &mut last[..len]);
        *sum = *last;
        count.step().await?;
        for _ in 1..iterations {
            authenticate(&[&last[..len]], &mut next[..len]);
            std::mem::swap(&mut last, &mut next);
            sum[..len].iter_mut().zip(&last[..len]).for_each(|(byte, other)| *byte ^= other);
            count.step().await?;
        }
        part.copy_from_slice(&sum[..part.len()]);
    }
    Ok(())
}
