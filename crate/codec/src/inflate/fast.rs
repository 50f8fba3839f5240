//! Decodes symbols while input and output have room for a whole turn of the loop.

#![expect(unsafe_code, reason = "bounds are checked once a turn, not for every byte")]

use super::BlockTables;
use super::lane::{Lane, LaneState, OUTPUT_ROOM};
use super::tables::CodeEntry;

/// Maximum input of a turn, in bytes: two refills, each of which loads 8 bytes and advances by at most 7.
const INPUT_ROOM: usize = 16;

/// Decodes until `lane.state` is not `Symbols`.
#[inline(never)]
pub(super) fn run(lane: &mut Lane, codes: &BlockTables) {
    let Some(mut turns) = FastTurns::begin(lane, codes) else { return };
    lane.state = loop {
        if let Some(state) = turns.turn() {
            break state;
        }
    };
    turns.end(lane);
}

/// Like [`run`], for two lanes in turn, until either stops.
#[inline(never)]
pub(super) fn run_both([left, right]: [&mut Lane; 2], [left_codes, right_codes]: [&BlockTables; 2]) {
    let Some(mut left_turns) = FastTurns::begin(left, left_codes) else { return };
    if let Some(mut right_turns) = FastTurns::begin(right, right_codes) {
        loop {
            if let Some(state) = left_turns.turn() {
                left.state = state;
                break;
            }
            if let Some(state) = right_turns.turn() {
                right.state = state;
                break;
            }
        }
        right_turns.end(right);
    }
    left_turns.end(left);
}

/// A lane inside a block, in variables that fit registers.
///
/// Between two turns there are at least 56 bits, `entry` is that of the first code, and `at <= output_end`.
/// `next <= input_end` held before the refill that brought these bits; a turn refills at most once more.
struct FastTurns<'a, 'c> {
    input: &'a [u8],
    /// After this offset there is no room for a turn.
    input_end: usize,
    /// See `BitReader`; bits from `count` on may be those of the byte at `next`.
    next: usize,
    buffer: u64,
    /// Only the lowest 6 bits are valid.
    count: u32,
    output: &'a mut [u8],
    /// After this offset there is no room for a turn.
    output_end: usize,
    /// The offset of the next output byte.
    at: usize,
    codes: &'c BlockTables,
    entry: CodeEntry,
}

impl<'a, 'c> FastTurns<'a, 'c> {
    /// Takes the output from the lane until `end`. Returns `None` and sets `lane.state` to `LastSymbols` if there is no
    /// room for a turn.
    fn begin(lane: &mut Lane<'a>, codes: &'c BlockTables) -> Option<Self> {
        let input = lane.bits.input;
        let ends = input.len().checked_sub(INPUT_ROOM).zip(lane.output.len().checked_sub(OUTPUT_ROOM));
        let Some((input_end, output_end)) =
            ends.filter(|&(input_end, output_end)| lane.bits.next <= input_end && lane.filled <= output_end)
        else {
            lane.state = LaneState::LastSymbols;
            return None;
        };
        let mut turns = Self {
            input,
            input_end,
            next: lane.bits.next,
            buffer: lane.bits.buffer,
            count: lane.bits.count,
            output: std::mem::take(&mut lane.output),
            output_end,
            at: lane.filled,
            codes,
            entry: CodeEntry::default(),
        };
        turns.refill();
        turns.entry = codes.literals.at(turns.buffer);
        Some(turns)
    }

    fn end(self, lane: &mut Lane<'a>) {
        let count = self.count & 63;
        // Whole bytes above `count` are read again.
        lane.bits.buffer = self.buffer & ((1 << count) - 1);
        (lane.bits.next, lane.bits.count) = (self.next, count);
        lane.output = self.output;
        lane.filled = self.at;
    }

    /// Decodes up to three literals, or two and a match. Returns `Some` when the loop must stop.
    ///
    /// Up to three literals without a subtable take 3 * 11 bits; two literals and a length with its extra bits take 2 *
    /// 11 + 15 + 5; a distance, after another refill, takes at most 15 + 13. The remaining bits suffice to look up the
    /// next turn's entry before its refill, so that the lookup does not wait for that.
    #[inline(always)]
    fn turn(&mut self) -> Option<LaneState> {
        let BlockTables { literals, distances } = self.codes;
        let mut entry = self.entry;
        if entry.is_literal() {
            self.literal(entry);
            entry = literals.at(self.buffer);
            if entry.is_literal() {
                self.literal(entry);
                entry = literals.at(self.buffer);
                if entry.is_literal() {
                    self.literal(entry);
                    return self.next_turn();
                }
            }
        }
        if entry.is_exception() {
            if entry.is_subtable() {
                self.consume(entry);
                entry = literals.within(entry, self.buffer);
                if entry.is_literal() {
                    self.literal(entry);
                    return self.next_turn();
                }
            }
            if entry.is_exception() {
                if !entry.is_end() {
                    return Some(LaneState::Invalid);
                }
                self.consume(entry);
                return Some(LaneState::Block);
            }
        }
        let length = entry.value(self.buffer);
        self.consume(entry);
        self.refill();
        let mut place = distances.at(self.buffer);
        if place.is_exception() {
            if !place.is_subtable() {
                return Some(LaneState::Invalid);
            }
            self.consume(place);
            place = distances.within(place, self.buffer);
            if place.is_exception() {
                return Some(LaneState::Invalid);
            }
        }
        let distance = place.value(self.buffer);
        self.consume(place);
        if distance > self.at {
            return Some(LaneState::Invalid);
        }
        // SAFETY: `distance` is at least 1 and at most `at`, `length` is at most 258, and at most two literals came
        // before it in this turn, so there is room for it and 32 bytes more.
        unsafe { copy(self.output, self.at, distance, length) };
        self.at += length;
        self.next_turn()
    }

    /// Prepares the next turn, if there is room for it. Three copies of this code save a branch each.
    #[inline(always)]
    fn next_turn(&mut self) -> Option<LaneState> {
        if self.next > self.input_end || self.at > self.output_end {
            return Some(LaneState::LastSymbols);
        }
        self.entry = self.codes.literals.at(self.buffer);
        self.refill();
        None
    }

    #[inline(always)]
    fn refill(&mut self) {
        // SAFETY: `next <= input_end` held before this refill or the last one, and a refill adds at most 7, so there
        // are at least 9 bytes.
        self.buffer |= unsafe { load(self.input, self.next) } << (self.count & 63);
        // From bit `count` on, the buffer has zeros or bits of the byte at `next`: loading that byte again changes nothing.
        self.next += 7 - (self.count as usize >> 3 & 7);
        self.count |= 56;
    }

    #[inline(always)]
    fn consume(&mut self, entry: CodeEntry) {
        // Only the lowest 6 bits of both matter, so the other bits of the entry do no harm.
        self.buffer >>= entry.raw() & 63;
        self.count = self.count.wrapping_sub(entry.raw());
    }

    #[inline(always)]
    fn literal(&mut self, entry: CodeEntry) {
        self.consume(entry);
        // SAFETY: `at <= output_end` at the start of the turn, and this is one of at most three literals: after two,
        // another symbol may follow; the third, or one of a subtable, ends the turn.
        unsafe { put(self.output, self.at, entry.literal()) };
        self.at += 1;
    }
}

/// Loads the 8 bytes at `at`.
///
/// # Safety
///
/// `at + 8 <= input.len()`.
#[inline(always)]
unsafe fn load(input: &[u8], at: usize) -> u64 {
    debug_assert!(at + 8 <= input.len());
    // SAFETY: the bytes are inside the slice by the condition above; a read need not be aligned.
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

/// Copies `length` bytes to `at` from `distance` before it, as if byte by byte if they overlap. Up to 32 bytes after
/// them are overwritten.
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
    // SAFETY, of all below: sources begin at `at - distance` or later, inside the slice, and end at or before the end
    // of the target. Targets are at most 16 bytes long and begin before `end`, or at `at + 16`, the second of two words
    // for a match that may be shorter, so they end before `end + 32`, or at `at + 32`. Words are loaded before they are
    // stored, so overlap is safe. It is also correct, though safety does not need that: a word holds finished bytes
    // only, since it is not longer than `distance`, or is stored at steps of `distance`, each of which finishes as many
    // bytes.
    unsafe {
        if distance >= 16 {
            // Most matches fit two words: this avoids a branch that is hard to predict.
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

/// Moves a word: loads, then stores it.
///
/// # Safety
///
/// `from` may be read and `to` written for the size of the word.
#[inline(always)]
unsafe fn move_word<W>(from: *const u8, to: *mut u8) {
    // SAFETY: by the condition above; neither needs to be aligned.
    unsafe { to.cast::<W>().write_unaligned(from.cast::<W>().read_unaligned()) };
}
