//! The symbols of a block, as long as input and output have room for a whole turn of the loop.

#![expect(unsafe_code, reason = "bounds are checked once a turn, not for every byte")]

use super::bits::Bits;
use super::{Codes, InflateError};

/// What a turn reads of the input at most, in bytes: two refills, of which each loads 8 and goes on by at
/// most 7.
const INPUT_ROOM: usize = 16;
/// With fewer bits than this a distance (15 + 13 bits) and the next look at the literals (11) might lack some.
const DISTANCE_BITS_AND_NEXT: u32 = 39;
/// What a turn writes at most: three literals and a match, which is copied past its end by less than two
/// words of 16 bytes.
const OUTPUT_ROOM: usize = 3 + 258 + 32;

/// Decodes until the block ends, which it answers `true` to, or the room does.
///
/// A turn begins with at least 56 bits and the entry of its first code. Up to three literals without a
/// subtable take 3 * 11 of them, or two and a length with its extra bits 2 * 11 + 15 + 5: what is left,
/// at least 14, is seldom too little for a distance, so a refill there is a branch. The next turn's entry
/// is looked up before its refill, and so does not wait for it.
#[inline(never)]
pub(super) fn run(
    bits: &mut Bits,
    output: &mut [u8],
    filled: &mut usize,
    Codes { literals, distances }: &Codes,
) -> Result<bool, InflateError> {
    let input = bits.input;
    let Some(input_end) = input.len().checked_sub(INPUT_ROOM) else { return Ok(false) };
    let Some(output_end) = output.len().checked_sub(OUTPUT_ROOM) else { return Ok(false) };
    let (mut next, mut buffer, mut count) = (bits.next, bits.buffer, bits.count);
    let mut at = *filled;
    let mut ended = false;
    macro_rules! refill {
        () => {
            // SAFETY: `next <= input_end` where the turn begins, and only one other refill may have come
            // since, which adds at most 7: so there are at least 9 bytes.
            buffer |= unsafe { load(input, next) } << (count & 63);
            // Bits above `count` are those of the byte at `next`, once more or not at all.
            next += 7 - (count as usize >> 3 & 7);
            count |= 56;
        };
    }
    macro_rules! consume {
        ($entry:expr) => {
            // Only the lowest 6 bits of both matter: the rest of the entry is no harm.
            buffer >>= $entry.raw() & 63;
            count = count.wrapping_sub($entry.raw());
        };
    }
    macro_rules! literal {
        ($entry:expr) => {
            consume!($entry);
            // SAFETY: `at <= output_end` at the start of the turn, and this is one of at most three literals: two
            // lead on to another symbol, with the third one or one of a subtable the turn ends.
            unsafe { put(output, at, $entry.literal()) };
            at += 1;
        };
    }
    // Three copies of it are a branch less each.
    macro_rules! next_turn {
        ($entry:ident) => {
            if next > input_end || at > output_end {
                break;
            }
            $entry = literals.at(buffer);
            refill!();
        };
    }
    if next > input_end || at > output_end {
        return Ok(false);
    }
    refill!();
    let mut entry = literals.at(buffer);
    loop {
        if entry.is_literal() {
            literal!(entry);
            entry = literals.at(buffer);
            if entry.is_literal() {
                literal!(entry);
                entry = literals.at(buffer);
                if entry.is_literal() {
                    literal!(entry);
                    next_turn!(entry);
                    continue;
                }
            }
        }
        if entry.is_exception() {
            if entry.is_subtable() {
                consume!(entry);
                entry = literals.within(entry, buffer);
                if entry.is_literal() {
                    literal!(entry);
                    next_turn!(entry);
                    continue;
                }
            }
            if entry.is_exception() {
                if !entry.is_end() {
                    return Err(InflateError::Invalid);
                }
                consume!(entry);
                ended = true;
                break;
            }
        }
        let length = entry.value(buffer);
        consume!(entry);
        if count & 63 < DISTANCE_BITS_AND_NEXT {
            refill!();
        }
        let mut place = distances.at(buffer);
        if place.is_exception() {
            if !place.is_subtable() {
                return Err(InflateError::Invalid);
            }
            consume!(place);
            place = distances.within(place, buffer);
            if place.is_exception() {
                return Err(InflateError::Invalid);
            }
        }
        let distance = place.value(buffer);
        consume!(place);
        if distance > at {
            return Err(InflateError::Invalid);
        }
        // SAFETY: `distance` is at least 1 and at most `at`, `length` at most 258, and at most two literals
        // came before it in this turn: so there is room for it and 32 bytes more.
        unsafe { copy(output, at, distance, length) };
        at += length;
        next_turn!(entry);
    }
    count &= 63;
    // Whole bytes above `count` are read again.
    bits.buffer = buffer & ((1 << count) - 1);
    (bits.next, bits.count) = (next, count);
    *filled = at;
    Ok(ended)
}

/// The 8 bytes at `at`.
///
/// # Safety
///
/// `at + 8 <= input.len()`.
#[inline(always)]
unsafe fn load(input: &[u8], at: usize) -> u64 {
    debug_assert!(at + 8 <= input.len());
    // SAFETY: the bytes are inside the slice, by the condition above; a read need not be aligned.
    u64::from_le(unsafe { input.as_ptr().add(at).cast::<u64>().read_unaligned() })
}

/// Sets the byte at `at`.
///
/// # Safety
///
/// `at < output.len()`.
#[inline(always)]
unsafe fn put(output: &mut [u8], at: usize, byte: u8) {
    debug_assert!(at < output.len());
    // SAFETY: by the condition above.
    unsafe { *output.get_unchecked_mut(at) = byte };
}

/// Copies `length` bytes to `at` from `distance` before it, byte by byte as it were: they may overlap. Up to
/// 32 bytes behind them are overwritten with anything.
///
/// # Safety
///
/// `1 <= distance <= at` and `at + length + 32 <= output.len()`.
#[inline(always)]
unsafe fn copy(output: &mut [u8], at: usize, distance: usize, length: usize) {
    debug_assert!((1..=at).contains(&distance) && at + length + 32 <= output.len());
    let base = output.as_mut_ptr();
    let end = at + length;
    let mut to = at;
    // SAFETY, of all below: sources begin at `at - distance` or later, inside the slice, and end where the
    // target does or before it; targets begin before `end` and are at most 16 bytes long, and one more
    // begins at `at`: so they end before `end + 32`. Words are loaded before they are stored, so that
    // overlap is no matter to the loads; that a word holds only bytes that are finished is for the
    // value, not for safety: it does, since it is no longer than `distance`, or is stored at steps of
    // `distance`, of which each finishes as many bytes.
    unsafe {
        if distance >= 16 {
            // Most are no longer than two words: no branch that is hard to foresee.
            move_word::<u128>(base.add(to - distance), base.add(to));
            to += 16;
            loop {
                move_word::<u128>(base.add(to - distance), base.add(to));
                to += 16;
                if to >= end {
                    return;
                }
            }
        }
        if distance == 1 {
            let word = u64::from(*base.add(at - 1)) * 0x0101_0101_0101_0101;
            while to < end {
                base.add(to).cast::<u64>().write_unaligned(word);
                base.add(to + 8).cast::<u64>().write_unaligned(word);
                to += 16;
            }
            return;
        }
        let step = distance.min(8);
        while to < end {
            move_word::<u64>(base.add(to - distance), base.add(to));
            to += step;
        }
    }
}

/// Moves a word, which is loaded before it is stored.
///
/// # Safety
///
/// `from` may be read and `to` written for the size of the word.
#[inline(always)]
unsafe fn move_word<W>(from: *const u8, to: *mut u8) {
    // SAFETY: by the condition above; neither need be aligned.
    unsafe { to.cast::<W>().write_unaligned(from.cast::<W>().read_unaligned()) };
}
