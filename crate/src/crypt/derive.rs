//! PBKDF2 (RFC 8018, 5.2). It may take seconds, so it reports progress and can be cancelled.

use crate::crypt::luks::Hash;
use crate::error::Result;
use decant_codec::hash::{hash_len, keyed};
use futures_util::future::LocalBoxFuture;
use zeroize::Zeroizing;

/// Iterations between two yield points: about 10 ms.
const YIELD_INTERVAL: u64 = 8192;

/// Called regularly with the completed fraction of the iterations (0 to 1). Yields to other tasks, and fails with
/// `cancelled` after a cancel.
pub(crate) type YieldPoint = dyn Fn(f64) -> LocalBoxFuture<'static, Result<()>>;

/// The iteration count of an unlock operation.
pub(super) struct Iterations<'a> {
    pub(super) done: u64,
    pub(super) total: u64,
    pub(super) yield_point: &'a YieldPoint,
}

impl Iterations<'_> {
    async fn step(&mut self) -> Result<()> {
        self.done += 1;
        if self.done.is_multiple_of(YIELD_INTERVAL) {
            (self.yield_point)(self.done as f64 / self.total.max(1) as f64).await?;
        }
        Ok(())
    }
}

/// Length of the longest hash, in bytes.
const LONGEST: usize = 64;

/// Fills `key` with the key derived from `password`. Fails as the yield point does.
pub(super) async fn pbkdf2(
    hash: Hash,
    password: &[u8],
    salt: &[u8],
    iterations: u32,
    key: &mut [u8],
    count: &mut Iterations<'_>,
) -> Result<()> {
    let authenticate = keyed(hash, password);
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
