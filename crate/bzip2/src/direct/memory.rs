//! Takes memory.

use decant_module::Fault;

/// Approximate memory for the largest blocks, in bytes, for the out-of-memory message.
pub(super) const STREAM_MEMORY: u64 = 5_500_000;

/// Takes `len` values. Fails if memory runs out.
pub(super) fn filled<T: Clone>(len: usize, value: T) -> Result<Vec<T>, Fault> {
    let mut taken = Vec::new();
    taken.try_reserve_exact(len).map_err(|_| Fault::OutOfMemory(STREAM_MEMORY))?;
    taken.resize(len, value);
    Ok(taken)
}
