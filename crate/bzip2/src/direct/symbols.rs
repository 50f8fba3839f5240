//! Decodes the symbols of a block to the last column of the transform: bytes by their recency, and runs of the most
//! recent one.

use super::LARGEST_BLOCK;
use super::bits::Bits;
use super::codes::{Code, LONGEST};
use super::header::MOST_CODES;
use super::inverse::column_len;
use super::memory::filled;
use decant_module::Fault;

/// The number of symbols before another code may follow.
const GROUP: u32 = 50;
/// The most groups of a block.
pub(super) const MOST_GROUPS: usize = LARGEST_BLOCK / GROUP as usize + 2;
/// Maximum length of a run that is written as a whole.
const SHORT_RUN: usize = 16;
/// The first symbol that is not part of a run. The ones before it are 1 and 2 at a place of the run's length.
const FIRST_BYTE: u32 = 2;

/// Where the symbols of a block are, and its codes.
pub(super) struct Symbols {
    /// For each group: its code.
    pub(super) selectors: Vec<u8>,
    /// The number of groups.
    pub(super) groups: usize,
    pub(super) codes: Vec<Code>,
    /// The index of the next group, and the symbols left in this one.
    group: usize,
    left: u32,
    /// The symbol for the end of the block.
    end: u32,
    recent: Recent,
    /// The place of the next symbol in the length of a run.
    place: u32,
    pub(super) column: Column,
}

impl Symbols {
    /// Takes the memory for blocks of up to `limit` bytes.
    pub(super) fn new(limit: usize) -> Result<Self, Fault> {
        Ok(Self {
            selectors: filled(MOST_GROUPS, 0)?,
            groups: 0,
            codes: filled(MOST_CODES, Code::EMPTY)?,
            group: 0,
            left: 0,
            end: 0,
            recent: Recent::default(),
            place: 0,
            column: Column { bytes: filled(column_len(limit), 0)?, len: 0, counts: [0; 256], limit },
        })
    }

    /// Begins a block in which the bytes `used` occur.
    pub(super) fn begin(&mut self, used: &[u8]) {
        (self.group, self.left, self.place) = (0, 0, 0);
        self.end = used.len() as u32 + 1;
        self.recent.set(used);
        (self.column.len, self.column.counts) = (0, [0; 256]);
    }

    /// Decodes until the block or the input ends. Returns whether the block has ended.
    pub(super) fn decode(&mut self, bits: &mut Bits, input: &mut &[u8]) -> Result<bool, Fault> {
        let (mut ahead, mut rest) = (*bits, *input);
        let ended = loop {
            if self.left == 0 {
                if self.group == self.groups {
                    return Err(Fault::Invalid);
                }
                (self.group, self.left) = (self.group + 1, GROUP);
            }
            if let Some(ended) = self.decode_group(&mut ahead, &mut rest)? {
                break ended;
            }
        };
        (*bits, *input) = (ahead, rest);
        Ok(ended)
    }

    /// Decodes the rest of a group. Returns whether the block has ended, or `None` if only the group has.
    #[inline(always)]
    fn decode_group(&mut self, bits: &mut Bits, input: &mut &[u8]) -> Result<Option<bool>, Fault> {
        let code = &self.codes[usize::from(self.selectors[self.group - 1])];
        while self.left > 0 {
            let Some(symbol) = next_symbol(code, bits, input)? else { return Ok(Some(false)) };
            if symbol == self.end {
                return Ok(Some(true));
            }
            self.left -= 1;
            if symbol < FIRST_BYTE {
                self.column.put_run(self.recent.first(), (symbol as usize + 1) << self.place)?;
                self.place += 1;
            } else {
                self.column.put(self.recent.take((symbol - 1) as usize))?;
                self.place = 0;
            }
        }
        Ok(None)
    }
}

/// Takes the next symbol. Returns `None` if the input ends before.
#[inline(always)]
fn next_symbol(code: &Code, bits: &mut Bits, input: &mut &[u8]) -> Result<Option<u32>, Fault> {
    bits.refill(input);
    match code.find(bits.held) {
        Ok((symbol, len)) if len <= bits.count => {
            bits.skip(len);
            Ok(Some(symbol))
        }
        Err(fault) if bits.count >= LONGEST as u32 => Err(fault),
        _ => Ok(None),
    }
}

/// The last column of the transform.
pub(super) struct Column {
    /// The bytes, and room that the inverse needs.
    pub(super) bytes: Vec<u8>,
    /// The number of bytes, and how often each occurs.
    pub(super) len: usize,
    pub(super) counts: [u32; 256],
    /// The most bytes.
    limit: usize,
}

impl Column {
    #[inline(always)]
    fn put(&mut self, byte: u8) -> Result<(), Fault> {
        if self.len >= self.limit {
            return Err(Fault::Invalid);
        }
        self.bytes[self.len] = byte;
        self.counts[usize::from(byte)] += 1;
        self.len += 1;
        Ok(())
    }

    #[inline(always)]
    fn put_run(&mut self, byte: u8, len: usize) -> Result<(), Fault> {
        if len > self.limit - self.len {
            return Err(Fault::Invalid);
        }
        // A fixed length is faster. Later bytes overwrite the excess.
        self.bytes[self.len..self.len + if len <= SHORT_RUN { SHORT_RUN } else { len }].fill(byte);
        self.counts[usize::from(byte)] += len as u32;
        self.len += len;
        Ok(())
    }
}

/// Bytes, the most recent one first.
#[derive(Default)]
struct Recent([u64; 32]);

impl Recent {
    /// Sets the first ones. The rest never occur.
    fn set(&mut self, bytes: &[u8]) {
        for (word, bytes) in self.0.iter_mut().zip(bytes.chunks(8)) {
            *word = bytes.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte));
        }
    }

    #[inline(always)]
    fn first(&self) -> u8 {
        self.0[0] as u8
    }

    /// Moves the byte at `index` to the front. Returns it.
    #[inline(always)]
    fn take(&mut self, index: usize) -> u8 {
        let (word, shift) = (index / 8 % 32, index % 8 * 8);
        let last = self.0[word];
        let byte = last >> shift & 0xff;
        let mut moved = byte;
        for word in &mut self.0[..word] {
            let next = *word >> 56;
            *word = *word << 8 | moved;
            moved = next;
        }
        let kept = u64::MAX << shift << 8;
        self.0[word] = last & kept | (last << 8 | moved) & !kept;
        byte as u8
    }
}
