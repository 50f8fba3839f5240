//! Decodes streams: frames of any length (RFC 8878, section 3).

use super::frame_header::{Header, HeaderReader};
use super::reason;
use crate::ZstdError;
use decant_module::{Fault, Step, StreamDecoder, StreamState};
use zstd_safe::{DCtx, DParameter, InBuffer, OutBuffer};

/// The code of the library for a checksum that does not match (`zstd_errors.h`).
pub(super) const CHECKSUM_WRONG: usize = 22;

/// The logarithm of the largest window that the library decodes with: `ZSTD_WINDOWLOG_MAX`.
const LARGEST_LOG: u32 = if cfg!(target_pointer_width = "32") { 30 } else { 31 };
/// The largest window, in bytes.
const LARGEST: u64 = 1 << LARGEST_LOG;

/// Decodes consecutive frames as one stream. Checksums and content sizes are verified, and skippable frames are skipped.
#[derive(Default)]
pub struct ZstdDecoder {
    part: Part,
    header: HeaderReader,
    /// The window that the frame needs, in bytes.
    window: u64,
    /// The size of the frame's content, if it is stated, and of the content so far.
    content_size: Option<u64>,
    decoded: u64,
    /// Maximum size of the content, for a frame with a larger window than the library allows.
    most: Option<u64>,
    /// The library's decoder, allocated with the first frame. It takes memory for the window of each frame.
    decoder: Option<DCtx<'static>>,
    /// Whether a frame has ended.
    has_ended: bool,
}

/// The part of a stream that is being decoded.
#[derive(Clone, Copy, Default)]
enum Part {
    #[default]
    Header,
    /// A frame, with the number of bytes of its header that the library has.
    Frame(usize),
    /// The rest of a skippable frame, in bytes.
    Skippable(u32),
}

impl StreamDecoder for ZstdDecoder {
    fn decode(&mut self, input: &[u8], output: &mut [u8]) -> Step {
        let (mut rest, mut written) = (input, 0);
        let state = match self.run(&mut rest, output, &mut written) {
            Ok(()) if matches!(self.part, Part::Header) && self.header.is_empty() && self.has_ended => {
                StreamState::Whole
            }
            Ok(()) => StreamState::Inside,
            Err(fault) => StreamState::Failed(fault),
        };
        Step {
            consumed: (input.len() - rest.len()) as u32,
            written: written as u32,
            state,
            window: self.window.min(LARGEST),
        }
    }
}

impl ZstdDecoder {
    /// Decodes one part after another, until a part needs more input or output.
    fn run(&mut self, input: &mut &[u8], output: &mut [u8], written: &mut usize) -> Result<(), Fault> {
        loop {
            let has_ended = match self.part {
                Part::Header => self.header(input)?,
                Part::Frame(passed) => self.frame(passed, input, output, written)?,
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
        (self.part, self.has_ended) = (Part::Header, true);
        self.header.clear();
        true
    }

    /// Reads a header, and begins its frame when the header is complete. Returns whether it is.
    fn header(&mut self, input: &mut &[u8]) -> Result<bool, Fault> {
        let Some(header) = self.header.read(input, self.has_ended)? else { return Ok(false) };
        self.part = match header {
            Header::Skippable(len) => Part::Skippable(len),
            Header::Frame(frame) => {
                (self.window, self.content_size, self.decoded) = (frame.needed(), frame.content_size, 0);
                self.most = None;
                if frame.window > LARGEST {
                    if frame.content_size.is_some_and(|size| size > LARGEST) {
                        return Err(Fault::Window(self.window));
                    }
                    // Up to so much content, no match reaches farther back than the smaller window.
                    self.header.limit_window(LARGEST);
                    self.most = Some(LARGEST);
                }
                Part::Frame(0)
            }
        };
        Ok(true)
    }

    /// Decodes more of a frame. The library has the first `passed` bytes of its header. Returns whether the frame has ended.
    fn frame(
        &mut self,
        mut passed: usize,
        input: &mut &[u8],
        output: &mut [u8],
        written: &mut usize,
    ) -> Result<bool, Fault> {
        let no_memory = Fault::without_memory(self.window);
        if self.decoder.is_none() {
            let mut decoder = DCtx::try_create().ok_or(no_memory)?;
            decoder.set_parameter(DParameter::WindowLogMax(LARGEST_LOG)).map_err(|_| Fault::Invalid)?;
            self.decoder = Some(decoder);
        }
        let decoder = self.decoder.as_mut().expect("it was just made");
        loop {
            let header = &self.header.bytes()[passed..];
            let is_header = !header.is_empty();
            let mut source = InBuffer::around(if is_header { header } else { input });
            let mut target = OutBuffer::around(&mut output[*written..]);
            let result = decoder.decompress_stream(&mut target, &mut source);
            let (consumed, produced) = (source.pos(), target.pos());
            *written += produced;
            self.decoded += produced as u64;
            if self.most.is_some_and(|most| self.decoded > most) {
                return Err(Fault::Window(self.window));
            }
            if is_header {
                passed += consumed;
                self.part = Part::Frame(passed);
            } else {
                *input = &input[consumed..];
            }
            match result {
                // The library does not check it if the last block is empty.
                Ok(0) if self.content_size.is_some_and(|size| size != self.decoded) => return Err(Fault::Size),
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
