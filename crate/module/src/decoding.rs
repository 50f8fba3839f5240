//! The interface of decoders of compressed streams, which codecs share.

use serde::{Deserialize, Serialize};
use std::ops::RangeInclusive;

/// The largest window, or dictionary, in bytes, that several decoders may have at once. It is as large as zstd's own default limit.
pub const USUAL_WINDOW: u64 = 128 << 20;

/// The largest window, or dictionary, that a stream may need, in bytes.
pub const LARGEST_WINDOW: u64 = 2 << 30;

/// The most data, in bytes, that a part of a divided stream holds.
pub const LARGEST_PART: u64 = 64 << 20;

/// Length of what precedes each part of a divided stream: the size of its data in bytes, little endian, or an estimate.
pub const PART_SIZE_LEN: usize = 8;

/// Decodes a stream of compressed data, or divides it into parts: complete streams of the same kind, which decode
/// independently. A call that divides ends after each part, with the state [`StreamState::Whole`]. Before a part, its
/// size is written ([`PART_SIZE_LEN`]).
pub trait StreamDecoder {
    /// Decodes `input` to `output` until the input is used, the output is full, or decoding fails. Must not be called
    /// after a failure.
    fn decode(&mut self, input: &[u8], output: &mut [u8]) -> Step;
}

/// Creates a decoder, which is linked or in a module.
pub trait CreateDecoder {
    /// Returns `None` if memory runs out.
    fn create() -> Option<Box<dyn StreamDecoder>>;
}

impl<D: StreamDecoder + Default + 'static> CreateDecoder for D {
    fn create() -> Option<Box<dyn StreamDecoder>> {
        Some(Box::new(D::default()))
    }
}

/// The divider of a codec whose streams are not divided.
#[derive(Default)]
pub struct Undivided;

impl StreamDecoder for Undivided {
    fn decode(&mut self, _: &[u8], _: &mut [u8]) -> Step {
        Step { consumed: 0, written: 0, state: StreamState::Failed(Fault::Indivisible), window: 0 }
    }
}

/// The progress of one call of [`StreamDecoder::decode`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// The number of bytes of the input that were used; after a failure, up to about its position.
    pub consumed: u32,
    /// The number of bytes of the output that were written.
    pub written: u32,
    /// The state after it.
    pub state: StreamState,
    /// The size of the window, or dictionary, that the data needs now, in bytes; 0 if that is not known, or small by design.
    pub window: u64,
}

/// The state of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum StreamState {
    /// The compressed data goes on.
    Inside,
    /// All that began has ended, with correct checksums, and was written. More of the kind may follow.
    Whole,
    /// Decoding failed.
    Failed(Fault),
}

/// Why decoding fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Fault {
    /// The data is invalid.
    Invalid,
    /// A checksum does not match.
    Checksum,
    /// A size does not match.
    Size,
    /// Something else follows the data.
    Trailing,
    /// The stream cannot be divided further; it can be decoded in order.
    Indivisible,
    /// The window of this size, in bytes, is larger than the decoder allows, or memory for a large one ran out.
    Window(u64),
    /// A feature that is not supported, with its number.
    Unsupported(StreamFeature, u64),
    /// Memory for about so many bytes ran out.
    OutOfMemory(u64),
}

impl Fault {
    /// The fault of memory that ran out for a window, or dictionary, of `size` bytes.
    pub fn without_memory(size: u64) -> Self {
        if size > USUAL_WINDOW { Self::Window(size) } else { Self::OutOfMemory(size) }
    }
}

/// A feature that is not supported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum StreamFeature {
    /// A type of checksum.
    Check,
    /// A dictionary that is kept elsewhere.
    Dictionary,
    /// A filter.
    Filter,
    /// A number of filters.
    Filters,
    /// Reserved bits of a header.
    Flags,
}

/// The buffers of one call of a stream decoder.
pub struct Buffers<'a> {
    /// The input that is left.
    pub input: &'a [u8],
    /// All of the output.
    pub output: &'a mut [u8],
    /// The number of bytes that were written to the output.
    pub written: usize,
}

impl Buffers<'_> {
    /// Calls `run` with `input` and `output`. Returns the progress. `run` returns whether all frames that began have ended.
    pub fn step(input: &[u8], output: &mut [u8], run: impl FnOnce(&mut Buffers<'_>) -> Result<bool, Fault>) -> Step {
        let mut buffers = Buffers { input, output, written: 0 };
        let state = match run(&mut buffers) {
            Ok(true) => StreamState::Whole,
            Ok(false) => StreamState::Inside,
            Err(fault) => StreamState::Failed(fault),
        };
        let consumed = input.len() - buffers.input.len();
        Step { consumed: consumed as u32, written: buffers.written as u32, state, window: 0 }
    }

    /// Writes the first of `bytes`, as many as fit. Returns their number.
    pub fn put(&mut self, bytes: &[u8]) -> usize {
        let room = &mut self.output[self.written..];
        let len = bytes.len().min(room.len());
        room[..len].copy_from_slice(&bytes[..len]);
        self.written += len;
        len
    }

    /// Moves up to `len` bytes from the input to the output. Returns their number.
    pub fn copy(&mut self, len: usize) -> usize {
        let input = self.input;
        let copied = self.put(&input[..input.len().min(len)]);
        self.input = &input[copied..];
        copied
    }
}

/// The magic numbers of skippable frames, little endian. The formats of zstd and lz4 share them (RFC 8878, section 3.1.2).
pub const SKIPPABLE_MAGIC: RangeInclusive<u32> = 0x184d_2a50..=0x184d_2a5f;
/// Length of the header of a skippable frame, in bytes: its magic number, and the length of the rest.
pub const SKIPPABLE_HEADER: usize = 8;
