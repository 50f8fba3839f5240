//! Generates Huffman codes of limited length from symbol frequencies.

/// Maximum code length in any alphabet, in bits.
const LONGEST: usize = 15;
/// Number of symbols in the largest alphabet.
const MOST: usize = 288;
/// Number of bits for a symbol that shares a word with its frequency.
const SYMBOL_BITS: u32 = 9;

/// A canonical code (section 3.2.2) for `N` symbols.
#[derive(Clone)]
pub(super) struct Code<const N: usize> {
    /// Length of each symbol's code, in bits; 0 if it is unused.
    pub(super) lens: [u8; N],
    /// Each symbol's code, its first bit lowest.
    pub(super) bits: [u16; N],
}

impl<const N: usize> Default for Code<N> {
    fn default() -> Self {
        Self { lens: [0; N], bits: [0; N] }
    }
}

impl<const N: usize> Code<N> {
    /// Generates a code of at most `longest` bits per symbol. Frequencies must be below 2^23. If fewer than two symbols
    /// occur, two get a code of one bit, since some decoders reject incomplete codes.
    pub(super) fn of(frequencies: &[u32; N], longest: usize) -> Self {
        let mut sorted = [0; MOST];
        let mut used = 0;
        for (symbol, &frequency) in frequencies.iter().enumerate().filter(|(_, frequency)| **frequency > 0) {
            sorted[used] = frequency << SYMBOL_BITS | symbol as u32;
            used += 1;
        }
        let mut lens = [0; N];
        let symbol = |entry: u32| (entry & ((1 << SYMBOL_BITS) - 1)) as usize;
        if used < 2 {
            let only = if used == 0 { 0 } else { symbol(sorted[0]) };
            (lens[only], lens[usize::from(only == 0)]) = (1, 1);
            return Self::with_lens(lens);
        }
        let sorted = &mut sorted[..used];
        sorted.sort_unstable();
        let mut counts = lengths(sorted, longest);
        let mut len = longest;
        for &entry in sorted.iter() {
            while counts[len] == 0 {
                len -= 1;
            }
            counts[len] -= 1;
            lens[symbol(entry)] = len as u8;
        }
        Self::with_lens(lens)
    }

    /// Generates the code with these lengths, which must be complete.
    pub(super) fn with_lens(lens: [u8; N]) -> Self {
        let mut counts = [0u16; LONGEST + 1];
        for &len in lens.iter().filter(|len| **len > 0) {
            counts[usize::from(len)] += 1;
        }
        let mut next = [0u16; LONGEST + 1];
        for len in 1..=LONGEST {
            next[len] = (next[len - 1] + counts[len - 1]) << 1;
        }
        let mut bits = [0; N];
        for (symbol, &len) in lens.iter().enumerate().filter(|(_, len)| **len > 0) {
            bits[symbol] = next[usize::from(len)].reverse_bits() >> (16 - len);
            next[usize::from(len)] += 1;
        }
        Self { lens, bits }
    }

    /// Total number of bits of all occurrences.
    pub(super) fn cost(&self, frequencies: &[u32; N]) -> u64 {
        self.lens.iter().zip(frequencies).map(|(&len, &frequency)| u64::from(len) * u64::from(frequency)).sum()
    }
}

/// Returns the number of codes of each length in an optimal code for `sorted`: at least two words, ascending, each a
/// frequency above `SYMBOL_BITS` lower bits. Codes longer than `longest` are shortened, and shorter ones lengthened to
/// compensate.
fn lengths(sorted: &[u32], longest: usize) -> [u32; LONGEST + 1] {
    // Inner nodes in the order of creation, which is that of their frequencies.
    let mut frequencies = [0; MOST];
    let mut parents = [0; MOST];
    let (mut leaf, mut inner) = (0, 0);
    let root = sorted.len() - 2;
    for node in 0..=root {
        for _ in 0..2 {
            let of_leaf = sorted.get(leaf).map(|entry| entry >> SYMBOL_BITS);
            if of_leaf.is_some_and(|frequency| inner == node || frequency <= frequencies[inner]) {
                frequencies[node] += of_leaf.unwrap_or(0);
                leaf += 1;
            } else {
                frequencies[node] += frequencies[inner];
                parents[inner] = node;
                inner += 1;
            }
        }
    }
    let mut depths = [0; MOST];
    let mut counts = [0; LONGEST + 1];
    counts[1] = 2;
    for node in (0..root).rev() {
        // The node replaces a code by two that are one bit longer.
        depths[node] = depths[parents[node]] + 1;
        let mut depth = depths[node];
        if depth >= longest {
            depth = longest - 1;
            while counts[depth] == 0 {
                depth -= 1;
            }
        }
        counts[depth] -= 1;
        counts[depth + 1] += 2;
    }
    counts
}
