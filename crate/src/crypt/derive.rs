//! PBKDF2 (RFC 8018, 5.2). It may take seconds, so it reports progress and can be cancelled.

use super::ciphers::out_of_memory;
use crate::error::Result;
use decant_crypt::{Derivation, Hash, SALT};
use futures_util::future::LocalBoxFuture;

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
    /// The number of iterations until the next yield point.
    fn until_yield(&self) -> u64 {
        YIELD_INTERVAL - self.done % YIELD_INTERVAL
    }

    /// Counts iterations up to the next yield point at most.
    async fn count(&mut self, done: u64) -> Result<()> {
        self.done += done;
        if self.done.is_multiple_of(YIELD_INTERVAL) {
            (self.yield_point)(self.done as f64 / self.total.max(1) as f64).await?;
        }
        Ok(())
    }
}

/// Fills `key` with the key derived from `password`. Fails with `internal` if memory runs out, and as the yield point
/// does.
pub(super) async fn pbkdf2(
    hash: Hash,
    password: &[u8],
    salt: &[u8; SALT],
    iterations: u32,
    key: &mut [u8],
    count: &mut Iterations<'_>,
) -> Result<()> {
    for (number, block) in (1u32..).zip(key.chunks_mut(hash.output_len())) {
        let mut derivation = Derivation::new(hash, password, salt, number).map_err(out_of_memory)?;
        count.count(1).await?;
        let mut left = u64::from(iterations) - 1;
        while left > 0 {
            let some = left.min(count.until_yield());
            derivation.iterate(some as u32).map_err(out_of_memory)?;
            count.count(some).await?;
            left -= some;
        }
        derivation.block(block).map_err(out_of_memory)?;
    }
    Ok(())
}
