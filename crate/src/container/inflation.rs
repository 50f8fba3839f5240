//! Inflates raw deflate data as it is read, with its CRC-32 and length.

use super::compressed_input::CompressedInput;
use super::output_window::OutputWindow;
use crate::compress::crc;
use crate::compress::inflate::pausing::{HISTORY, LOOKAHEAD, Pause, PausingInflater, ROOM};
use crate::error::{Error, Result};
use crate::io::stream::ByteStream;
use crate::offsets::HostOffset;

/// Maximum length of a symbol, in bytes: a literal, or a length and a distance with their extra bits, takes at most 48
/// bits.
const LONGEST_SYMBOL: usize = 6;
/// Size of the output window after the history that the stream may refer to, in bytes. It fits in the CPU cache.
const WINDOW: usize = 256 << 10;

/// The deflate streams of a container, one after the other.
pub(super) struct Inflation {
    pub(super) input: CompressedInput,
    inflater: PausingInflater,
    /// Data of the stream, after the history that it may refer to.
    pub(super) window: OutputWindow,
    /// Of the data so far.
    pub(super) checksum: Checksum,
    /// The code of errors about damage.
    damaged: &'static str,
}

impl Inflation {
    /// Inflates `stream`. Fails with `internal` if memory runs out.
    pub(super) fn new(stream: Box<dyn ByteStream>, damaged: &'static str) -> Result<Self> {
        Ok(Self {
            input: CompressedInput::new(stream, LOOKAHEAD)?,
            inflater: PausingInflater::default(),
            window: OutputWindow::new(HISTORY + WINDOW + ROOM)?,
            checksum: Checksum::default(),
            damaged,
        })
    }

    /// Prepares for another deflate stream.
    pub(super) fn restart(&mut self) {
        self.inflater.restart();
        (self.window.filled, self.window.given, self.checksum) = (0, 0, Checksum::default());
    }

    /// Inflates more data into the window, which must be empty. Returns whether the deflate stream has ended.
    pub(super) async fn step(&mut self) -> Result<bool> {
        let window = &mut self.window;
        let kept = window.filled.min(HISTORY);
        window.bytes.copy_within(window.filled - kept..window.filled, 0);
        (window.filled, window.given) = (kept, kept);
        let has_ended = loop {
            let step = self.inflater.run(self.input.ahead(), &mut window.bytes, window.filled);
            self.input.consume(step.consumed)?;
            window.filled = step.filled;
            match step.pause {
                // Data that is needed may be there already.
                Ok(Pause::Input) if window.filled > kept => break false,
                Ok(Pause::Input) => self.input.read_more().await?,
                Ok(Pause::Output) => break false,
                Ok(Pause::End) => break true,
                Err(_) => return Err(self.invalid()),
            }
        };
        self.checksum.add(&window.bytes[kept..window.filled]);
        Ok(has_ended)
    }

    /// The error for invalid deflate data: truncation if the invalid symbol may extend past the end, since it may
    /// include padding bits after the end.
    fn invalid(&self) -> Error {
        if self.input.ends_within(LONGEST_SYMBOL) {
            return self.input.truncated();
        }
        self.damaged("the compressed data is invalid", self.input.position())
    }

    /// The error for compressed data that is invalid or fails its checks.
    pub(super) fn damaged(&self, what: &str, place: HostOffset) -> Error {
        Error::corrupt(what, place).coded(self.damaged)
    }
}

/// Running CRC-32 and length.
#[derive(Clone, Copy, Default)]
pub(super) struct Checksum {
    pub(super) crc: u32,
    pub(super) len: u64,
}

impl Checksum {
    /// Adds `bytes` and returns them.
    pub(super) fn add<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        let len = bytes.len() as u64;
        self.crc = crc::joined(self.crc, crc::crc32(bytes), len);
        self.len += len;
        bytes
    }
}
