//! The header of a block (the .xz file format, section 3.1).

use super::integer;
use crate::stream::{COMPRESSED_SIZE, DATA_SIZE};
use decant_module::{Fault, LARGEST_WINDOW, StreamFeature};
use lzma_rust2::{FilterConfig, FilterType, Lzma2Stream};

/// Flags of a block.
const MOST_FILTERS: u8 = 0x03;
const RESERVED: u8 = 0x3c;

/// The size of the smallest dictionary of LZMA2, in bytes.
const LEAST_DICTIONARY: u64 = 4 << 10;
/// The property of LZMA2 for a dictionary of 4 GiB less a byte, the largest.
const LARGEST_DICTIONARY: u8 = 40;

/// The content of a header.
pub(super) struct BlockHeader {
    pub(super) compressed_size: Option<u64>,
    pub(super) data_size: Option<u64>,
    /// The filter before LZMA2, if there is one.
    filter: Option<FilterConfig>,
    /// The size of LZMA2's dictionary in bytes, at most that of the data.
    pub(super) dictionary: u32,
}

impl BlockHeader {
    /// Parses a header without its checksum, which has been verified.
    pub(super) fn parse(header: &[u8]) -> Result<Self, Fault> {
        let [_, flags, rest @ ..] = header else { return Err(Fault::Invalid) };
        if flags & RESERVED != 0 {
            return Err(Fault::Unsupported(StreamFeature::Flags, (*flags).into()));
        }
        let mut rest = rest;
        let mut size_if = |flag: u8| (flags & flag != 0).then(|| integer::take(&mut rest)).transpose();
        let (compressed_size, data_size) = (size_if(COMPRESSED_SIZE)?, size_if(DATA_SIZE)?);
        let count = flags & MOST_FILTERS;
        if count > 1 {
            return Err(Fault::Unsupported(StreamFeature::Filters, u64::from(count) + 1));
        }
        let filter = (count == 1).then(|| filter(&mut rest)).transpose()?;
        // Matches reach back to the start of the block at most.
        let dictionary = dictionary(&mut rest)?.min(data_size.unwrap_or(u64::MAX).max(LEAST_DICTIONARY));
        if dictionary > LARGEST_WINDOW {
            return Err(Fault::Window(dictionary));
        }
        let dictionary = dictionary as u32;
        if rest.iter().any(|&byte| byte != 0) {
            return Err(Fault::Unsupported(StreamFeature::Flags, (*flags).into()));
        }
        Ok(Self { compressed_size, data_size, filter, dictionary })
    }

    /// Creates the decoder of the block, which takes memory for its dictionary as it decodes.
    pub(super) fn decoder(&self) -> Result<Lzma2Stream, Fault> {
        let mut decoder = Lzma2Stream::new(self.dictionary);
        decoder.set_filters(self.filter.as_slice()).map_err(|_| Fault::Invalid)?;
        Ok(decoder)
    }
}

/// Takes a filter's identifier and properties (section 5.3) from the start of `rest`.
fn take_filter<'a>(rest: &mut &'a [u8]) -> Result<(u64, &'a [u8]), Fault> {
    let id = integer::take(rest)?;
    let len = integer::take(rest)?;
    let len = usize::try_from(len).map_err(|_| Fault::Invalid)?;
    let properties = rest.split_off(..len).ok_or(Fault::Invalid)?;
    Ok((id, properties))
}

/// Takes a filter before LZMA2: delta (section 5.3.3), or one for a processor's branches (section 5.3.2).
fn filter(rest: &mut &[u8]) -> Result<FilterConfig, Fault> {
    let (id, properties) = take_filter(rest)?;
    let unsupported = Fault::Unsupported(StreamFeature::Filter, id);
    let filter_type = FilterType::try_from(id).map_err(|()| unsupported)?;
    let property = match (filter_type, properties) {
        (FilterType::Lzma2, _) => return Err(unsupported),
        (FilterType::Delta, &[distance]) => u32::from(distance) + 1,
        (FilterType::Delta, _) => return Err(Fault::Invalid),
        (_, []) => 0,
        (_, properties) => u32::from_le_bytes(properties.try_into().map_err(|_| Fault::Invalid)?),
    };
    Ok(FilterConfig { filter_type, property })
}

/// Takes LZMA2 (section 5.3.1), the last filter. Returns the size of its dictionary in bytes.
fn dictionary(rest: &mut &[u8]) -> Result<u64, Fault> {
    let (id, properties) = take_filter(rest)?;
    if FilterType::try_from(id) != Ok(FilterType::Lzma2) {
        return Err(Fault::Unsupported(StreamFeature::Filter, id));
    }
    match *properties {
        [LARGEST_DICTIONARY] => Ok(u64::from(u32::MAX)),
        [bits @ 0..LARGEST_DICTIONARY] => Ok(u64::from(2 | bits & 1) << (bits / 2 + 11)),
        [bits] => Err(Fault::Unsupported(StreamFeature::Flags, bits.into())),
        _ => Err(Fault::Invalid),
    }
}
