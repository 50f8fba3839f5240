//! Moves and mixes the bytes of a block (FIPS 197, sections 5.1.2, 5.1.3, 5.3.1 and 5.3.3).
//!
//! Byte `4 * c + r` of a block is in row `r` and column `c`.

use super::{Planes, add};
use wide::u8x16;

/// Returns the source of each byte of a block: `rows` further down, and `columns_by_row` columns further right for each
/// row it is in, both modulo four.
const fn places(rows: u8, columns_by_row: u8) -> [u8; 16] {
    let mut places = [0; 16];
    let mut place = 0;
    while place < 16 {
        let (row, column) = (place % 4, place / 4);
        places[place as usize] = (row + rows) % 4 + 4 * ((column + columns_by_row * row) % 4);
        place += 1;
    }
    places
}

fn moved(state: Planes, places: [u8; 16]) -> Planes {
    state.map(|plane| plane.shuffle(u8x16::new(places)))
}

pub(super) fn shift_rows(state: Planes) -> Planes {
    moved(state, const { places(0, 1) })
}

pub(super) fn shift_rows_back(state: Planes) -> Planes {
    moved(state, const { places(0, 3) })
}

/// Replaces each byte by the one in the next row of its column.
fn next_row(state: Planes) -> Planes {
    moved(state, const { places(1, 0) })
}

/// Replaces each byte by the one two rows on.
fn opposite_row(state: Planes) -> Planes {
    moved(state, const { places(2, 0) })
}

/// Multiplies by 2 in AES's field, whose polynomial is x^8 + x^4 + x^3 + x + 1.
fn double(state: Planes) -> Planes {
    let [s0, s1, s2, s3, s4, s5, s6, s7] = state;
    [s7, s0 ^ s7, s1, s2 ^ s7, s3 ^ s7, s4, s5, s6]
}

/// Replaces each byte by twice itself, three times the next one, and the other two. With the sum of a byte and the next
/// one, that is twice the sum, plus the next one, plus the sum two rows on.
pub(super) fn columns(state: Planes) -> Planes {
    let next = next_row(state);
    let sum = add(state, next);
    add(add(double(sum), next), opposite_row(sum))
}

/// The inverse of [`columns`]: adds four times the sum of each byte and the opposite one, then applies [`columns`]. (Of
/// the polynomials over the field, 0b x^3 + 0d x^2 + 09 x + 0e is the product of 03 x^3 + x^2 + x + 02 and 04 x^2 + 05,
/// modulo x^4 + 1.)
pub(super) fn columns_back(state: Planes) -> Planes {
    let sum = add(state, opposite_row(state));
    columns(add(state, double(double(sum))))
}
