//! Decodes streams: frames of any length (RFC 8878, section 3).

use super::{MAGIC, SKIPPABLE, reason};
use crate::ZstdError;
use decant_module::{Fault, LARGEST_WINDOW, Step, StreamDecoder, StreamFeature, StreamState};
use zstd_safe::{DCtx, InBuffer, OutBuffer};

/// Length of a magic number, and of the header of a skippable frame, in bytes.
const MAGIC_LEN: usize = 4;
const SKIPPABLE_HEADER: usize = 8;
/// Maximum length of a frame's header with its magic number, in bytes.
const LONGEST_HEADER: usize = 18;

/// Bits of the frame header descriptor (section 3.1.1.1.1).
const DICTIONARY_ID: u8 = 0x03;
const RESERVED: u8 = 0x08;
const SINGLE_SEGMENT: u8 = 0x20;

/// The code of the library for a checksum that does not match (`zstd_errors.h`).
pub(super) const CHECKSUM_WRONG: usize = 22;

/// Decodes consecutive frames as one stream. Checksums and content sizes are verified, and skippable frames left out.
#[derive(Default)]
pub struct ZstdDecoder {
    part: Part,
    header: [u8; LONGEST_HEADER],
    header_len: usize,
    window: u64,
    /// It is allocated with the first frame, and takes memory for the window of each.
    decoder: Option<DCtx<'static>>,
    /// Whether a frame has ended.
    has_ended: bool,
}

/// The part of a stream that is being decoded.
#[derive(Clone, Copy, Default)]
enum Part {
    #[default]
    Header,
    /// A frame, of whose header the library has been given so many bytes.
    Frame(usize),
    /// The rest of a skippable frame, in bytes.
    Skippable(u32),
}

impl StreamDecoder for ZstdDecoder {
    fn decode(&mut self, input: &[u8], output: &mut [u8]) -> Step {
        let (mut rest, mut written) = (input, 0);
        let state = match self.run(&mut rest, output, &mut written) {
            Ok(()) if matches!(self.part, Part::Header) && self.header_len == 0 && self.has_ended => StreamState::Whole,
            Ok(()) => StreamState::Inside,
            Err(fault) => StreamState::Failed(fault),
        };
        Step { consumed: (input.len() - rest.len()) as u32, written: written as u32, state }
    }
}

impl ZstdDecoder {
    /// Creates a decoder.
    pub fn new() -> Result<Self, ZstdError> {
        Ok(Self::default())
    }

    /// Decodes one part after another, until a part needs more input or output.
    fn run(&mut self, input: &mut &[u8], output: &mut [u8], written: &mut usize) -> Result<(), Fault> {
        loop {
            let has_ended = match self.part {
                Part::Header => self.header(input)?,
                Part::Frame(given) => self.frame(given, input, output, written)?,
                Part::Skippable(left) => {
                    let passed = input.len().min(left as usize);
                    *input = &input[passed..];
                    self.part = Part::Skippable(left - passed as u32);
                    passed == left as usize && self.begin_header()
                }
            };
            if !has_ended {
                return Ok(());
            }
        }
    }

    fn begin_header(&mut self) -> bool {
        (self.part, self.header_len, self.has_ended) = (Part::Header, 0, true);
        true
    }

    /// Reads a header and begins its frame. Returns whether that is done.
    fn header(&mut self, input: &mut &[u8]) -> Result<bool, Fault> {
        if !self.hold(input, MAGIC_LEN) {
            return Ok(false);
        }
        let number = |at: usize, header: &[u8]| u32::from_le_bytes(header[at..at + 4].try_into().expect("four bytes"));
        let magic = number(0, &self.header);
        if SKIPPABLE.contains(&magic) {
            if !self.hold(input, SKIPPABLE_HEADER) {
                return Ok(false);
            }
            self.part = Part::Skippable(number(MAGIC_LEN, &self.header));
            return Ok(true);
        }
        if magic != MAGIC {
            return Err(if self.has_ended { Fault::Trailing } else { Fault::Invalid });
        }
        if !self.hold(input, MAGIC_LEN + 1) {
            return Ok(false);
        }
        let fields = Fields::of(self.header[MAGIC_LEN])?;
        if !self.hold(input, fields.len()) {
            return Ok(false);
        }
        self.window = fields.window(&self.header)?;
        self.part = Part::Frame(0);
        Ok(true)
    }

    /// Adds to the header until it has `len` bytes. Returns whether it has.
    fn hold(&mut self, input: &mut &[u8], len: usize) -> bool {
        let added = input.len().min(len.saturating_sub(self.header_len));
        self.header[self.header_len..self.header_len + added].copy_from_slice(&input[..added]);
        self.header_len += added;
        *input = &input[added..];
        self.header_len >= len
    }

    /// Decodes more of a frame, `given` bytes of whose header the library has. Returns whether the frame has ended.
    fn frame(
        &mut self,
        mut given: usize,
        input: &mut &[u8],
        output: &mut [u8],
        written: &mut usize,
    ) -> Result<bool, Fault> {
        let no_memory = Fault::OutOfMemory(self.window);
        if self.decoder.is_none() {
            self.decoder = Some(DCtx::try_create().ok_or(no_memory)?);
        }
        let decoder = self.decoder.as_mut().expect("it was just made");
        loop {
            let is_header = given < self.header_len;
            let mut source = InBuffer::around(if is_header { &self.header[given..self.header_len] } else { input });
            let mut target = OutBuffer::around(&mut output[*written..]);
            let result = decoder.decompress_stream(&mut target, &mut source);
            let (consumed, produced) = (source.pos(), target.pos());
            *written += produced;
            if is_header {
                given += consumed;
                self.part = Part::Frame(given);
            } else {
                *input = &input[consumed..];
            }
            match result {
                Ok(0) => return Ok(self.begin_header()),
                Ok(_) if consumed == 0 && produced == 0 => return Ok(false),
                Ok(_) => {}
                Err(code) if code.wrapping_neg() == CHECKSUM_WRONG => return Err(Fault::Checksum),
                Err(code) if reason(code) == ZstdError::OutOfMemory => return Err(no_memory),
                Err(_) => return Err(Fault::Invalid),
            }
        }
    }
}

/// The lengths of the fields after a frame header descriptor, in bytes.
struct Fields {
    /// The window descriptor; without it, the window is as large as the content.
    window: usize,
    dictionary: usize,
    content_size: usize,
}

impl Fields {
    /// Reads them from the `descriptor`.
    fn of(descriptor: u8) -> Result<Self, Fault> {
        if descriptor & RESERVED != 0 {
            return Err(Fault::Unsupported(StreamFeature::Flags, descriptor.into()));
        }
        let is_single = descriptor & SINGLE_SEGMENT != 0;
        let dictionary = [0, 1, 2, 4][usize::from(descriptor & DICTIONARY_ID)];
        let content_size = [usize::from(is_single), 2, 4, 8][usize::from(descriptor >> 6)];
        Ok(Self { window: usize::from(!is_single), dictionary, content_size })
    }

    fn len(&self) -> usize {
        MAGIC_LEN + 1 + self.window + self.dictionary + self.content_size
    }

    /// The size of the window in bytes, from a whole `header` (section 3.1.1.1.2). Fails if it is too large, or if a
    /// dictionary is needed.
    fn window(&self, header: &[u8]) -> Result<u64, Fault> {
        let fields = &header[MAGIC_LEN + 1..self.len()];
        let (window, fields) = fields.split_at(self.window);
        let (dictionary, content_size) = fields.split_at(self.dictionary);
        let number = |bytes: &[u8]| bytes.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte));
        let dictionary = number(dictionary);
        if dictionary != 0 {
            return Err(Fault::Unsupported(StreamFeature::Dictionary, dictionary));
        }
        let size = match *window {
            [descriptor] => {
                let base = 1 << (10 + (descriptor >> 3));
                base + base / 8 * u64::from(descriptor & 7)
            }
            _ => number(content_size) + if self.content_size == 2 { 256 } else { 0 },
        };
        if size > LARGEST_WINDOW {
            return Err(Fault::Window(size));
        }
        Ok(size)
    }
}
