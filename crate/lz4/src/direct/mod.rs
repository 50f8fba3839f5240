//! The decoder of frames of any length. The library lz4_flex decodes blocks.

mod frame;
#[cfg(test)]
mod tests;

use decant_module::{Buffers, CodecDecoder, Fault, Step, StreamDecoder, Undivided};
use frame::{Frame, Header};
use lz4_flex::block::{decompress_into, decompress_into_with_dict};
use std::hash::Hasher;
use twox_hash::XxHash32;

/// Length of the size of a block, and of a checksum, in bytes.
const SIZE: usize = 4;
const CHECKSUM: usize = 4;
/// The bit of a block's size that says that the block is not compressed.
const STORED: u32 = 1 << 31;

/// The most bytes that a match reaches back.
const HISTORY: usize = 64 << 10;

/// Decodes consecutive frames as one stream. Checksums and content sizes are verified, and skippable frames are skipped.
#[derive(Default)]
pub struct Lz4Decoder {
    part: Part,
    /// The bytes of the part that have been read: at most a block with its checksum.
    held: Vec<u8>,
    window: Window,
    /// The size of the frame's content so far, and its hash.
    decoded: u64,
    hash: XxHash32,
    /// Whether a frame has ended.
    has_ended: bool,
}

/// The part of a stream that is being read.
#[derive(Clone, Copy, Default)]
enum Part {
    #[default]
    Header,
    /// The size of a block, or the end mark.
    Size(Frame),
    Block {
        frame: Frame,
        len: usize,
        is_stored: bool,
    },
    ContentChecksum,
    /// The rest of a skippable frame, in bytes.
    Skippable(u32),
}

impl StreamDecoder for Lz4Decoder {
    fn decode(&mut self, input: &[u8], output: &mut [u8]) -> Step {
        Buffers::step(input, output, |buffers| self.run(buffers))
    }
}

impl CodecDecoder for Lz4Decoder {
    type Divider = Undivided;
}

impl Lz4Decoder {
    /// Decodes one part after another, until a part needs more input or output. Returns whether every frame that began has ended.
    fn run(&mut self, buffers: &mut Buffers<'_>) -> Result<bool, Fault> {
        while self.window.put(buffers) {
            let is_read = match self.part {
                Part::Header => self.header(&mut buffers.input)?,
                Part::Size(frame) => self.hold(&mut buffers.input, SIZE)? && self.size(frame)?,
                Part::Block { frame, len, is_stored } => {
                    let checksum = if frame.has_block_checksums { CHECKSUM } else { 0 };
                    self.hold(&mut buffers.input, len + checksum)? && self.block(frame, len, is_stored)?
                }
                Part::ContentChecksum => self.hold(&mut buffers.input, CHECKSUM)? && self.content_checksum()?,
                Part::Skippable(left) => {
                    let passed = buffers.input.len().min(left as usize);
                    buffers.input = &buffers.input[passed..];
                    self.part = Part::Skippable(left - passed as u32);
                    passed == left as usize && self.end_frame()
                }
            };
            if !is_read {
                return Ok(self.held.is_empty() && self.is_between_frames());
            }
        }
        Ok(false)
    }

    /// Whether the stream may end here, where a part begins: a frame of `lz4 -l` has no end mark.
    fn is_between_frames(&self) -> bool {
        match self.part {
            Part::Header => self.has_ended,
            Part::Size(frame) => frame.is_legacy,
            _ => false,
        }
    }

    /// Reads until `len` bytes of the part are held. Returns whether they are.
    fn hold(&mut self, input: &mut &[u8], len: usize) -> Result<bool, Fault> {
        let missing = len.saturating_sub(self.held.len());
        self.held.try_reserve_exact(missing).map_err(|_| Fault::OutOfMemory(len as u64))?;
        let (read, rest) = input.split_at(input.len().min(missing));
        self.held.extend_from_slice(read);
        *input = rest;
        Ok(read.len() == missing)
    }

    /// Begins the next part, for which nothing is held yet.
    fn begin(&mut self, part: Part) -> bool {
        self.held.clear();
        self.part = part;
        true
    }

    fn end_frame(&mut self) -> bool {
        self.has_ended = true;
        self.begin(Part::Header)
    }

    /// Reads a header, and begins its frame when the header is complete. Returns whether it is.
    fn header(&mut self, input: &mut &[u8]) -> Result<bool, Fault> {
        loop {
            match Header::read(&self.held, self.has_ended)? {
                Header::Needs(len) if self.hold(input, len)? => {}
                Header::Needs(_) => return Ok(false),
                Header::Skippable(len) => return Ok(self.begin(Part::Skippable(len))),
                Header::Frame(frame) => {
                    self.window.begin(&frame)?;
                    (self.decoded, self.hash) = (0, XxHash32::with_seed(0));
                    return Ok(self.begin(Part::Size(frame)));
                }
            }
        }
    }

    /// Begins a block, or ends the frame: the held size decides.
    fn size(&mut self, frame: Frame) -> Result<bool, Fault> {
        let size = number(&self.held, 0);
        if frame.is_legacy && size as usize > frame.largest_compressed {
            // Not the size of a block, but the magic number of the next frame.
            (self.part, self.has_ended) = (Part::Header, true);
            return Ok(true);
        }
        let (len, is_stored) = ((size & !STORED) as usize, size & STORED != 0);
        if len > frame.largest_compressed {
            return Err(Fault::Invalid);
        }
        if size != 0 || frame.is_legacy {
            return Ok(self.begin(Part::Block { frame, len, is_stored }));
        }
        if frame.content_size.is_some_and(|size| size != self.decoded) {
            return Err(Fault::Size);
        }
        Ok(if frame.has_content_checksum { self.begin(Part::ContentChecksum) } else { self.end_frame() })
    }

    /// Decodes the block that is held.
    fn block(&mut self, frame: Frame, len: usize, is_stored: bool) -> Result<bool, Fault> {
        let (block, checksum) = self.held.split_at(len);
        if frame.has_block_checksums && XxHash32::oneshot(0, block) != number(checksum, 0) {
            return Err(Fault::Checksum);
        }
        let data = self.window.add(&frame, block, is_stored)?;
        self.decoded += data.len() as u64;
        if frame.content_size.is_some_and(|size| size < self.decoded) {
            return Err(Fault::Size);
        }
        if frame.has_content_checksum {
            self.hash.write(data);
        }
        Ok(self.begin(Part::Size(frame)))
    }

    fn content_checksum(&mut self) -> Result<bool, Fault> {
        if self.hash.finish_32() != number(&self.held, 0) {
            return Err(Fault::Checksum);
        }
        Ok(self.end_frame())
    }
}

/// The latest data of a frame: that of the last block, after the data that its matches can refer to.
#[derive(Default)]
struct Window {
    bytes: Vec<u8>,
    /// The end of the data, and the end of the data that was written to the output.
    end: usize,
    written: usize,
}

impl Window {
    /// Begins a frame. Fails if memory runs out.
    fn begin(&mut self, frame: &Frame) -> Result<(), Fault> {
        (self.end, self.written) = (0, 0);
        // With room for twice the history, the history is not moved for each small block.
        let size = 2 * HISTORY + frame.largest_block;
        let missing = size.saturating_sub(self.bytes.len());
        self.bytes.try_reserve_exact(missing).map_err(|_| Fault::OutOfMemory(size as u64))?;
        self.bytes.resize(self.bytes.len() + missing, 0);
        Ok(())
    }

    /// Decodes `block`. All earlier data must have been written to the output. Returns the data of the block.
    fn add(&mut self, frame: &Frame, block: &[u8], is_stored: bool) -> Result<&[u8], Fault> {
        if self.bytes.len() - self.end < frame.largest_block {
            let kept = self.end - self.end.min(HISTORY)..self.end;
            self.end = kept.len();
            self.bytes.copy_within(kept, 0);
        }
        let start = self.end;
        let (before, room) = self.bytes.split_at_mut(start);
        let room = &mut room[..frame.largest_block];
        let len = if is_stored {
            room[..block.len()].copy_from_slice(block);
            block.len()
        } else if frame.is_independent {
            decompress_into(block, room).map_err(|_| Fault::Invalid)?
        } else {
            decompress_into_with_dict(block, room, before).map_err(|_| Fault::Invalid)?
        };
        (self.written, self.end) = (start, start + len);
        Ok(&self.bytes[start..self.end])
    }

    /// Writes data to the output. Returns whether all data has been written.
    fn put(&mut self, buffers: &mut Buffers<'_>) -> bool {
        self.written += buffers.put(&self.bytes[self.written..self.end]);
        self.written == self.end
    }
}

/// Returns the number in the four bytes at `at`, little endian. Panics if there are fewer.
fn number(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}
