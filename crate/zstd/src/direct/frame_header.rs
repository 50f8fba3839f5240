//! Reads the headers of frames (RFC 8878, section 3.1).

use crate::MAGIC;
use decant_module::{Fault, LARGEST_WINDOW, SKIPPABLE_HEADER, SKIPPABLE_MAGIC, StreamFeature};

/// Length of a magic number, in bytes.
const MAGIC_LEN: usize = 4;
/// Maximum length of a frame's header with its magic number, in bytes.
pub(super) const LONGEST_HEADER: usize = 18;

/// Bits of the frame header descriptor (section 3.1.1.1.1).
const DICTIONARY_ID: u8 = 0x03;
const CHECKSUM: u8 = 0x04;
const RESERVED: u8 = 0x08;
const SINGLE_SEGMENT: u8 = 0x20;

/// A header.
pub(super) enum Header {
    Frame(Frame),
    /// A skippable frame, with the number of bytes after its header.
    Skippable(u32),
}

/// The logarithm of the least window.
const LEAST_WINDOW_LOG: u8 = 10;

/// The values of a frame's header. Sizes are in bytes.
pub(super) struct Frame {
    pub(super) window: u64,
    pub(super) content_size: Option<u64>,
    pub(super) has_checksum: bool,
}

impl Frame {
    /// The size of the window that the content needs: matches reach back to the start of the frame at most.
    pub(super) fn needed(&self) -> u64 {
        self.window.min(self.content_size.unwrap_or(u64::MAX))
    }
}

/// A partly read header.
#[derive(Default)]
pub(super) struct HeaderReader {
    bytes: [u8; LONGEST_HEADER],
    len: usize,
}

impl HeaderReader {
    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The bytes of the header that have been read.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    /// Replaces the window of a whole header, if it states one, by the largest power of two up to `most` bytes.
    pub(super) fn limit_window(&mut self, most: u64) {
        if self.bytes[MAGIC_LEN] & SINGLE_SEGMENT == 0 {
            self.bytes[MAGIC_LEN + 1] = (most.ilog2() as u8 - LEAST_WINDOW_LOG) << 3;
        }
    }

    /// Begins another header.
    pub(super) fn clear(&mut self) {
        self.len = 0;
    }

    /// Takes bytes from the start of `input`. Returns the header when it is complete. Fails if there is none: with `Trailing` if it
    /// `is_later` than the first header of the file.
    pub(super) fn read(&mut self, input: &mut &[u8], is_later: bool) -> Result<Option<Header>, Fault> {
        if !self.hold(input, MAGIC_LEN) {
            return Ok(None);
        }
        let number = |at: usize, header: &[u8]| u32::from_le_bytes(header[at..at + 4].try_into().expect("four bytes"));
        let magic = number(0, &self.bytes);
        if SKIPPABLE_MAGIC.contains(&magic) {
            let is_whole = self.hold(input, SKIPPABLE_HEADER);
            return Ok(is_whole.then(|| Header::Skippable(number(MAGIC_LEN, &self.bytes))));
        }
        if magic != MAGIC {
            return Err(if is_later { Fault::Trailing } else { Fault::Invalid });
        }
        if !self.hold(input, MAGIC_LEN + 1) {
            return Ok(None);
        }
        let fields = Fields::of(self.bytes[MAGIC_LEN])?;
        if !self.hold(input, fields.len()) {
            return Ok(None);
        }
        fields.frame(&self.bytes).map(Header::Frame).map(Some)
    }

    /// Takes bytes from `input` until the header has `len` bytes. Returns whether it has.
    fn hold(&mut self, input: &mut &[u8], len: usize) -> bool {
        let added = input.len().min(len.saturating_sub(self.len));
        self.bytes[self.len..self.len + added].copy_from_slice(&input[..added]);
        self.len += added;
        *input = &input[added..];
        self.len >= len
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
    /// Reads the lengths from the `descriptor`.
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

    /// Reads the fields of a whole `header` (section 3.1.1.1.2 to 3.1.1.1.4). Fails if the window is too large, or if a
    /// dictionary is needed.
    fn frame(&self, header: &[u8]) -> Result<Frame, Fault> {
        let fields = &header[MAGIC_LEN + 1..self.len()];
        let (window, fields) = fields.split_at(self.window);
        let (dictionary, content_size) = fields.split_at(self.dictionary);
        let number = |bytes: &[u8]| bytes.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte));
        let dictionary = number(dictionary);
        if dictionary != 0 {
            return Err(Fault::Unsupported(StreamFeature::Dictionary, dictionary));
        }
        // A size of two bytes begins at 256.
        let size = number(content_size) + if self.content_size == 2 { 256 } else { 0 };
        let window = match *window {
            [descriptor] => {
                let base = 1 << (LEAST_WINDOW_LOG + (descriptor >> 3));
                base + base / 8 * u64::from(descriptor & 7)
            }
            _ => size,
        };
        let has_checksum = header[MAGIC_LEN] & CHECKSUM != 0;
        let frame = Frame { window, content_size: (self.content_size > 0).then_some(size), has_checksum };
        if frame.needed() > LARGEST_WINDOW {
            return Err(Fault::Window(frame.needed()));
        }
        Ok(frame)
    }
}
