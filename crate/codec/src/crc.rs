//! The CRC-32 of gzip (RFC 1952, section 8), of bytes, of zeros, and of concatenations, and CRC-32C (RFC 3720, section
//! 12.1).
//!
//! A message is a polynomial over GF(2), its first bit the highest power; its CRC is the remainder by [`POLYNOMIAL`].
//! Remainders in this file are without the inversions at the start and end of a CRC.

use std::sync::LazyLock;

/// x^32 + x^26 + ... + 1 without x^32. The highest bit is x^0.
const POLYNOMIAL: u32 = 0xedb8_8320;
/// That of CRC-32C.
const CASTAGNOLI: u32 = 0x82f6_3b78;

/// The polynomial 1.
const ONE: u32 = 1 << 31;

/// Remainders of all one-byte messages times x^32. Computed on first use: they would be a kilobyte to load.
static BYTES: LazyLock<Remainders> = LazyLock::new(|| remainders(POLYNOMIAL));
static CASTAGNOLI_BYTES: LazyLock<Remainders> = LazyLock::new(|| remainders(CASTAGNOLI));

type Remainders = [u32; 256];

fn remainders(polynomial: u32) -> Remainders {
    std::array::from_fn(|byte| (0..8).fold(byte as u32, |value, _| times_x(value, polynomial)))
}

/// Length of a row in bytes: 512 bits, a power of two.
const ROW: usize = 64;

/// x^203 + x^186 + x^123 + x^85 + x^79 + 1 is a multiple of the polynomial, and so is the same sum in x^512, since
/// squaring a sum doubles its exponents. So the remainder does not change if a row is removed from a message and added
/// to the rows at these distances after it.
const DISTANCES: [usize; 5] = [17, 80, 118, 124, 203];
/// The longest of these distances.
const REACH: usize = 203;
/// Number of rows kept: a power of two above `REACH`.
const KEPT: usize = 256;
/// Minimum length of a message that is folded, in bytes.
const WORTH_FOLDING: usize = 4 * REACH * ROW;

type Row = [u64; ROW / 8];

/// Returns the CRC of `bytes`.
pub fn crc32(bytes: &[u8]) -> u32 {
    let remainder = if bytes.len() < WORTH_FOLDING { remainder(u32::MAX, bytes) } else { folded(u32::MAX, bytes) };
    !remainder
}

/// Returns the CRC-32C of a message with the CRC-32C `before`, followed by `bytes`. That of an empty message is 0.
pub fn crc32c(before: u32, bytes: &[u8]) -> u32 {
    !remainder_by(&CASTAGNOLI_BYTES, !before, bytes)
}

/// Returns the CRC of a concatenation, from the CRCs of its parts and the length of the second part in bytes. Takes
/// time proportional to the number of bits in `len`.
pub fn joined(first: u32, second: u32, len: u64) -> u32 {
    times(first, x_to_bytes(len)) ^ second
}

/// Returns the CRC of `len` zeros. Takes time proportional to the number of bits in `len`.
pub fn of_zeros(len: u64) -> u32 {
    !times(u32::MAX, x_to_bytes(len))
}

/// Returns the CRC of bytes with the CRC `crc`, followed by `len` zeros.
pub fn with_zeros(crc: u32, len: u64) -> u32 {
    if len == 0 { crc } else { joined(crc, of_zeros(len), len) }
}

/// Returns the remainder of a message with remainder `before`, followed by `bytes`.
fn remainder(before: u32, bytes: &[u8]) -> u32 {
    remainder_by(&BYTES, before, bytes)
}

fn remainder_by(table: &Remainders, before: u32, bytes: &[u8]) -> u32 {
    bytes.iter().fold(before, |value, byte| value >> 8 ^ table[usize::from(value as u8 ^ byte)])
}

/// Like [`remainder`], for at least `REACH` rows: first folds all other rows into the last `REACH` ones.
fn folded(before: u32, bytes: &[u8]) -> u32 {
    let (rows, rest) = bytes.as_chunks::<ROW>();
    let folding = rows.len() - REACH;
    let mut kept = [Row::default(); KEPT];
    let mut value = 0;
    for (at, row) in rows.iter().enumerate() {
        let mut sum: Row = std::array::from_fn(|word| {
            u64::from_le_bytes(row[word * 8..word * 8 + 8].try_into().expect("eight bytes"))
        });
        if at == 0 {
            sum[0] ^= u64::from(before);
        }
        for distance in DISTANCES {
            let other = &kept[at.wrapping_sub(distance) % KEPT];
            for (word, other) in sum.iter_mut().zip(other) {
                *word ^= other;
            }
        }
        if at < folding {
            kept[at % KEPT] = sum;
        } else {
            kept[at % KEPT] = Row::default();
            value = sum.iter().fold(value, |value, word| remainder(value, &word.to_le_bytes()));
        }
    }
    remainder(value, rest)
}

/// The product of a remainder and x.
fn times_x(value: u32, polynomial: u32) -> u32 {
    value >> 1 ^ if value & 1 == 1 { polynomial } else { 0 }
}

/// The product of two remainders.
fn times(mut left: u32, mut right: u32) -> u32 {
    let mut product = 0;
    while left != 0 {
        if left & ONE != 0 {
            product ^= right;
        }
        left <<= 1;
        right = times_x(right, POLYNOMIAL);
    }
    product
}

/// x to the power of the number of bits in `len` bytes.
fn x_to_bytes(mut len: u64) -> u32 {
    let (mut power, mut square) = (ONE, ONE >> 8);
    while len != 0 {
        if len & 1 == 1 {
            power = times(power, square);
        }
        square = times(square, square);
        len >>= 1;
    }
    power
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reproducible noise.
    fn noise(len: usize) -> Vec<u8> {
        let mut state = 1u32;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        };
        (0..len).map(|_| next()).collect()
    }

    #[test]
    fn the_check_value_is_that_of_the_standard() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
        assert_eq!(crc32(b""), 0);
        assert_eq!(crc32c(0, b"123456789"), 0xe306_9283);
        assert_eq!(crc32c(crc32c(0, b"1234"), b"56789"), 0xe306_9283);
    }

    #[test]
    fn folding_changes_nothing() {
        let noise = noise(WORTH_FOLDING + 70_000);
        let few = WORTH_FOLDING;
        for len in [few - 1, few, few + 1, few + 63, few + 64, few + 65, few + KEPT * ROW, few + 69_999] {
            for start in [0, 1] {
                let bytes = &noise[start..start + len];
                assert_eq!(crc32(bytes), !remainder(u32::MAX, bytes), "{len} bytes from {start}");
            }
        }
    }

    #[test]
    fn ranges_are_joined() {
        let noise = noise(100_000);
        for split in [0, 1, 7, 8, 255, 256, 4096, 65_537, 99_999, 100_000] {
            let (left, right) = noise.split_at(split);
            assert_eq!(joined(crc32(left), crc32(right), right.len() as u64), crc32(&noise), "at {split}");
        }
    }

    #[test]
    fn zeros_are_not_looked_at() {
        for len in [0, 1, 2, 63, 4096, 1 << 20] {
            assert_eq!(of_zeros(len), crc32(&vec![0; len as usize]), "{len}");
        }
        // More than 4 GiB, computed in two ways.
        let gib = of_zeros(1 << 30);
        let five = (0..4).fold(gib, |sum, _| joined(sum, gib, 1 << 30));
        assert_eq!(of_zeros(5 << 30), five);
        assert_eq!(joined(of_zeros(u64::MAX - 9), of_zeros(9), 9), of_zeros(u64::MAX));
    }
}
