//! One stream under way: what was read of it, what was written, and what comes next.

use super::bits::Bits;
use super::{InflateError, Stream, Tables, careful, header};

/// What comes next in a stream.
pub(super) enum Next {
    /// The header of a block, or nothing.
    Block,
    /// Symbols, for `fast` to decode.
    Symbols,
    /// Symbols so near the end of the input or the output that `careful` has to decode them.
    LastSymbols,
    /// Nothing: it breaks the rules.
    Invalid,
}

pub(super) struct Lane<'a> {
    pub bits: Bits<'a>,
    pub output: &'a mut [u8],
    /// How much of the output is written, in bytes.
    pub filled: usize,
    pub next: Next,
    /// Whether the block is the last one.
    is_last: bool,
}

impl<'a> Lane<'a> {
    pub fn new(Stream { input, output }: Stream<'a>) -> Self {
        Self { bits: Bits::new(input), output, filled: 0, next: Next::Block, is_last: false }
    }

    pub fn into_stream(self) -> Stream<'a> {
        Stream { input: self.bits.input, output: self.output }
    }

    /// Goes on to the next symbols for `fast`, whose tables then are in `tables`; `false` once the output is full.
    pub fn advance(&mut self, tables: &mut Tables) -> Result<bool, InflateError> {
        loop {
            match self.next {
                Next::Block if self.filled == self.output.len() => return Ok(false),
                Next::Block if self.is_last => return Err(InflateError::Invalid),
                Next::Block => self.begin_block(tables)?,
                Next::Symbols => return Ok(true),
                Next::LastSymbols => {
                    careful::run(&mut self.bits, self.output, &mut self.filled, &tables.codes)?;
                    self.next = Next::Block;
                }
                Next::Invalid => return Err(InflateError::Invalid),
            }
        }
    }

    /// Reads the header of a block (section 3.2.3), and all of one that is not compressed.
    fn begin_block(&mut self, tables: &mut Tables) -> Result<(), InflateError> {
        self.is_last = self.bits.take(1)? == 1;
        match self.bits.take(2)? {
            0 => return self.copy_stored(),
            1 => tables.load_fixed(),
            2 => {
                tables.fixed = false;
                header::read(&mut self.bits, &mut tables.codes)?;
            }
            _ => return Err(InflateError::Invalid),
        }
        self.next = Next::Symbols;
        Ok(())
    }

    /// A block that is not compressed (section 3.2.4).
    fn copy_stored(&mut self) -> Result<(), InflateError> {
        let rest = self.bits.align();
        let (head, data) = rest.split_first_chunk::<4>().ok_or(InflateError::InputEnds)?;
        let [len, complement] = [[head[0], head[1]], [head[2], head[3]]].map(u16::from_le_bytes);
        if len != !complement {
            return Err(InflateError::Invalid);
        }
        let room = &mut self.output[self.filled..];
        // What has no room is not asked for.
        let wanted = usize::from(len).min(room.len());
        room[..wanted].copy_from_slice(data.get(..wanted).ok_or(InflateError::InputEnds)?);
        self.filled += wanted;
        self.bits.skip_bytes(4 + wanted);
        Ok(())
    }
}
