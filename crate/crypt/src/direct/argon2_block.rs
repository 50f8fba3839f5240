//! Blocks of Argon2 (RFC 9106): the compression function, and the hash function of variable length.

use blake2::digest::block_api::{UpdateCore, VariableOutputCore};
use blake2::digest::block_buffer::LazyBuffer;
use blake2::{Blake2b512, Blake2bVarCore, Digest};
use std::array::from_fn;
use zeroize::{Zeroize, Zeroizing};

/// A block of Argon2's memory, as 64-bit words.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub(super) struct Block(pub(super) [u64; Self::WORDS]);

impl Zeroize for Block {
    fn zeroize(&mut self) {
        self.0.zeroize();
    }
}

impl Block {
    /// The length, in bytes.
    pub(super) const LEN: usize = 1024;
    pub(super) const WORDS: usize = Self::LEN / 8;
    pub(super) const ZERO: Self = Self([0; Self::WORDS]);

    pub(super) fn from_bytes(bytes: &[u8; Self::LEN]) -> Self {
        let words = bytes.as_chunks().0;
        Self(from_fn(|at| u64::from_le_bytes(words[at])))
    }

    pub(super) fn to_bytes(self) -> Zeroizing<[u8; Self::LEN]> {
        let mut bytes = Zeroizing::new([0; Self::LEN]);
        bytes.as_chunks_mut().0.iter_mut().zip(self.0).for_each(|(bytes, word)| *bytes = word.to_le_bytes());
        bytes
    }

    /// XORs `other` into this block.
    #[inline]
    pub(super) fn add(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(word, other)| *word ^= other);
    }

    /// The compression function G of RFC 9106: compresses two blocks into one.
    #[inline]
    pub(super) fn compress(&self, other: &Self) -> Self {
        let mut sum = *self;
        sum.add(other);
        let mut result = sum;
        for row in 0..8 {
            permute(&mut result.0, |i| 16 * row + i);
        }
        for column in 0..8 {
            permute(&mut result.0, |i| 2 * column + 16 * (i / 2) + i % 2);
        }
        result.add(&sum);
        result
    }
}

/// The permutation P of RFC 9106, applied to the sixteen words at the positions `at(0)` to `at(15)`.
#[inline(always)]
fn permute(words: &mut [u64; Block::WORDS], at: impl Fn(usize) -> usize) {
    let mut v: [u64; 16] = from_fn(|i| words[at(i)]);
    for i in 0..4 {
        mix(&mut v, [i, 4 + i, 8 + i, 12 + i]);
    }
    for i in 0..4 {
        mix(&mut v, [i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4]);
    }
    for (i, word) in v.into_iter().enumerate() {
        words[at(i)] = word;
    }
}

/// The function GB of RFC 9106, applied to the words of `v` at the positions `a`, `b`, `c` and `d`.
#[inline(always)]
fn mix(v: &mut [u64; 16], [a, b, c, d]: [usize; 4]) {
    for [right_1, right_2] in [[32, 24], [16, 63]] {
        v[a] = multiply_add(v[a], v[b]);
        v[d] = (v[d] ^ v[a]).rotate_right(right_1);
        v[c] = multiply_add(v[c], v[d]);
        v[b] = (v[b] ^ v[c]).rotate_right(right_2);
    }
}

#[inline(always)]
fn multiply_add(x: u64, y: u64) -> u64 {
    let low = |number: u64| number & u64::from(u32::MAX);
    x.wrapping_add(y).wrapping_add((low(x) * low(y)).wrapping_mul(2))
}

/// The hash function H' of RFC 9106: fills `output` with a hash of `parts`. Panics if `output` is longer than 64 bytes and not a
/// multiple of 32 bytes.
pub(super) fn long_hash(parts: &[&[u8]], output: &mut [u8]) {
    const WHOLE: usize = 64;
    let len = (output.len() as u32).to_le_bytes();
    if output.len() <= WHOLE {
        let mut hasher = Blake2bVarCore::new(output.len()).expect("it has up to 64 bytes");
        let mut buffer = LazyBuffer::new(&len);
        parts.iter().for_each(|part| buffer.digest_blocks(part, |blocks| hasher.update_blocks(blocks)));
        let mut whole = Default::default();
        hasher.finalize_variable_core(&mut buffer, &mut whole);
        return output.copy_from_slice(&whole[..output.len()]);
    }
    let mut hasher = Blake2b512::new_with_prefix(len);
    parts.iter().for_each(|part| hasher.update(part));
    let mut hash = hasher.finalize();
    let mut rest = output;
    // The first half of each hash, and all of the last hash.
    while rest.len() > WHOLE {
        let (half, after) = rest.split_at_mut(WHOLE / 2);
        half.copy_from_slice(&hash[..WHOLE / 2]);
        hash = Blake2b512::digest(hash);
        rest = after;
    }
    rest.copy_from_slice(&hash);
}
