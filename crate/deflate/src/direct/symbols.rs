//! The alphabets of deflate (section 3.2.5).

/// Maximum distance of a match, in bytes.
pub(super) const WINDOW: usize = 32_768;
/// The shortest match, in bytes.
pub(super) const SHORTEST_MATCH: usize = 3;
/// The longest match, in bytes.
pub(super) const LONGEST_MATCH: usize = 258;

/// Number of symbols for literals, the end of a block and lengths; two of them are unused.
pub(super) const LITERALS: usize = 288;
/// Number of symbols for distances; two of them are unused.
pub(super) const DISTANCES: usize = 32;
/// The symbol that ends a block.
pub(super) const END: usize = 256;
/// The first symbol for lengths.
pub(super) const FIRST_LENGTH: usize = 257;

/// Number of extra bits of each symbol from `FIRST_LENGTH`.
pub(super) const LENGTH_EXTRA: [u8; 29] =
    [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0];

/// The shortest length of each symbol from `FIRST_LENGTH`.
const LENGTH_BASE: [u16; 29] = {
    let mut base = [0; 29];
    let mut len = SHORTEST_MATCH as u16;
    let mut at = 0;
    while at < 28 {
        base[at] = len;
        len += 1 << LENGTH_EXTRA[at];
        at += 1;
    }
    // The longest match has a separate symbol.
    base[28] = LONGEST_MATCH as u16;
    base
};

/// The symbol of each length up to the longest, minus `FIRST_LENGTH`.
const LENGTH_SYMBOLS: [u8; LONGEST_MATCH + 1] = {
    let mut symbols = [0; LONGEST_MATCH + 1];
    let mut at = 0;
    while at < 29 {
        let mut len = LENGTH_BASE[at] as usize;
        while len <= LONGEST_MATCH {
            symbols[len] = at as u8;
            len += 1;
        }
        at += 1;
    }
    symbols
};

#[inline(always)]
pub(super) fn length_symbol(len: usize) -> usize {
    FIRST_LENGTH + usize::from(LENGTH_SYMBOLS[len])
}

/// Returns the value of a length's extra bits.
pub(super) fn length_extra(len: usize) -> u16 {
    len as u16 - LENGTH_BASE[usize::from(LENGTH_SYMBOLS[len])]
}

#[inline(always)]
pub(super) fn distance_symbol(distance: usize) -> usize {
    let below = distance as u32 - 1;
    if below < 2 {
        return below as usize;
    }
    let top = 31 - below.leading_zeros();
    (2 * top + (below >> (top - 1) & 1)) as usize
}

/// Returns the number of extra bits of a distance symbol.
#[inline(always)]
pub(super) fn distance_extra_bits(symbol: usize) -> u32 {
    (symbol as u32 / 2).saturating_sub(1)
}

/// Returns the value of a distance's `count` extra bits.
#[inline(always)]
pub(super) fn distance_extra(distance: usize, count: u32) -> u64 {
    (distance as u64 - 1) & ((1 << count) - 1)
}
