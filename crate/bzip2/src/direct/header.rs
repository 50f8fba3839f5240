//! The header of a block.

use super::bits::Bits;
use super::codes::{LONGEST, MOST_SYMBOLS};
use super::symbols::{MOST_GROUPS, Symbols};
use decant_module::Fault;

/// The most codes of a block.
pub(super) const MOST_CODES: usize = 6;
/// The number of bytes in a sixteenth of all of them.
const SIXTEENTH: u32 = 16;

/// What comes next in a header.
#[derive(Clone, Copy, Default)]
enum Next {
    /// Whether the block is randomised, and the row of its text.
    #[default]
    Origin,
    /// Which sixteenths of all bytes have bytes that occur.
    Sixteenths,
    /// Which bytes of this sixteenth occur.
    Bytes(u32),
    /// The number of codes and of groups.
    Numbers,
    /// The next bit of the recency of a group's code.
    Recency,
    /// The length of the first symbol's code.
    FirstLen,
    /// Whether the length changes before the next symbol.
    Change,
    /// Whether it becomes less.
    Direction,
}

/// The header of a block as far as it was read.
pub(super) struct Header {
    next: Next,
    pub(super) is_randomised: bool,
    pub(super) origin: u32,
    sixteenths: u32,
    /// The bytes that occur, and their number.
    used: [u8; 256],
    used_len: usize,
    /// The number of codes.
    codes: usize,
    /// The number of groups that are stated.
    groups: usize,
    /// The index of the current group or code.
    index: usize,
    /// The codes, the most recent one first, and the recency of the current one.
    recent: [u8; MOST_CODES],
    recency: usize,
    /// The lengths of the current code, the number of those that were read, and the current one.
    lens: [u8; MOST_SYMBOLS],
    lens_len: usize,
    len: u8,
}

impl Default for Header {
    fn default() -> Self {
        Self {
            next: Next::default(),
            is_randomised: false,
            origin: 0,
            sixteenths: 0,
            used: [0; 256],
            used_len: 0,
            codes: 0,
            groups: 0,
            index: 0,
            recent: [0; MOST_CODES],
            recency: 0,
            lens: [0; MOST_SYMBOLS],
            lens_len: 0,
            len: 0,
        }
    }
}

impl Header {
    /// Reads until the header or the input ends. Returns whether the header has ended: then the block in `symbols` has
    /// begun.
    pub(super) fn read(&mut self, symbols: &mut Symbols, bits: &mut Bits, input: &mut &[u8]) -> Result<bool, Fault> {
        loop {
            bits.refill(input);
            let Some(value) = bits.take(self.next.len(), input) else { return Ok(false) };
            match self.next {
                Next::Origin => self.start(value),
                Next::Sixteenths => {
                    self.sixteenths = value;
                    self.sixteenth(0)?;
                }
                Next::Bytes(sixteenth) => self.bytes(sixteenth, value)?,
                Next::Numbers => self.numbers(value)?,
                Next::Recency => self.recency(value, symbols)?,
                Next::FirstLen => self.set_len(value as u8)?,
                Next::Change if value == 1 => self.next = Next::Direction,
                Next::Direction => self.set_len(if value == 1 { self.len - 1 } else { self.len + 1 })?,
                Next::Change => {
                    if self.end_len(symbols) {
                        symbols.begin(&self.used[..self.used_len]);
                        self.next = Next::default();
                        return Ok(true);
                    }
                }
            }
        }
    }

    fn start(&mut self, value: u32) {
        (self.is_randomised, self.origin) = (value >> 24 == 1, value & 0xff_ffff);
        (self.used_len, self.next) = (0, Next::Sixteenths);
    }

    /// Moves to the first sixteenth from `index` on that has bytes, or to what follows.
    fn sixteenth(&mut self, index: u32) -> Result<(), Fault> {
        let found = (index..SIXTEENTH).find(|index| self.sixteenths >> (SIXTEENTH - 1 - index) & 1 == 1);
        self.next = found.map_or(Next::Numbers, Next::Bytes);
        if found.is_none() && self.used_len == 0 { Err(Fault::Invalid) } else { Ok(()) }
    }

    fn bytes(&mut self, sixteenth: u32, value: u32) -> Result<(), Fault> {
        for index in (0..SIXTEENTH).filter(|index| value >> (SIXTEENTH - 1 - index) & 1 == 1) {
            self.used[self.used_len] = (sixteenth * SIXTEENTH + index) as u8;
            self.used_len += 1;
        }
        self.sixteenth(sixteenth + 1)
    }

    fn numbers(&mut self, value: u32) -> Result<(), Fault> {
        (self.codes, self.groups) = ((value >> 15) as usize, (value & 0x7fff) as usize);
        (self.index, self.recency, self.next) = (0, 0, Next::Recency);
        self.recent = std::array::from_fn(|code| code as u8);
        if (2..=MOST_CODES).contains(&self.codes) && self.groups > 0 { Ok(()) } else { Err(Fault::Invalid) }
    }

    /// Groups that exceed the most of them are read and ignored: some programs write them.
    fn recency(&mut self, value: u32, symbols: &mut Symbols) -> Result<(), Fault> {
        if value == 1 {
            self.recency += 1;
            return if self.recency < self.codes { Ok(()) } else { Err(Fault::Invalid) };
        }
        self.recent[..=self.recency].rotate_right(1);
        if let Some(selector) = symbols.selectors.get_mut(self.index) {
            *selector = self.recent[0];
        }
        (self.index, self.recency) = (self.index + 1, 0);
        if self.index == self.groups {
            symbols.groups = self.groups.min(MOST_GROUPS);
            (self.index, self.lens_len, self.next) = (0, 0, Next::FirstLen);
        }
        Ok(())
    }

    fn set_len(&mut self, len: u8) -> Result<(), Fault> {
        (self.len, self.next) = (len, Next::Change);
        if (1..=LONGEST).contains(&usize::from(len)) { Ok(()) } else { Err(Fault::Invalid) }
    }

    /// Ends the length of a symbol's code. Returns whether that was the last one of the block.
    fn end_len(&mut self, symbols: &mut Symbols) -> bool {
        self.lens[self.lens_len] = self.len;
        self.lens_len += 1;
        if self.lens_len < self.used_len + 2 {
            return false;
        }
        symbols.codes[self.index].set(&self.lens[..self.lens_len]);
        (self.index, self.lens_len, self.next) = (self.index + 1, 0, Next::FirstLen);
        self.index == self.codes
    }
}

impl Next {
    /// Its length in bits.
    fn len(self) -> u32 {
        match self {
            Self::Origin => 25,
            Self::Sixteenths | Self::Bytes(_) => SIXTEENTH,
            Self::Numbers => 18,
            Self::FirstLen => 5,
            Self::Recency | Self::Change | Self::Direction => 1,
        }
    }
}
