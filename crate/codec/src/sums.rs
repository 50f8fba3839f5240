//! Sums of hashes, which identify the bytes of a part of a disk however it is divided.

use crate::is_zero;
use xxhash_rust::xxh3::xxh3_128_with_seed;

/// What is hashed at a time, in bytes.
pub const BLOCK: usize = 4096;

/// Multiplied by the number of a block: consecutive blocks get seeds that have nothing in common.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// The sum of a hash for each block of `bytes` that is not all zeros. `first` is the number of the first block in the disk; the last one may be
/// short, as at the end of a disk, and counts as if zeros followed it. The sums of two parts add up to that of both.
pub fn sum_of(bytes: &[u8], first: u64, seed: u64) -> u128 {
    let hash = |(block, number): (&[u8], u64)| {
        let seed = seed.wrapping_add(number.wrapping_mul(SPREAD));
        if is_zero(block) { 0 } else { xxh3_128_with_seed(block, seed) }
    };
    let (whole, rest) = bytes.as_chunks::<BLOCK>();
    let sum = whole.iter().map(|block| &block[..]).zip(first..).map(hash).fold(0, u128::wrapping_add);
    if rest.is_empty() {
        return sum;
    }
    let mut last = [0; BLOCK];
    last[..rest.len()].copy_from_slice(rest);
    sum.wrapping_add(hash((&last, first + whole.len() as u64)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn disk(blocks: usize) -> Vec<u8> {
        (0..blocks * BLOCK).map(|at| if at / BLOCK % 3 == 1 { 0 } else { ((at * at) >> 7) as u8 }).collect()
    }

    #[test]
    fn the_sum_does_not_depend_on_how_the_disk_is_divided() {
        let bytes = disk(9);
        let whole = sum_of(&bytes, 5, 7);
        for cut in 0..9 {
            let (a, b) = bytes.split_at(cut * BLOCK);
            assert_eq!(sum_of(a, 5, 7).wrapping_add(sum_of(b, 5 + cut as u64, 7)), whole, "{cut}");
        }
        assert_eq!(sum_of(&bytes[..BLOCK + 9], 5, 7), sum_of(&bytes[..2 * BLOCK], 5, 7), "zeros after the end");
        assert_eq!(sum_of(&[0; 3 * BLOCK], 0, 7), 0);
        assert_eq!(sum_of(&[], 0, 7), 0);
    }

    #[test]
    fn each_change_shows() {
        let bytes = disk(4);
        let sum = |bytes: &[u8]| sum_of(bytes, 0, 7);
        for bit in [0, 1, 8 * BLOCK, 8 * BLOCK + 9, 8 * bytes.len() - 1] {
            let mut changed = bytes.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            assert_ne!(sum(&changed), sum(&bytes), "bit {bit}");
        }
        let mut swapped = bytes.clone();
        swapped[..BLOCK].copy_from_slice(&bytes[2 * BLOCK..3 * BLOCK]);
        swapped[2 * BLOCK..3 * BLOCK].copy_from_slice(&bytes[..BLOCK]);
        assert_ne!(sum(&swapped), sum(&bytes));
        assert_ne!(sum_of(&bytes, 1, 7), sum(&bytes), "moved by a block");
        assert_ne!(sum_of(&bytes, 0, 8), sum(&bytes), "another seed");
    }
}
