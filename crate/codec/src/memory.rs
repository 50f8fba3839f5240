//! Buffers. Filling one is a loop over its bytes where code is compiled for size.

use crate::OutOfMemory;

/// Makes `buffer` exactly `len` bytes long. It keeps its bytes, and new ones are zeros. Fails if memory runs out.
pub fn resize(buffer: &mut Vec<u8>, len: usize) -> Result<(), OutOfMemory> {
    let more = len.saturating_sub(buffer.len());
    buffer.try_reserve_exact(more).map_err(|_| OutOfMemory(len))?;
    buffer.resize(len, 0);
    Ok(())
}
