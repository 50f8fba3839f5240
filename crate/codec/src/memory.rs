//! Resizes buffers. In code compiled for size, filling one would be a loop over its bytes.

use crate::OutOfMemory;

/// Resizes `buffer` to exactly `len` bytes. Keeps its content and adds zeros. Fails if memory runs out.
pub fn resize(buffer: &mut Vec<u8>, len: usize) -> Result<(), OutOfMemory> {
    let more = len.saturating_sub(buffer.len());
    buffer.try_reserve_exact(more).map_err(|_| OutOfMemory(len))?;
    buffer.resize(len, 0);
    Ok(())
}
