//! The prefix codes of a block.

use decant_module::Fault;

/// The longest code, in bits.
pub(super) const LONGEST: usize = 20;
/// The most symbols that a code has: two for runs, one for each byte but the first, one for the end.
pub(super) const MOST_SYMBOLS: usize = 258;
/// Codes up to this length are looked up at once.
const SHORT: usize = 10;
/// The bits for the length in an entry of `short`.
const LEN_BITS: u32 = 5;

/// A code. Codes of each length are consecutive, and symbols in order within a length.
#[derive(Clone)]
pub(super) struct Code {
    /// For the next bits: a symbol and the length of its code; 0 if that is longer.
    short: [u16; 1 << SHORT],
    /// For each length: the first of the next bits, as a number, that belong to longer codes.
    end: [u32; LONGEST + 1],
    /// For each length: the first code less its index in `symbols`.
    offset: [i32; LONGEST + 1],
    /// The symbols in the order of their codes.
    symbols: [u16; MOST_SYMBOLS],
}

impl Code {
    pub(super) const EMPTY: Self =
        Self { short: [0; 1 << SHORT], end: [0; LONGEST + 1], offset: [0; LONGEST + 1], symbols: [0; MOST_SYMBOLS] };

    /// Sets the code with these lengths. They may leave bits without a symbol, and the last symbols without bits.
    pub(super) fn set(&mut self, lens: &[u8]) {
        self.short.fill(0);
        let (mut code, mut index) = (0, 0);
        for len in 1..=LONGEST {
            self.offset[len] = code as i32 - index as i32;
            for (symbol, _) in lens.iter().enumerate().filter(|(_, found)| usize::from(**found) == len) {
                self.symbols[index] = symbol as u16;
                index += 1;
                if len <= SHORT {
                    let entry = (symbol as u16) << LEN_BITS | len as u16;
                    let (from, to) = (code << (SHORT - len), (code + 1) << (SHORT - len));
                    self.short.get_mut(from..to).unwrap_or_default().fill(entry);
                }
                code += 1;
            }
            self.end[len] = (code << (LONGEST - len)) as u32;
            code *= 2;
        }
    }

    /// Returns the symbol that begins `bits`, the first bit highest, and the length of its code.
    #[inline(always)]
    pub(super) fn find(&self, bits: u64) -> Result<(u32, u32), Fault> {
        let entry = u32::from(self.short[(bits >> (64 - SHORT)) as usize]);
        if entry != 0 {
            return Ok((entry >> LEN_BITS, entry & ((1 << LEN_BITS) - 1)));
        }
        self.find_long((bits >> (64 - LONGEST)) as u32)
    }

    #[inline(never)]
    fn find_long(&self, bits: u32) -> Result<(u32, u32), Fault> {
        let len = (SHORT + 1..=LONGEST).find(|&len| bits < self.end[len]).ok_or(Fault::Invalid)?;
        let index = (bits >> (LONGEST - len)) as i32 - self.offset[len];
        let symbol = self.symbols.get(index as usize).ok_or(Fault::Invalid)?;
        Ok((u32::from(*symbol), len as u32))
    }
}
