//! The symbols of a block near the end of the input or the output: every bit and byte is checked.

use super::bits::Bits;
use super::tables::{Entry, Table};
use super::{Codes, InflateError};

/// Decodes until the block ends or the output is full.
#[inline(never)]
pub(super) fn run(
    bits: &mut Bits,
    output: &mut [u8],
    filled: &mut usize,
    Codes { literals, distances }: &Codes,
) -> Result<(), InflateError> {
    while *filled < output.len() {
        bits.refill();
        let entry = find(bits, literals)?;
        if entry.is_literal() {
            bits.consume(entry.bits())?;
            output[*filled] = entry.literal();
            *filled += 1;
            continue;
        }
        if entry.is_exception() {
            bits.consume(entry.bits())?;
            return if entry.is_end() { Ok(()) } else { Err(InflateError::Invalid) };
        }
        let length = take(bits, entry)?;
        bits.refill();
        let entry = find(bits, distances)?;
        if entry.is_exception() {
            return Err(InflateError::Invalid);
        }
        let distance = take(bits, entry)?;
        if distance > *filled {
            return Err(InflateError::Invalid);
        }
        // What has no room is not asked for.
        for at in *filled..(*filled + length).min(output.len()) {
            output[at] = output[at - distance];
        }
        *filled = (*filled + length).min(output.len());
    }
    Ok(())
}

/// The entry of the next code, behind the index of the main table if it is in a subtable.
fn find<const N: usize, const BITS: u32>(bits: &mut Bits, table: &Table<N, BITS>) -> Result<Entry, InflateError> {
    let entry = table.at(bits.buffer);
    if !entry.is_exception() || !entry.is_subtable() {
        return Ok(entry);
    }
    bits.consume(entry.bits())?;
    Ok(table.within(entry, bits.buffer))
}

/// The value of a length or a distance.
fn take(bits: &mut Bits, entry: Entry) -> Result<usize, InflateError> {
    let value = entry.value(bits.buffer);
    bits.consume(entry.bits())?;
    Ok(value)
}
