//! AES (FIPS 197) on eight blocks at once, bitsliced in SIMD registers.
//!
//! Wasm has no AES instructions, and none that look up a table of 256 bytes in constant time. So eight blocks are
//! transposed to eight [`Planes`]: register `i` has bit `i` of every byte, and each byte of it has that bit of one
//! position in the eight blocks. The S-box is then a circuit of ANDs and XORs ([`sbox`]), and moving bytes is a shuffle
//! of each register ([`mix`]). Only values depend on keys or data: no branch and no address.

mod mix;
mod sbox;

use super::block_cipher::{Blocks, CipherBlock};
use wide::bytemuck::cast;
use wide::{u8x16, u64x2};
use zeroize::Zeroizing;

/// Number of blocks at once, the number of bits in a byte.
pub const AT_ONCE: usize = 8;

/// Eight blocks by bits: in plane `i`, bit `k` of byte `p` is bit `i` of byte `p` of block `k`.
type Planes = [u8x16; 8];

/// The planes of a round key, which is the same for all eight blocks.
type RoundKey = [[u8; 16]; 8];

/// The number of round keys of AES-256.
const MAX_ROUND_KEYS: usize = 15;

/// AES-128, -192 or -256 with a key.
pub(super) struct Aes {
    /// In the order of encryption. All but the first include [`sbox::CONSTANT`], which the substitution before them
    /// (after them, in decryption) leaves out: moving and mixing bytes do not change a constant.
    round_keys: Zeroizing<[RoundKey; MAX_ROUND_KEYS]>,
    round_key_count: usize,
}

impl Aes {
    /// Expands a key of 16, 24 or 32 bytes.
    pub(super) fn new(key: &[u8]) -> Self {
        // One more than there are rounds, and six rounds more than the key has words.
        let round_key_count = key.len() / 4 + 7;
        let words = expand(key, 4 * round_key_count);
        let mut round_keys = Zeroizing::new([RoundKey::default(); MAX_ROUND_KEYS]);
        for (round, (words, round_key)) in words.as_chunks::<4>().0.iter().zip(&mut *round_keys).enumerate() {
            let constant = if round == 0 { 0 } else { sbox::CONSTANT };
            let bit = |plane: usize, place: usize| (words[place / 4][place % 4] ^ constant) >> plane & 1;
            *round_key = std::array::from_fn(|plane| std::array::from_fn(|place| 0u8.wrapping_sub(bit(plane, place))));
        }
        Self { round_keys, round_key_count }
    }

    fn round_keys(&self) -> (&RoundKey, &[RoundKey], &RoundKey) {
        let [first, middle @ .., last] = &self.round_keys[..self.round_key_count] else {
            unreachable!("there are at least eleven round keys")
        };
        (first, middle, last)
    }

    fn encrypt_planes(&self, state: Planes) -> Planes {
        let (first, middle, last) = self.round_keys();
        let mut state = add_key(state, first);
        for key in middle {
            state = add_key(mix::columns(mix::shift_rows(sbox::substitute(state))), key);
        }
        add_key(mix::shift_rows(sbox::substitute(state)), last)
    }

    fn decrypt_planes(&self, state: Planes) -> Planes {
        let (first, middle, last) = self.round_keys();
        let mut state = sbox::substitute_back(mix::shift_rows_back(add_key(state, last)));
        for key in middle.iter().rev() {
            state = sbox::substitute_back(mix::shift_rows_back(mix::columns_back(add_key(state, key))));
        }
        add_key(state, first)
    }
}

impl Blocks for Aes {
    fn encrypt(&self, blocks: &mut [CipherBlock]) {
        by_eight(blocks, |planes| self.encrypt_planes(planes));
    }

    fn decrypt(&self, blocks: &mut [CipherBlock]) {
        by_eight(blocks, |planes| self.decrypt_planes(planes));
    }
}

/// Applies `cipher` to all `blocks`.
fn by_eight(blocks: &mut [CipherBlock], cipher: impl Fn(Planes) -> Planes) {
    for some in blocks.chunks_mut(AT_ONCE) {
        let mut planes = Planes::default();
        planes.iter_mut().zip(&*some).for_each(|(plane, block)| *plane = u8x16::new(block.0));
        let planes = transpose(cipher(transpose(planes)));
        some.iter_mut().zip(planes).for_each(|(block, plane)| block.0 = plane.to_array());
    }
}

/// Adds two elements of any of AES's fields.
fn add<const BITS: usize>(one: [u8x16; BITS], other: [u8x16; BITS]) -> [u8x16; BITS] {
    std::array::from_fn(|i| one[i] ^ other[i])
}

fn add_key(state: Planes, key: &RoundKey) -> Planes {
    add(state, key.map(u8x16::new))
}

/// Transposes blocks to planes, and planes to blocks: in each byte, bit `i` of register `k` becomes bit `k` of register
/// `i`.
fn transpose(registers: Planes) -> Planes {
    /// Swaps the bits whose position has bit `STEP` set in one half of the registers but not in the other.
    fn exchange<const STEP: usize>(registers: &mut [u64x2; 8], mask: u8) {
        let mask = u64x2::splat(u64::from_ne_bytes([mask; 8]));
        for low in (0..8).filter(|low| low & STEP == 0) {
            let high = low | STEP;
            let differ = ((registers[low] >> STEP as u64) ^ registers[high]) & mask;
            registers[high] ^= differ;
            registers[low] ^= differ << STEP as u64;
        }
    }
    let mut registers = registers.map(cast::<_, u64x2>);
    exchange::<1>(&mut registers, 0x55);
    exchange::<2>(&mut registers, 0x33);
    exchange::<4>(&mut registers, 0x0f);
    registers.map(cast)
}

/// Expands a key to the words of all round keys (FIPS 197, section 5.2): the first `total` of the result.
fn expand(key: &[u8], total: usize) -> Zeroizing<[[u8; 4]; 4 * MAX_ROUND_KEYS]> {
    let length = key.len() / 4;
    let mut words = Zeroizing::new([[0; 4]; 4 * MAX_ROUND_KEYS]);
    words[..length].copy_from_slice(key.as_chunks().0);
    let mut round_constant = 1u8;
    for i in length..total {
        let mut word = words[i - 1];
        if i % length == 0 {
            word.rotate_left(1);
            word = sbox::substitute_word(word);
            word[0] ^= round_constant;
            round_constant = round_constant << 1 ^ if round_constant >> 7 == 1 { 0x1b } else { 0 };
        } else if length > 6 && i % length == 4 {
            word = sbox::substitute_word(word);
        }
        let before = words[i - length];
        words[i] = std::array::from_fn(|byte| before[byte] ^ word[byte]);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use ::cipher::{BlockCipherDecrypt, BlockCipherEncrypt, KeyInit};

    /// FIPS 197, appendix C.
    #[test]
    fn the_examples_of_the_standard() {
        let key: Vec<u8> = (0..32).collect();
        let plain: [u8; 16] = std::array::from_fn(|i| i as u8 * 0x11);
        for (length, expected) in [
            (16, 0x69c4e0d8_6a7b0430_d8cdb780_70b4c55a_u128),
            (24, 0xdda97ca4_864cdfe0_6eaf70a0_ec0d7191),
            (32, 0x8ea2b7ca_516745bf_eafc4990_4b496089),
        ] {
            let aes = Aes::new(&key[..length]);
            let mut block = [CipherBlock::from(plain)];
            aes.encrypt(&mut block);
            assert_eq!(u128::from_be_bytes(block[0].0), expected, "a key of {length} bytes");
            aes.decrypt(&mut block);
            assert_eq!(block[0].0, plain, "a key of {length} bytes");
        }
    }

    /// Any number of blocks with any key, compared with the crate `aes`.
    #[test]
    fn the_same_as_another_implementation() {
        fn compare<C: KeyInit + BlockCipherEncrypt<BlockSize = ::cipher::consts::U16> + BlockCipherDecrypt>(
            key: &[u8],
        ) {
            let theirs = C::new_from_slice(key).expect("the length is one of AES");
            let ours = Aes::new(key);
            for count in 0..=40 {
                let plain: Vec<CipherBlock> =
                    (0..count).map(|i| CipherBlock::from(noise::<16>(i + 1000 * u64::from(key[0])))).collect();
                let (mut expected, mut got) = (plain.clone(), plain.clone());
                theirs.encrypt_blocks(&mut expected);
                ours.encrypt(&mut got);
                assert_eq!(got, expected, "{count} blocks, the key {key:02x?}");
                theirs.decrypt_blocks(&mut expected);
                ours.decrypt(&mut got);
                assert_eq!((&got, &got), (&expected, &plain), "{count} blocks, the key {key:02x?}");
            }
        }
        for round in 0..20 {
            let key = noise::<32>(round);
            compare::<aes::Aes128>(&key[..16]);
            compare::<aes::Aes192>(&key[..24]);
            compare::<aes::Aes256>(&key);
        }
    }

    fn noise<const LENGTH: usize>(seed: u64) -> [u8; LENGTH] {
        let mut state = seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        std::array::from_fn(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 56) as u8
        })
    }
}
