//! Decoding tables of Huffman codes (section 3.2.2).
//!
//! The low bits of the input are the index into the table. The entry there has the meaning and the length of the code.
//! If the code is longer than the index, the entry refers to a subtable, indexed by the following bits.
//!
//! | bits of an entry | literal | length, distance | end of block | subtable | no code |
//! |---|---|---|---|---|---|
//! | 31 | 1 | 0 | 0 | 0 | 0 |
//! | 30-16 | the byte | base | | first entry | |
//! | 15 | 0 | 0 | 1 | 1 | 1 |
//! | 14 | | | 0 | 1 | 0 |
//! | 13 | | | 1 | 0 | 0 |
//! | 12-8 | | bits of the code | | index bits of the subtable | |
//! | 7-0 | bits of the code | code and extra bits | bits of the code | index bits of the table | bits of the code |
//!
//! In a subtable, the length of a code excludes the bits of the table's index.

use super::InflateError;

/// The longest code.
pub(super) const MAX_LEN: usize = 15;
pub(super) const LITERAL_BITS: u32 = 11;
pub(super) const DISTANCE_BITS: u32 = 8;

const LITERAL: u32 = 1 << 31;
/// Marks an entry that is not a literal, length or distance.
const EXCEPTION: u32 = 1 << 15;
const SUBTABLE: u32 = 1 << 14;
const END: u32 = 1 << 13;
/// A symbol without meaning, also for bits that are not a code, which count as a code of one bit.
const NO_CODE: CodeEntry = CodeEntry(EXCEPTION);

/// Masks of the lowest bits, by number of bits. In wasm a load takes less time than a shift.
static LOWEST: [u64; 64] = {
    let mut masks = [0; 64];
    let mut bits = 0;
    while bits < 64 {
        masks[bits] = (1 << bits) - 1;
        bits += 1;
    }
    masks
};

/// Numbers of symbols.
pub(super) const LITERALS: usize = 288;
pub(super) const DISTANCES: usize = 32;

/// An entry of a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct CodeEntry(u32);

impl CodeEntry {
    pub(super) fn is_literal(self) -> bool {
        self.0 & LITERAL != 0
    }

    pub(super) fn literal(self) -> u8 {
        (self.0 >> 16) as u8
    }

    pub(super) fn is_exception(self) -> bool {
        self.0 & EXCEPTION != 0
    }

    pub(super) fn is_subtable(self) -> bool {
        self.0 & SUBTABLE != 0
    }

    pub(super) fn is_end(self) -> bool {
        self.0 & END != 0
    }

    /// The packed entry. Its lowest 6 bits state how many bits of the input the code takes.
    pub(super) fn raw(self) -> u32 {
        self.0
    }

    /// How many bits of the input the code takes.
    pub(super) fn bits(self) -> u32 {
        self.0 & 0xff
    }

    /// The value of a length or distance. The lowest bits of `buffer` must be its code and its extra bits.
    pub(super) fn value(self, buffer: u64) -> usize {
        let code = self.0 >> 8 & 0x1f;
        let with_extra = buffer & LOWEST[self.0 as usize & 63];
        (self.0 >> 16) as usize + (with_extra >> code) as usize
    }

    fn with_code(self, bits: usize) -> Self {
        let bits = bits as u32;
        if self.0 & (LITERAL | EXCEPTION) != 0 {
            return Self(self.0 | bits);
        }
        // So far the entry has the number of extra bits in place of the total.
        Self((self.0 | bits << 8) + bits)
    }
}

/// The entries of symbols, without code lengths.
type Symbols<const N: usize> = [CodeEntry; N];

const fn literals() -> Symbols<LITERALS> {
    let mut entries = [NO_CODE; LITERALS];
    let mut symbol = 0;
    while symbol < 256 {
        entries[symbol] = CodeEntry(LITERAL | (symbol as u32) << 16);
        symbol += 1;
    }
    entries[256] = CodeEntry(EXCEPTION | END);
    // Section 3.2.5: four lengths for each number of extra bits, from 1 on.
    let mut base = 3;
    symbol = 257;
    while symbol < 285 {
        let extra = if symbol < 265 { 0 } else { (symbol as u32 - 261) / 4 };
        entries[symbol] = CodeEntry(base << 16 | extra);
        base += 1 << extra;
        symbol += 1;
    }
    entries[285] = CodeEntry(258 << 16);
    entries
}

const fn distances() -> Symbols<DISTANCES> {
    let mut entries = [NO_CODE; DISTANCES];
    let mut base = 1;
    let mut symbol = 0;
    while symbol < 30 {
        let extra = if symbol < 4 { 0 } else { (symbol as u32 - 2) / 2 };
        entries[symbol] = CodeEntry(base << 16 | extra);
        base += 1 << extra;
        symbol += 1;
    }
    entries
}

const LITERAL_SYMBOLS: Symbols<LITERALS> = literals();
const DISTANCE_SYMBOLS: Symbols<DISTANCES> = distances();

/// A table of `N` entries. The first 2^`BITS` are indexed by the input; subtables follow.
pub(super) struct CodeTable<const N: usize, const BITS: u32>([CodeEntry; N]);

/// Tables with room for the subtables of the worst codes: 2342 and 402 entries, as counted by zlib's program `enough`.
pub(super) type LiteralTable = CodeTable<2342, LITERAL_BITS>;
pub(super) type DistanceTable = CodeTable<402, DISTANCE_BITS>;

impl<const N: usize, const BITS: u32> Default for CodeTable<N, BITS> {
    fn default() -> Self {
        Self([NO_CODE; N])
    }
}

impl LiteralTable {
    pub fn build_literals(&mut self, lens: &[u8]) -> Result<(), InflateError> {
        self.build(lens, &LITERAL_SYMBOLS)
    }
}

impl DistanceTable {
    pub fn build_distances(&mut self, lens: &[u8]) -> Result<(), InflateError> {
        self.build(lens, &DISTANCE_SYMBOLS)
    }
}

impl<const N: usize, const BITS: u32> CodeTable<N, BITS> {
    const MAIN: usize = 1 << BITS;

    /// The entry at the index in the lowest bits of `buffer`.
    #[inline(always)]
    pub(super) fn at(&self, buffer: u64) -> CodeEntry {
        self.0[buffer as usize & (Self::MAIN - 1)]
    }

    /// The entry of a subtable at the index in the lowest bits of `buffer`.
    #[inline(always)]
    pub(super) fn within(&self, subtable: CodeEntry, buffer: u64) -> CodeEntry {
        let bits = subtable.0 >> 8 & 0x1f;
        let index = (subtable.0 >> 16) as usize + (buffer & ((1 << bits) - 1)) as usize;
        self.0.get(index).copied().unwrap_or(NO_CODE)
    }

    /// Builds the table of the code in which each symbol has the length in `lens`, in bits; 0 if it is unused.
    ///
    /// Fails with `Invalid` if the code is over-subscribed, or is incomplete and has more than a single one-bit code:
    /// zlib accepts one symbol of one bit, or none.
    fn build(&mut self, lens: &[u8], symbols: &[CodeEntry]) -> Result<(), InflateError> {
        let (counts, sorted) = sort(lens);
        let longest = counts.iter().rposition(|&count| count > 0).unwrap_or(0);
        let mut unused = 1i32;
        for &count in &counts[1..] {
            unused = unused * 2 - i32::from(count);
            if unused < 0 {
                return Err(InflateError::Invalid);
            }
        }
        if unused > 0 && longest > 1 {
            return Err(InflateError::Invalid);
        }
        let mut sorted = sorted.iter().map(|&symbol| symbols[usize::from(symbol)]);
        // A code, its first bit lowest.
        let mut code = 0;
        // In an incomplete code, unused bits count as a code of one bit.
        self.0[0] = NO_CODE.with_code(1);
        for (len, &count) in counts.iter().enumerate().take(BITS as usize + 1).skip(1) {
            // Entries of shorter codes repeat for each further bit.
            self.0.copy_within(..1 << (len - 1), 1 << (len - 1));
            for entry in sorted.by_ref().take(usize::from(count)) {
                self.0[code] = entry.with_code(len);
                code = next_code(code, len);
            }
        }
        self.build_subtables(code, counts, longest, sorted)
    }

    fn build_subtables(
        &mut self,
        mut code: usize,
        mut counts: [u16; MAX_LEN + 1],
        longest: usize,
        mut sorted: impl Iterator<Item = CodeEntry>,
    ) -> Result<(), InflateError> {
        let main = BITS as usize;
        let mut end = Self::MAIN;
        let (mut prefix, mut start) = (usize::MAX, 0);
        for len in main + 1..=longest {
            while counts[len] > 0 {
                let entry = sorted.next().ok_or(InflateError::Invalid)?;
                if code & (Self::MAIN - 1) != prefix {
                    prefix = code & (Self::MAIN - 1);
                    start = end;
                    let bits = subtable_bits(main, len, longest, &counts);
                    end = start + (1 << bits);
                    let subtable = EXCEPTION | SUBTABLE | (start as u32) << 16 | (bits as u32) << 8 | BITS;
                    self.0[prefix] = CodeEntry(subtable);
                }
                let part = self.0.get_mut(start..end).ok_or(InflateError::Invalid)?;
                for place in part[code >> main..].iter_mut().step_by(1 << (len - main)) {
                    *place = entry.with_code(len - main);
                }
                code = next_code(code, len);
                counts[len] -= 1;
            }
        }
        Ok(())
    }
}

/// Returns the number of symbols for each code length, and the used symbols, shortest codes first.
fn sort(lens: &[u8]) -> ([u16; MAX_LEN + 1], [u16; LITERALS]) {
    let mut counts = [0; MAX_LEN + 1];
    for &len in lens {
        counts[usize::from(len)] += 1;
    }
    counts[0] = 0;
    let mut places = [0; MAX_LEN + 1];
    for len in 1..MAX_LEN {
        places[len + 1] = places[len] + counts[len];
    }
    let mut sorted = [0; LITERALS];
    for (symbol, &len) in (0..).zip(lens) {
        if len > 0 {
            let place = &mut places[usize::from(len)];
            sorted[usize::from(*place)] = symbol;
            *place += 1;
        }
    }
    (counts, sorted)
}

/// Returns the code after `code`, both of `len` bits with the first bit lowest; the last one returns itself.
fn next_code(code: usize, len: usize) -> usize {
    let zeros = !code & ((1 << len) - 1);
    if zeros == 0 {
        return code;
    }
    let bit = 1 << zeros.ilog2();
    code & (bit - 1) | bit
}

/// Number of index bits of a subtable whose first code has `len` bits; `counts` are of the remaining codes.
fn subtable_bits(main: usize, len: usize, longest: usize, counts: &[u16; MAX_LEN + 1]) -> usize {
    let mut bits = len - main;
    let mut used = usize::from(counts[len]);
    while used < 1 << bits && main + bits < longest {
        bits += 1;
        used = used * 2 + usize::from(counts[main + bits]);
    }
    bits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_and_distances_are_those_of_the_specification() {
        // Section 3.2.5: (symbol, base, extra bits)
        let lengths =
            [(257, 3, 0), (264, 10, 0), (265, 11, 1), (268, 17, 1), (269, 19, 2), (284, 227, 5), (285, 258, 0)];
        for (symbol, base, extra) in lengths {
            assert_eq!(LITERAL_SYMBOLS[symbol], CodeEntry(base << 16 | extra), "{symbol}");
        }
        let distances = [(0, 1, 0), (3, 4, 0), (4, 5, 1), (5, 7, 1), (28, 16385, 13), (29, 24577, 13)];
        for (symbol, base, extra) in distances {
            assert_eq!(DISTANCE_SYMBOLS[symbol], CodeEntry(base << 16 | extra), "{symbol}");
        }
    }

    #[test]
    fn codes_that_zlib_refuses_are_refused() {
        // (lengths, whether they make a code)
        let cases: &[(&[u8], bool)] = &[
            (&[], true),
            (&[0, 0], true),
            (&[1], true),
            (&[0, 1], true),
            (&[2], false),
            (&[1, 1], true),
            (&[1, 1, 1], false),
            (&[1, 2, 2], true),
            (&[1, 2], false),
            (&[2, 2, 2], false),
            (&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 15], true),
            (&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15], false),
        ];
        for (lens, good) in cases {
            let built = DistanceTable::default().build_distances(lens);
            assert_eq!(built.is_ok(), *good, "{lens:?}");
        }
    }

    /// Every code is looked up correctly, whatever bits follow it.
    #[test]
    fn every_code_is_found() {
        let mut table = LiteralTable::default();
        // Lengths 1 to 14, and 15 twice; and the fixed code, with lengths of 7 to 9 bits.
        let skewed: Vec<u8> = (1..=15).chain([15]).collect();
        let flat = [vec![8; 144], vec![9; 112], vec![7; 24], vec![8; 8]].concat();
        for lens in [skewed, flat] {
            table.build_literals(&lens).unwrap();
            let mut code = 0u32;
            for len in 1..=15u8 {
                code <<= 1;
                for symbol in (0..lens.len()).filter(|&symbol| lens[symbol] == len) {
                    let reversed = u64::from(code.reverse_bits() >> (32 - u32::from(len)));
                    for after in [0, u64::MAX] {
                        let buffer = after << len | reversed;
                        let mut entry = table.at(buffer);
                        let mut bits = 0;
                        if entry.is_exception() && entry.is_subtable() {
                            bits = entry.bits();
                            entry = table.within(entry, buffer >> bits);
                        }
                        let expected = LITERAL_SYMBOLS[symbol].with_code(usize::from(len) - bits as usize);
                        assert_eq!(entry, expected, "symbol {symbol}");
                    }
                    code += 1;
                }
            }
        }
    }
}
