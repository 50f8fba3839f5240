//! Divides consecutive frames (RFC 8878, section 3.1.1) into single ones.

use super::frame_header::{Header, HeaderReader};
use decant_module::{Buffers, Fault, LARGEST_PART, Step, StreamDecoder, USUAL_WINDOW};

/// Types of blocks (section 3.1.1.2.2).
pub(super) const RLE: u32 = 1;
const RESERVED: u32 = 3;
/// Length of a frame's checksum, in bytes.
pub(super) const CHECKSUM: usize = 4;
/// Length of the content of a skippable frame by which `pzstd` states the length of the next frame, in bytes.
const ANNOUNCEMENT: usize = 4;
/// The assumed ratio of content to a frame that does not state its size.
const RATIO: u64 = 4;

/// Divides a stream at the ends of frames. The size of each frame, or of its content, must be stated. Blocks are not verified.
#[derive(Default)]
pub struct ZstdDivider {
    part: FramePart,
    header: HeaderReader,
    has_checksum: bool,
    /// The bytes of a block's header (section 3.1.1.2) that have been read.
    block: Vec<u8>,
    /// Bytes to be written before more input is read.
    held: Vec<u8>,
    /// The content of the last skippable frame, if it can state the length of the next frame.
    announced: Option<u32>,
    /// Whether a frame has ended.
    has_ended: bool,
}

/// The part of a stream that comes next.
#[derive(Clone, Copy, Default)]
enum FramePart {
    #[default]
    Header,
    BlockHeader,
    /// The rest of a block, in bytes, and whether it is the last one.
    Block(usize, bool),
    /// The rest of the checksum, in bytes.
    Checksum(usize),
    /// The rest of a skippable frame, in bytes.
    Skippable(usize),
}

impl StreamDecoder for ZstdDivider {
    fn decode(&mut self, input: &[u8], output: &mut [u8]) -> Step {
        Buffers::step(input, output, |buffers| self.run(buffers))
    }
}

impl ZstdDivider {
    /// Copies until the input is used, the output is full, or a frame ends. Returns whether every frame that began has ended.
    fn run(&mut self, buffers: &mut Buffers<'_>) -> Result<bool, Fault> {
        loop {
            let written = buffers.put(&self.held);
            self.held.drain(..written);
            if !self.held.is_empty() {
                return Ok(false);
            }
            match self.part {
                FramePart::Header => {
                    if !self.begin_frame(&mut buffers.input)? {
                        return Ok(self.header.is_empty() && self.has_ended);
                    }
                }
                FramePart::BlockHeader => {
                    let Some((&byte, rest)) = buffers.input.split_first() else { return Ok(false) };
                    buffers.input = rest;
                    self.block_header(byte)?;
                }
                FramePart::Block(0, true) if self.has_checksum => self.part = FramePart::Checksum(CHECKSUM),
                FramePart::Block(0, true) | FramePart::Checksum(0) => {
                    (self.part, self.has_ended) = (FramePart::Header, true);
                    return Ok(true);
                }
                FramePart::Block(0, false) => self.part = FramePart::BlockHeader,
                FramePart::Block(left, is_last) => match buffers.copy(left) {
                    0 => return Ok(false),
                    copied => self.part = FramePart::Block(left - copied, is_last),
                },
                FramePart::Checksum(left) => match buffers.copy(left) {
                    0 => return Ok(false),
                    copied => self.part = FramePart::Checksum(left - copied),
                },
                FramePart::Skippable(0) => (self.part, self.has_ended) = (FramePart::Header, true),
                FramePart::Skippable(left) => match buffers.input.len().min(left) {
                    0 => return Ok(false),
                    passed => {
                        let (content, rest) = buffers.input.split_at(passed);
                        buffers.input = rest;
                        self.part = FramePart::Skippable(left - passed);
                        let add = |number: u32| {
                            content.iter().fold(number, |number, &byte| number >> 8 | u32::from(byte) << 24)
                        };
                        self.announced = self.announced.map(add);
                    }
                },
            }
        }
    }

    /// Reads the header of a frame. Returns whether it is complete.
    fn begin_frame(&mut self, input: &mut &[u8]) -> Result<bool, Fault> {
        let Some(header) = self.header.read(input, self.has_ended)? else { return Ok(false) };
        self.part = match header {
            Header::Skippable(len) => {
                self.announced = (len as usize == ANNOUNCEMENT).then_some(0);
                FramePart::Skippable(len as usize)
            }
            Header::Frame(frame) => {
                // Several parts are decoded at once.
                if frame.needed() > USUAL_WINDOW {
                    return Err(Fault::Indivisible);
                }
                let assumed = self.announced.take().map(|len| u64::from(len) * RATIO);
                let size = frame.content_size.or(assumed);
                let size = size.filter(|&size| size <= LARGEST_PART).ok_or(Fault::Indivisible)?;
                self.held.extend_from_slice(&size.to_le_bytes());
                self.held.extend_from_slice(self.header.bytes());
                self.has_checksum = frame.has_checksum;
                FramePart::BlockHeader
            }
        };
        self.header.clear();
        Ok(true)
    }

    /// Reads the next byte of a block's header.
    fn block_header(&mut self, byte: u8) -> Result<(), Fault> {
        self.block.push(byte);
        if let [low, middle, high] = self.block[..] {
            let (block_type, size) = (u32::from(low) >> 1 & 3, u32::from_le_bytes([low, middle, high, 0]) >> 3);
            let stored = match block_type {
                RLE => 1,
                RESERVED => return Err(Fault::Invalid),
                _ => size as usize,
            };
            self.held.append(&mut self.block);
            self.part = FramePart::Block(stored, low & 1 == 1);
        }
        Ok(())
    }
}
