//! AES's S-box (FIPS 197, section 5.1.1) as a circuit of bits.
//!
//! The S-box is an inverse in GF(2^8), then a linear map, then the addition of a constant. The inverse takes few gates
//! in a tower of fields: an element of GF(2^8) is a pair of elements of GF(2^4), which are pairs of elements of
//! GF(2^2), which are pairs of bits. So the circuit has three steps: a linear map from AES's basis to the tower, the
//! inverse there, and a linear map back. The S-box's own linear map is part of the last step, and its inverse is part
//! of the first.
//!
//! - GF(2^2): `w^2 = w + 1`, an element is `a[1] w + a[0]`.
//! - GF(2^4): `x^2 = x + w^2`, an element is `(a[3] w + a[2]) x + (a[1] w + a[0])`.
//! - GF(2^8): `y^2 = y + (w x + w)`, an element is `a y + b`, where `a` has the upper four bits.
//! - What AES writes as 2 is `(x + 1) y + w^2`, and so what it writes as `2^n` is the nth power of that.
//!
//! Among all such towers and bases, a search found this one to have the shortest maps, in XORs. Sums in the maps are
//! named after the bits that they add: `b156` is `b1 ^ b5 ^ b6`.

use super::{Planes, add};
use wide::u8x16;

/// A bit of an element, for every byte of eight blocks.
type Bit = u8x16;

/// The constant that the S-box adds last. It is left out here, and included in the round keys.
pub(super) const CONSTANT: u8 = 0x63;

/// The S-box without its constant: maps to the tower, inverts ([`invert`]), and maps back, including the
/// linear map of the S-box.
pub(super) fn substitute([b0, b1, b2, b3, b4, b5, b6, b7]: Planes) -> Planes {
    let b15 = b1 ^ b5;
    let b156 = b15 ^ b6;
    let b17 = b1 ^ b7;
    let b35 = b3 ^ b5;
    let b1356 = b3 ^ b156;
    let [c0, c1, c2, c3, c4, c5, c6, c7] =
        invert([b0 ^ b156, b17, b2 ^ b7, b2 ^ b4, b1, b35 ^ b2 ^ b7, b1356 ^ b2 ^ b4, b5 ^ b7]);
    let c04 = c0 ^ c4;
    let c23 = c2 ^ c3;
    let c46 = c4 ^ c6;
    let c046 = c04 ^ c6;
    let c27 = c2 ^ c7;
    [c04 ^ c23, c04 ^ c1, c27 ^ c04 ^ c1, c046 ^ c23, c046, c23 ^ c4 ^ c5, c46, c2 ^ c46]
}

/// The inverse of [`substitute`]: undoes the linear map of the S-box while mapping to the tower, inverts ([`invert`]),
/// and maps back.
pub(super) fn substitute_back([b0, b1, b2, b3, b4, b5, b6, b7]: Planes) -> Planes {
    let b46 = b4 ^ b6;
    let b03 = b0 ^ b3;
    let b67 = b6 ^ b7;
    let b37 = b3 ^ b7;
    let b05 = b0 ^ b5;
    let [c0, c1, c2, c3, c4, c5, c6, c7] =
        invert([b46, b03 ^ b1 ^ b4, b67, b37 ^ b46, b03 ^ b6, b05 ^ b46, b03, b67 ^ b1 ^ b2]);
    let c14 = c1 ^ c4;
    let c124 = c14 ^ c2;
    let c35 = c3 ^ c5;
    let c147 = c14 ^ c7;
    [c0 ^ c124 ^ c35 ^ c6 ^ c7, c4, c124, c147 ^ c2 ^ c5, c124 ^ c3, c147, c35 ^ c2 ^ c4 ^ c6, c14]
}

/// The S-box, with its constant, for the four bytes of a word.
pub(super) fn substitute_word(word: [u8; 4]) -> [u8; 4] {
    let planes = substitute(std::array::from_fn(|bit| {
        let mut plane = [0; 16];
        plane.iter_mut().zip(word).for_each(|(place, byte)| *place = byte >> bit & 1);
        Bit::new(plane)
    }));
    let planes = planes.map(Bit::to_array);
    std::array::from_fn(|place| (0..8).fold(CONSTANT, |byte, bit| byte ^ planes[bit][place] << bit))
}

/// Inverts in GF(2^8); 0 stays 0.
///
/// The conjugate of `a y + b` is `a y + (a + b)`. Their product, the norm, is `(w x + w) a^2 + b (a + b)`, an element
/// of GF(2^4). So the inverse is the conjugate divided by the norm.
fn invert([b0, b1, b2, b3, a0, a1, a2, a3]: Planes) -> Planes {
    let (a, b) = ([a0, a1, a2, a3], [b0, b1, b2, b3]);
    let sum = add(a, b);
    // (w x + w) a^2
    let square = [a1, a0, a1 ^ a2 ^ a3, a0 ^ a3];
    let inverse_norm = invert_16(add(square, multiply_16(b, sum)));
    let ([h0, h1, h2, h3], [l0, l1, l2, l3]) = (multiply_16(a, inverse_norm), multiply_16(sum, inverse_norm));
    [l0, l1, l2, l3, h0, h1, h2, h3]
}

/// Multiplies in GF(2^4), by three products in GF(2^2) instead of four (Karatsuba).
fn multiply_16([a0, a1, a2, a3]: [Bit; 4], [b0, b1, b2, b3]: [Bit; 4]) -> [Bit; 4] {
    let low = multiply_4([a0, a1], [b0, b1]);
    let high = multiply_4([a2, a3], [b2, b3]);
    let both = multiply_4([a0 ^ a2, a1 ^ a3], [b0 ^ b2, b1 ^ b3]);
    // x^2 = x + w^2: the product of the upper halves is added to the lower half times w^2.
    [low[0] ^ high[0] ^ high[1], low[1] ^ high[0], both[0] ^ low[0], both[1] ^ low[1]]
}

/// Inverts `a x + b` in GF(2^4), by its conjugate and its norm `w^2 a^2 + b (a + b)`, as in [`invert`].
fn invert_16([b0, b1, a0, a1]: [Bit; 4]) -> [Bit; 4] {
    let sum = [a0 ^ b0, a1 ^ b1];
    // w^2 a^2
    let square = [a0, a0 ^ a1];
    let norm = add(square, multiply_4([b0, b1], sum));
    // In GF(2^2) the square is the inverse.
    let inverse_norm = [norm[0] ^ norm[1], norm[1]];
    let (high, low) = (multiply_4([a0, a1], inverse_norm), multiply_4(sum, inverse_norm));
    [low[0], low[1], high[0], high[1]]
}

/// Multiplies in GF(2^2), by three products of bits, in the same way.
fn multiply_4(a: [Bit; 2], b: [Bit; 2]) -> [Bit; 2] {
    let low = a[0] & b[0];
    [(a[1] & b[1]) ^ low, ((a[0] ^ a[1]) & (b[0] ^ b[1])) ^ low]
}
