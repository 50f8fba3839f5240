//! The symbols of a block, as long as input and output have room for a whole turn of the loop.

#![expect(unsafe_code, reason = "bounds are checked once a turn, not for every byte")]

use super::bits::Bits;
use super::{Codes, InflateError};

/// What a turn reads of the input at most, in bytes: two refills, of which each loads 8 and goes on by at
/// most 7.
const INPUT_ROOM: usize = 16;
/// What a turn writes at most: three literals and a match, which is copied past its end by less than two
/// words of 16 bytes.
const OUTPUT_ROOM: usize = 3 + 258 + 32;

/// Decodes until the block ends, which it answers `true` to, or the room does.
///
/// Bits: a refill leaves at least 56. Up to three literals without a subtable take 3 * 11, and a length
/// with its extra bits 15 + 5, which makes 53. After another refill a distance takes 15 + 13.
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
            // SAFETY: `next <= input_end` at the start of the turn, and an earlier refill has added at
            // most 7: so there are at least 9 bytes.
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
            // lead on to another symbol, after the third one or one of a subtable the turn ends.
            unsafe { put(output, at, $entry.literal()) };
            at += 1;
        };
    }
    while next <= input_end && at <= output_end {
        refill!();
        let mut entry = literals.at(buffer);
        if entry.is_literal() {
            literal!(entry);
            entry = literals.at(buffer);
            if entry.is_literal() {
                literal!(entry);
                entry = literals.at(buffer);
                if entry.is_literal() {
                    literal!(entry);
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
        refill!();
        let mut entry = distances.at(buffer);
        if entry.is_exception() {
            if !entry.is_subtable() {
                return Err(InflateError::Invalid);
            }
            consume!(entry);
            entry = distances.within(entry, buffer);
            if entry.is_exception() {
                return Err(InflateError::Invalid);
            }
        }
        let distance = entry.value(buffer);
        consume!(entry);
        if distance > at {
            return Err(InflateError::Invalid);
        }
        // SAFETY: `distance` is at least 1 and at most `at`, `length` at most 258, and at most two literals
        // came before it in this turn: so there is room for it and 32 bytes more.
        unsafe { copy(output, at, distance, length) };
        at += length;
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
