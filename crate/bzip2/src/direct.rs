//! By the library.

#![allow(unsafe_code, reason = "the library's functions that report a lack of memory take pointers")]

use decant_module::{Fault, Module, Step, StreamDecoder, StreamFailure, StreamState};
use libbz2_rs_sys::{
    BZ_DATA_ERROR_MAGIC, BZ_MEM_ERROR, BZ_OK, BZ_STREAM_END, BZ2_bzDecompress, BZ2_bzDecompressEnd,
    BZ2_bzDecompressInit, bz_stream,
};
use std::ffi::c_int;

/// The decoder is linked.
pub static MODULE: Module = Module::linked("bzip2");

/// Approximate size of the memory for the largest blocks, in bytes, for the out-of-memory message.
const BLOCK_MEMORY: u64 = 3_700_000;

/// Decodes consecutive bzip2 streams as one. Their checksums are verified.
#[derive(Default)]
pub struct Bzip2Decoder {
    /// The stream that has begun.
    stream: Option<Bzip2Stream>,
    /// Whether a stream has ended.
    has_ended: bool,
}

impl Bzip2Decoder {
    /// Creates a decoder.
    pub fn new() -> Result<Self, StreamFailure> {
        Ok(Self::default())
    }

    fn run(&mut self, input: &mut &[u8], output: &mut &mut [u8]) -> Result<(), Fault> {
        while self.stream.is_some() || !input.is_empty() {
            let stream = match &mut self.stream {
                Some(stream) => stream,
                none => none.insert(Bzip2Stream::new()?),
            };
            match stream.run(input, output) {
                BZ_OK => return Ok(()),
                BZ_STREAM_END => (self.stream, self.has_ended) = (None, true),
                BZ_MEM_ERROR => return Err(Fault::OutOfMemory(BLOCK_MEMORY)),
                BZ_DATA_ERROR_MAGIC if self.has_ended => return Err(Fault::Trailing),
                _ => return Err(Fault::Invalid),
            }
        }
        Ok(())
    }
}

impl StreamDecoder for Bzip2Decoder {
    fn decode(&mut self, input: &[u8], output: &mut [u8]) -> Step {
        let (mut rest, mut room) = (input, &mut output[..]);
        let result = self.run(&mut rest, &mut room);
        let (consumed, left) = (input.len() - rest.len(), room.len());
        let state = match result {
            Ok(()) if self.stream.is_none() && self.has_ended => StreamState::Whole,
            Ok(()) => StreamState::Inside,
            Err(fault) => StreamState::Failed(fault),
        };
        Step { consumed: consumed as u32, written: (output.len() - left) as u32, state }
    }
}

/// One stream. The library checks that the structure stays at its address.
struct Bzip2Stream(Box<bz_stream>);

impl Bzip2Stream {
    fn new() -> Result<Self, Fault> {
        let mut stream = Box::new(bz_stream::zeroed());
        // SAFETY: it points to a structure without an allocator, for which the library uses Rust's.
        match unsafe { BZ2_bzDecompressInit(&mut *stream, 0, 0) } {
            BZ_OK => Ok(Self(stream)),
            _ => Err(Fault::OutOfMemory(BLOCK_MEMORY)),
        }
    }

    /// Decodes from the start of `input` to the start of `output`, and moves both on. Returns the library's code.
    fn run(&mut self, input: &mut &[u8], output: &mut &mut [u8]) -> c_int {
        let stream = &mut *self.0;
        (stream.next_in, stream.avail_in) = (input.as_ptr().cast(), input.len() as u32);
        (stream.next_out, stream.avail_out) = (output.as_mut_ptr().cast(), output.len() as u32);
        // SAFETY: `new` initialised it, and the two buffers have these lengths.
        let code = unsafe { BZ2_bzDecompress(stream) };
        *input = &input[input.len() - stream.avail_in as usize..];
        let written = output.len() - stream.avail_out as usize;
        *output = &mut std::mem::take(output)[written..];
        code
    }
}

impl Drop for Bzip2Stream {
    fn drop(&mut self) {
        // SAFETY: `new` initialised it, and nothing uses it later.
        unsafe { BZ2_bzDecompressEnd(&mut *self.0) };
    }
}
