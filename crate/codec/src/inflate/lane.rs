//! The state of one stream being decoded.

use super::bit_reader::BitReader;
use super::careful::{self, End};
use super::{InflateError, Stream, StreamEnd, Tables, block_codes};

/// More than the output of one turn of the fast loop, in bytes: two literals and a match, which is copied past its end
/// by less than two words of 16 bytes.
pub(super) const OUTPUT_ROOM: usize = 3 + 258 + 32;

/// The structure at the position of a stream.
pub(super) enum LaneState {
    /// A block header, or the end after the last block.
    Block,
    /// Symbols, for `fast` to decode.
    Symbols,
    /// Symbols too near the end of the input or output for `fast`, for `careful` to decode.
    LastSymbols,
    /// None: the output is full, and the stream has more.
    NoRoom,
    /// None: the last block has ended.
    End,
    /// None: the stream violates the format.
    Invalid,
}

pub(super) struct Lane<'a> {
    pub(super) bits: BitReader<'a>,
    pub(super) output: &'a mut [u8],
    /// Number of output bytes written.
    pub(super) filled: usize,
    pub(super) state: LaneState,
    /// Whether the block is the last one.
    is_last: bool,
}

impl<'a> Lane<'a> {
    pub(super) fn new(Stream { input, output }: Stream<'a>) -> Self {
        Self { bits: BitReader::new(input), output, filled: 0, state: LaneState::Block, is_last: false }
    }

    /// Creates a lane inside a block, with `filled` bytes of the output written.
    pub(super) fn inside(bits: BitReader<'a>, output: &'a mut [u8], filled: usize) -> Self {
        Self { bits, output, filled, state: LaneState::Symbols, is_last: false }
    }

    /// The state of the stream. The output must be full.
    pub(super) fn end(&self) -> StreamEnd {
        match self.state {
            LaneState::End => StreamEnd::At(self.bits.next - (self.bits.count / 8) as usize),
            LaneState::NoRoom => StreamEnd::HasMore,
            LaneState::Block | LaneState::Symbols | LaneState::LastSymbols | LaneState::Invalid => StreamEnd::InputEnds,
        }
    }

    pub(super) fn into_stream(self) -> Stream<'a> {
        Stream { input: self.bits.input, output: self.output }
    }

    /// Advances to the next symbols for `fast`, and returns true with their codes in `tables`. Returns false if the
    /// output is full and zlib would accept what follows (see [`Stream`]).
    pub(super) fn advance(&mut self, tables: &mut Tables) -> Result<bool, InflateError> {
        match self.advance_to_symbols(tables) {
            Err(InflateError::InputEnds) if self.is_full() => Ok(false),
            result => result,
        }
    }

    fn advance_to_symbols(&mut self, tables: &mut Tables) -> Result<bool, InflateError> {
        loop {
            match self.state {
                LaneState::Block if self.is_last && !self.is_full() => return Err(InflateError::Invalid),
                LaneState::Block if self.is_last => self.state = LaneState::End,
                LaneState::Block => self.begin_block(tables)?,
                LaneState::Symbols => return Ok(true),
                LaneState::LastSymbols => {
                    match careful::run(&mut self.bits, self.output, &mut self.filled, &tables.codes)? {
                        End::Block => self.state = LaneState::Block,
                        End::NoRoom => self.state = LaneState::NoRoom,
                    }
                }
                LaneState::NoRoom | LaneState::End => return Ok(false),
                LaneState::Invalid => return Err(InflateError::Invalid),
            }
        }
    }

    /// Whether the output has room for a whole turn of `fast`.
    pub(super) fn has_room(&self) -> bool {
        self.output.len() - self.filled >= OUTPUT_ROOM
    }

    /// Copies up to `len` stored bytes, as many as the input has and the output has room for. Returns their number. The
    /// position must be aligned, with an empty bit buffer.
    pub(super) fn copy(&mut self, len: usize) -> usize {
        let data = &self.bits.input[self.bits.next..];
        let room = &mut self.output[self.filled..];
        let len = len.min(data.len()).min(room.len());
        room[..len].copy_from_slice(&data[..len]);
        self.filled += len;
        self.bits.skip_bytes(len);
        len
    }

    fn is_full(&self) -> bool {
        self.filled == self.output.len()
    }

    /// Reads a block header (section 3.2.3), and copies a stored block.
    fn begin_block(&mut self, tables: &mut Tables) -> Result<(), InflateError> {
        self.is_last = self.bits.take(1)? == 1;
        match self.bits.take(2)? {
            0 => return self.copy_stored(),
            1 => tables.load_fixed(),
            2 => {
                tables.fixed = false;
                block_codes::read(&mut self.bits, &mut tables.codes)?;
            }
            _ => return Err(InflateError::Invalid),
        }
        self.state = LaneState::Symbols;
        Ok(())
    }

    /// Copies a stored block (section 3.2.4).
    fn copy_stored(&mut self) -> Result<(), InflateError> {
        let input = self.bits.align();
        let (head, data) = input.split_first_chunk::<4>().ok_or(InflateError::InputEnds)?;
        let [len, complement] = [[head[0], head[1]], [head[2], head[3]]].map(u16::from_le_bytes);
        if len != !complement {
            return Err(InflateError::Invalid);
        }
        let room = &mut self.output[self.filled..];
        let len = usize::from(len);
        // The input may lack bytes that the output has no room for.
        let wanted = len.min(room.len());
        room[..wanted].copy_from_slice(data.get(..wanted).ok_or(InflateError::InputEnds)?);
        self.filled += wanted;
        self.bits.skip_bytes(4 + wanted);
        if wanted < len {
            self.state = LaneState::NoRoom;
        }
        Ok(())
    }
}
