//! Inflates raw deflate data, or Deflate64 data, as it is read, with its CRC-32 and length.

use super::decoder_buffers::{CompressedInput, OutputWindow};
use crate::compress::crc;
use crate::compress::inflate::InflateError;
use crate::compress::inflate::pausing::{HISTORY, LOOKAHEAD, Pause, PausingInflater, ROOM, Step};
use crate::error::{Error, Result};
use crate::io::stream::ByteStream;
use crate::offsets::HostOffset;
use deflate64::{InflateResult, InflaterManaged};

/// Maximum length of a symbol, in bytes: a literal, or a length and a distance with their extra bits, takes at most 48
/// bits.
const LONGEST_SYMBOL: usize = 6;
/// Size of the output window after the history that the stream may refer to, in bytes. It fits in the CPU cache.
const WINDOW: usize = 256 << 10;

/// The deflate streams of a container, one after the other.
pub(super) struct Inflation {
    pub(super) input: CompressedInput,
    inflater: Inflater,
    /// Data of the stream, after the history that it may refer to.
    pub(super) window: OutputWindow,
    /// The checksum of the data so far.
    pub(super) checksum: Checksum,
    /// The code of errors about damage.
    damaged: &'static str,
}

impl Inflation {
    /// Inflates `stream`. Fails with `internal` if memory runs out.
    pub(super) fn new(stream: Box<dyn ByteStream>, damaged: &'static str) -> Result<Self> {
        Self::by(Inflater::Deflate(PausingInflater::default()), CompressedInput::new(stream, LOOKAHEAD)?, damaged)
    }

    /// Inflates `stream`, which is Deflate64 data. Fails with `internal` if memory runs out.
    pub(super) fn new_64(stream: Box<dyn ByteStream>, damaged: &'static str) -> Result<Self> {
        Self::by(Inflater::Deflate64(Box::new(InflaterManaged::new())), CompressedInput::new(stream, 0)?, damaged)
    }

    fn by(inflater: Inflater, input: CompressedInput, damaged: &'static str) -> Result<Self> {
        Ok(Self {
            input,
            inflater,
            window: OutputWindow::new(HISTORY + WINDOW + ROOM)?,
            checksum: Checksum::default(),
            damaged,
        })
    }

    /// Prepares for another deflate stream.
    pub(super) fn restart(&mut self) {
        if let Inflater::Deflate(inflater) = &mut self.inflater {
            inflater.restart();
        }
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
                // The reader may need only the data that was decoded before.
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

/// A decoder that pauses where input or room for output ends.
enum Inflater {
    Deflate(PausingInflater),
    /// Keeps its history itself.
    Deflate64(Box<InflaterManaged>),
}

impl Inflater {
    /// Inflates `input` to `window` from `filled` on. Before `filled` is the history.
    fn run(&mut self, input: &[u8], window: &mut [u8], filled: usize) -> Step {
        match self {
            Self::Deflate(inflater) => inflater.run(input, window, filled),
            Self::Deflate64(inflater) => {
                let room = &mut window[filled..];
                let len = room.len();
                let InflateResult { bytes_consumed: consumed, bytes_written, data_error } =
                    inflater.inflate(input, room);
                let pause = match data_error || inflater.errored() {
                    true => Err(InflateError::Invalid),
                    false if inflater.finished() => Ok(Pause::End),
                    false if bytes_written == len => Ok(Pause::Output),
                    false => Ok(Pause::Input),
                };
                Step { consumed, filled: filled + bytes_written, pause }
            }
        }
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
