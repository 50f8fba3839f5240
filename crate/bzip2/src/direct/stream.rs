//! Safe wrapper around the library's decoder of one stream.

#![allow(unsafe_code, reason = "the library takes pointers; its safe interface `bzip2` panics if memory runs out")]

use decant_module::{Buffers, Fault};
use libbz2_rs_sys::{
    BZ_MEM_ERROR, BZ_OK, BZ_STREAM_END, BZ2_bzDecompress, BZ2_bzDecompressEnd, BZ2_bzDecompressInit, bz_stream,
};
use std::ffi::c_uint;

/// Approximate memory for the largest blocks, in bytes, for the out-of-memory message.
const BLOCK_MEMORY: u64 = 3_700_000;

/// A stream. The library checks that its structure stays at its address.
pub(super) struct Bzip2Stream(Box<bz_stream>);

impl Bzip2Stream {
    /// Begins a stream. Fails if memory runs out.
    pub(super) fn new() -> Result<Self, Fault> {
        let mut stream = Box::new(bz_stream::zeroed());
        // SAFETY: it points to a structure without an allocator, for which the library uses Rust's.
        match unsafe { BZ2_bzDecompressInit(&mut *stream, 0, 0) } {
            BZ_OK => Ok(Self(stream)),
            _ => Err(Fault::OutOfMemory(BLOCK_MEMORY)),
        }
    }

    /// Decodes until the input is used, the output is full, or the stream ends. Returns whether it has ended.
    pub(super) fn decode(&mut self, buffers: &mut Buffers<'_>) -> Result<bool, Fault> {
        let room = &mut buffers.output[buffers.written..];
        // The library counts in 32 bits.
        let input_len = buffers.input.len().min(c_uint::MAX as usize);
        let room_len = room.len().min(c_uint::MAX as usize);
        let stream = &mut *self.0;
        (stream.next_in, stream.avail_in) = (buffers.input.as_ptr().cast(), input_len as c_uint);
        (stream.next_out, stream.avail_out) = (room.as_mut_ptr().cast(), room_len as c_uint);
        // SAFETY: `new` initialised it, and the two buffers have at least these lengths.
        let code = unsafe { BZ2_bzDecompress(stream) };
        buffers.input = &buffers.input[input_len - stream.avail_in as usize..];
        buffers.written += room_len - stream.avail_out as usize;
        match code {
            BZ_OK => Ok(false),
            BZ_STREAM_END => Ok(true),
            BZ_MEM_ERROR => Err(Fault::OutOfMemory(BLOCK_MEMORY)),
            _ => Err(Fault::Invalid),
        }
    }
}

impl Drop for Bzip2Stream {
    fn drop(&mut self) {
        // SAFETY: `new` initialised it, and nothing uses it later.
        unsafe { BZ2_bzDecompressEnd(&mut *self.0) };
    }
}
