//! Decodes a stream in parts: pauses between two symbols if input or output runs short.

use super::bit_reader::BitReader;
use super::fast;
use super::lane::OUTPUT_ROOM;
use super::lane::{Lane, LaneState};
use super::{InflateError, Tables, block_codes};

/// Minimum input before a decoder continues, in bytes: more than a block header. At the end of the input, the caller
/// pads it with as many zeros.
pub const LOOKAHEAD: usize = 1024;
/// Minimum output room before a decoder continues, in bytes.
pub const ROOM: usize = OUTPUT_ROOM;
/// Maximum distance of a match, in bytes.
pub const HISTORY: usize = 32 << 10;

/// The reason of a pause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pause {
    /// More input is needed: first the bytes not consumed yet, at least [`LOOKAHEAD`] bytes in all.
    Input,
    /// More room is needed: the last [`HISTORY`] bytes of the output, or all there are, then at least [`ROOM`] free
    /// bytes.
    Output,
    /// The stream has ended.
    End,
}

/// The progress of a decoder in one call.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// Number of input bytes consumed. The decoder may keep unread bits of the last one.
    pub consumed: usize,
    /// Number of output bytes filled.
    pub filled: usize,
    /// The reason of the pause, or the error in the stream near the end of the consumed bytes.
    pub pause: Result<Pause, InflateError>,
}

enum State {
    Block,
    Symbols,
    /// In a stored block, with this many bytes left.
    Stored(usize),
    End,
}

/// A decoder of one stream of raw deflate.
pub struct PausingInflater {
    tables: Tables,
    state: State,
    /// Whether the block is the last one.
    is_last: bool,
    /// The unread bits of a partly consumed byte, and their number.
    buffer: u64,
    count: u32,
}

impl Default for PausingInflater {
    fn default() -> Self {
        Self { tables: Tables::default(), state: State::Block, is_last: false, buffer: 0, count: 0 }
    }
}

impl PausingInflater {
    /// Prepares for another stream.
    pub fn restart(&mut self) {
        (self.state, self.is_last, self.buffer, self.count) = (State::Block, false, 0, 0);
    }

    /// Continues decoding with `input`. The first `filled` bytes of `output` must be earlier output, as far as
    /// [`Pause::Output`] requires. Bytes after the filled ones may be overwritten.
    pub fn run(&mut self, input: &[u8], output: &mut [u8], filled: usize) -> Step {
        let bits = BitReader { input, next: 0, buffer: self.buffer, count: self.count };
        let mut lane = Lane::inside(bits, output, filled);
        let pause = self.decode(&mut lane);
        lane.bits.give_back();
        (self.buffer, self.count) = (lane.bits.buffer, lane.bits.count);
        Step { consumed: lane.bits.next, filled: lane.filled, pause }
    }

    fn decode(&mut self, lane: &mut Lane) -> Result<Pause, InflateError> {
        loop {
            match self.state {
                State::Block if self.is_last => self.state = State::End,
                State::Block if lane.bits.input.len() - lane.bits.next < LOOKAHEAD => return Ok(Pause::Input),
                State::Block => self.begin_block(&mut lane.bits)?,
                State::Symbols => {
                    lane.state = LaneState::Symbols;
                    fast::run(lane, &self.tables.codes);
                    match lane.state {
                        LaneState::Block => self.state = State::Block,
                        LaneState::Invalid => return Err(InflateError::Invalid),
                        _ if lane.has_room() => return Ok(Pause::Input),
                        _ => return Ok(Pause::Output),
                    }
                }
                State::Stored(0) => self.state = State::Block,
                State::Stored(_) if !lane.has_room() => return Ok(Pause::Output),
                State::Stored(len) => match lane.copy(len) {
                    0 => return Ok(Pause::Input),
                    copied => self.state = State::Stored(len - copied),
                },
                State::End => return Ok(Pause::End),
            }
        }
    }

    /// Reads a block header (section 3.2.3), which must be complete in the input.
    fn begin_block(&mut self, bits: &mut BitReader) -> Result<(), InflateError> {
        self.is_last = bits.take(1)? == 1;
        self.state = match bits.take(2)? {
            0 => {
                bits.align();
                let [len, complement] = [bits.take(16)?, bits.take(16)?];
                if len != complement ^ 0xffff {
                    return Err(InflateError::Invalid);
                }
                bits.give_back();
                State::Stored(len as usize)
            }
            1 => {
                self.tables.load_fixed();
                State::Symbols
            }
            2 => {
                self.tables.fixed = false;
                block_codes::read(bits, &mut self.tables.codes)?;
                State::Symbols
            }
            _ => return Err(InflateError::Invalid),
        };
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use miniz_oxide::deflate::compress_to_vec;

    /// Text, runs and noise, with matches at all distances.
    fn data(len: usize) -> Vec<u8> {
        let byte = |at: usize| match at / 700 % 4 {
            0 => (at % 26) as u8,
            1 => (at as u64 * at as u64 / 7) as u8,
            2 => 0,
            _ => (at / 40_000) as u8 ^ (at % 97) as u8,
        };
        (0..len).map(byte).collect()
    }

    /// Inflates `stream`, with `step` more bytes of input or `room` more bytes of output at each pause.
    fn inflate(stream: &[u8], step: usize, room: usize) -> Result<Vec<u8>, InflateError> {
        let mut inflater = PausingInflater::default();
        let padded = [stream, &[0; LOOKAHEAD]].concat();
        let (mut next, mut end) = (0, 0);
        let mut window = vec![0; HISTORY + room + ROOM];
        let (mut filled, mut kept) = (0, 0);
        let mut result = Vec::new();
        loop {
            let done = inflater.run(&padded[next..end], &mut window, filled);
            next += done.consumed;
            filled = done.filled;
            match done.pause? {
                Pause::Input if end == padded.len() => return Err(InflateError::InputEnds),
                Pause::Input => end = (end + step).min(padded.len()),
                pause => {
                    result.extend_from_slice(&window[kept..filled]);
                    if pause == Pause::End {
                        assert_eq!(next, stream.len(), "the stream ends there");
                        return Ok(result);
                    }
                    kept = filled.min(HISTORY);
                    window.copy_within(filled - kept..filled, 0);
                    filled = kept;
                }
            }
        }
    }

    #[test]
    fn pauses_do_not_show() {
        let (lens, steps): (&[usize], &[usize]) =
            if cfg!(miri) { (&[3000], &[1024]) } else { (&[0, 1, 3000, 70_000, 300_000], &[1, 7, 1024, 1 << 20]) };
        for &len in lens {
            let data = data(len);
            for level in [0, 1, 6] {
                let stream = compress_to_vec(&data, level);
                for &step in steps {
                    for room in [1, 300, 40_000] {
                        let found = inflate(&stream, step, room);
                        assert!(found == Ok(data.clone()), "{len} bytes, level {level}, by {step} to {room}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_stream_that_is_cut_has_no_end() {
        let stream = compress_to_vec(&data(5000), 6);
        for len in 0..stream.len() {
            // Padding zeros may end the stream, but only after the bytes that were given.
            let mut inflater = PausingInflater::default();
            let padded = [&stream[..len], &[0; LOOKAHEAD]].concat();
            let mut window = vec![0; 64 << 10];
            let done = inflater.run(&padded, &mut window, 0);
            assert!(done.pause != Ok(Pause::End) || done.consumed > len, "{len}");
        }
    }
}
