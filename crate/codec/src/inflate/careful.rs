//! Decodes symbols near the end of the input or output, checking every bit and byte.

use super::bit_reader::BitReader;
use super::tables::{CodeEntry, CodeTable};
use super::{BlockTables, InflateError};

/// The reason why decoding stopped.
pub(super) enum End {
    /// The block has ended.
    Block,
    /// The output has no room for the next symbol, or not for all of the last one.
    NoRoom,
}

/// Decodes until the block ends or there is no room for a symbol. That symbol is decoded nevertheless, as zlib does
/// before it stops, since it may be invalid.
#[inline(never)]
pub(super) fn run(
    bits: &mut BitReader,
    output: &mut [u8],
    filled: &mut usize,
    BlockTables { literals, distances }: &BlockTables,
) -> Result<End, InflateError> {
    loop {
        bits.refill();
        let entry = find(bits, literals)?;
        if entry.is_literal() {
            bits.consume(entry.bits())?;
            let Some(place) = output.get_mut(*filled) else { return Ok(End::NoRoom) };
            *place = entry.literal();
            *filled += 1;
            continue;
        }
        if entry.is_exception() {
            bits.consume(entry.bits())?;
            return if entry.is_end() { Ok(End::Block) } else { Err(InflateError::Invalid) };
        }
        let length = take(bits, entry)?;
        bits.refill();
        let entry = find(bits, distances)?;
        if entry.is_exception() {
            bits.consume(entry.bits())?;
            return Err(InflateError::Invalid);
        }
        let distance = take(bits, entry)?;
        let end = (*filled + length).min(output.len());
        if end == *filled {
            return Ok(End::NoRoom);
        }
        if distance > *filled {
            return Err(InflateError::Invalid);
        }
        let has_room = *filled + length == end;
        for at in *filled..end {
            output[at] = output[at - distance];
        }
        *filled = end;
        if !has_room {
            return Ok(End::NoRoom);
        }
    }
}

/// Returns the entry of the next code. If it is in a subtable, drops the bits of the main table's index.
fn find<const N: usize, const BITS: u32>(
    bits: &mut BitReader,
    table: &CodeTable<N, BITS>,
) -> Result<CodeEntry, InflateError> {
    let entry = table.at(bits.buffer);
    if !entry.is_exception() || !entry.is_subtable() {
        return Ok(entry);
    }
    bits.consume(entry.bits())?;
    Ok(table.within(entry, bits.buffer))
}

/// Takes the value of a length or distance.
fn take(bits: &mut BitReader, entry: CodeEntry) -> Result<usize, InflateError> {
    let value = entry.value(bits.buffer);
    bits.consume(entry.bits())?;
    Ok(value)
}
