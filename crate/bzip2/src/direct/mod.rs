//! By the library.

#![allow(unsafe_code, reason = "the library's functions that report a lack of memory take pointers")]

mod divider;

pub use divider::Bzip2Divider;

use decant_module::{Fault, Module, Step, StreamDecoder, StreamFailure, StreamState};
use libbz2_rs_sys::{
    BZ_MEM_ERROR, BZ_OK, BZ_STREAM_END, BZ2_bzDecompress, BZ2_bzDecompressEnd, BZ2_bzDecompressInit, bz_stream,
};
use std::ffi::c_int;

/// The decoder is linked.
pub static MODULE: Module = Module::linked("bzip2");

/// Approximate size of the memory for the largest blocks, in bytes, for the out-of-memory message.
const BLOCK_MEMORY: u64 = 3_700_000;

/// The signature, which the size of the blocks follows.
const MAGIC: [u8; 3] = *b"BZh";
/// The rest of a stream without data: the end mark, and the checksum of nothing.
const NO_DATA: [u8; 10] = [0x17, 0x72, 0x45, 0x38, 0x50, 0x90, 0, 0, 0, 0];
/// Length of a stream without data, in bytes. No stream is shorter.
const SHORTEST: usize = MAGIC.len() + 1 + NO_DATA.len();

/// Decodes consecutive bzip2 streams as one. Their checksums are verified.
#[derive(Default)]
pub struct Bzip2Decoder {
    /// The first bytes of a stream that has not begun.
    head: [u8; SHORTEST],
    /// The number of bytes in `head`.
    held: usize,
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
            let Some(stream) = &mut self.stream else {
                if !self.fill_head(input)? {
                    break;
                }
                self.begin(output)?;
                continue;
            };
            match stream.run(input, output) {
                BZ_STREAM_END => (self.stream, self.has_ended) = (None, true),
                code => return checked(code),
            }
        }
        Ok(())
    }

    /// Moves the first bytes of a stream from `input` to `head`. Returns whether it is full.
    fn fill_head(&mut self, input: &mut &[u8]) -> Result<bool, Fault> {
        let len = input.len().min(SHORTEST - self.held);
        let (found, rest) = input.split_at(len);
        self.head[self.held..self.held + len].copy_from_slice(found);
        (*input, self.held) = (rest, self.held + len);
        if self.head.iter().zip(MAGIC).take(self.held).any(|(found, expected)| *found != expected) {
            return Err(if self.has_ended { Fault::Trailing } else { Fault::Invalid });
        }
        Ok(self.held == SHORTEST)
    }

    /// Begins the stream of `head`. A stream without data takes no memory: a file may have millions of them, and the
    /// library would take megabytes for each.
    fn begin(&mut self, output: &mut &mut [u8]) -> Result<(), Fault> {
        self.held = 0;
        if matches!(self.head[MAGIC.len()], b'1'..=b'9') && self.head.ends_with(&NO_DATA) {
            self.has_ended = true;
            return Ok(());
        }
        // The library takes all of it: any other stream is longer.
        checked(self.stream.insert(Bzip2Stream::new()?).run(&mut &self.head[..], output))
    }
}

/// Returns the failure that `code` of the library means.
fn checked(code: c_int) -> Result<(), Fault> {
    match code {
        BZ_OK => Ok(()),
        BZ_MEM_ERROR => Err(Fault::OutOfMemory(BLOCK_MEMORY)),
        _ => Err(Fault::Invalid),
    }
}

impl StreamDecoder for Bzip2Decoder {
    fn decode(&mut self, input: &[u8], output: &mut [u8]) -> Step {
        let (mut rest, mut room) = (input, &mut output[..]);
        let result = self.run(&mut rest, &mut room);
        let (consumed, left) = (input.len() - rest.len(), room.len());
        let state = match result {
            Ok(()) if self.stream.is_none() && self.held == 0 && self.has_ended => StreamState::Whole,
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
