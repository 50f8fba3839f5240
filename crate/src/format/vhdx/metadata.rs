//! The metadata region (MS-VHDX 2.6): a table of items, and the items that describe the disk.

use super::guid::{Guid, shown_guid, unknown};
use super::parent_locator;
use super::structures::{
    DISK_ID, FILE_PARAMETERS, HAS_PARENT, ITEM_REQUIRED, LARGEST_BLOCK, LARGEST_DISK, LARGEST_SECTOR,
    LEAVE_BLOCKS_ALLOCATED, LOGICAL_SECTOR_SIZE, METADATA_SIGNATURE, METADATA_TABLE_SIZE, MIB, MetadataTableEntry,
    MetadataTableHeader, PARENT_LOCATOR, PHYSICAL_SECTOR_SIZE, VIRTUAL_SIZE,
};
use crate::disk::reference::{Reference, guid_text};
use crate::error::damage::ensure_possible;
use crate::error::{Error, Result};
use crate::io::source::{Source, read_exact};
use crate::offsets::{ByteRange, HostOffset, SECTOR, le32, le64};

/// The largest size of an item, in bytes.
const LONGEST_ITEM: u64 = MIB;
/// The known items, each with the least length of its content.
const ITEMS: [(Guid, u64); 6] = [
    (FILE_PARAMETERS, 8),
    (VIRTUAL_SIZE, 8),
    (LOGICAL_SECTOR_SIZE, 4),
    (PHYSICAL_SECTOR_SIZE, 4),
    (DISK_ID, 16),
    (PARENT_LOCATOR, parent_locator::HEADER_SIZE),
];

/// The description of the disk. Sizes are in bytes.
pub(super) struct Metadata {
    pub(super) block_size: u64,
    pub(super) virtual_size: u64,
    pub(super) logical_sector_size: u64,
    pub(super) physical_sector_size: u32,
    /// The identifier of the disk, by which a guest knows it, as text.
    pub(super) disk_id: Option<String>,
    /// Whether all blocks are allocated, and stay so.
    pub(super) is_fixed: bool,
    pub(super) parent: Option<Reference>,
}

/// A metadata item: its place and its bytes, which are empty if it is not in the file.
type Item = (HostOffset, Vec<u8>);

/// Reads the items in `region`, in the order of [`ITEMS`]. Fails with `corrupt` or `unsupported`, and as reading does.
async fn items(source: &dyn Source, region: ByteRange) -> Result<[Item; ITEMS.len()]> {
    let mut items = [const { (HostOffset(0), Vec::new()) }; ITEMS.len()];
    ensure_possible("metadata table", region.start, LARGEST_DISK, source.size())?;
    let table = read_exact(source, ByteRange { len: METADATA_TABLE_SIZE, ..region }, "metadata table").await?;
    for (item, range) in items.iter_mut().zip(places(&table, region)?) {
        if let Some(range) = range {
            *item = (range.start, read_exact(source, range, "metadata item").await?);
        }
    }
    Ok(items)
}

/// Finds the items of [`ITEMS`] in `table`, the start of `region`. Fails with `corrupt` or `unsupported`.
fn places(table: &[u8], region: ByteRange) -> Result<[Option<ByteRange>; ITEMS.len()]> {
    let (header, entries) = table.split_at(MetadataTableHeader::LEN);
    let header = MetadataTableHeader::parse(header);
    if header.signature != METADATA_SIGNATURE {
        return Err(Error::corrupt("the metadata table is missing", region.start));
    }
    let entries = entries.as_chunks::<{ MetadataTableEntry::LEN }>().0;
    let Some(entries) = entries.get(..header.entry_count.into()) else {
        let what = format!("the metadata table has {} entries, more than it has room for", header.entry_count);
        return Err(Error::corrupt(what, HostOffset(region.start.0 + MetadataTableHeader::entry_count)));
    };
    let mut places = [None; ITEMS.len()];
    for (number, bytes) in entries.iter().enumerate() {
        let entry = MetadataTableEntry::parse(bytes);
        let place = HostOffset(region.start.0 + (MetadataTableHeader::LEN + number * MetadataTableEntry::LEN) as u64);
        let corrupt =
            |what: &str| Err(Error::corrupt(format!("the metadata item {} {what}", shown_guid(&entry.item_id)), place));
        let Some(known) = ITEMS.iter().position(|(id, _)| *id == entry.item_id) else {
            if entry.flags & ITEM_REQUIRED != 0 {
                return Err(unknown("metadata item", &entry.item_id));
            }
            continue;
        };
        let (offset, len) = (u64::from(entry.offset), u64::from(entry.length));
        let has_room = offset >= METADATA_TABLE_SIZE && offset + len <= region.len;
        if !has_room || !(ITEMS[known].1..=LONGEST_ITEM).contains(&len) {
            return corrupt("has an invalid position or length");
        }
        let item = ByteRange { start: HostOffset(region.start.0 + offset), len };
        if places[known].replace(item).is_some() {
            return corrupt("is listed twice");
        }
    }
    let mut sorted: Vec<_> = places.iter().flatten().collect();
    sorted.sort_by_key(|item| item.start);
    if let Some(two) = sorted.windows(2).find(|two| two[0].end() > two[1].start.0) {
        return Err(Error::corrupt("two metadata items overlap", two[1].start));
    }
    Ok(places)
}

impl Metadata {
    /// Reads the items of `region`. Fails with `corrupt` or `unsupported`, and as reading does.
    pub(super) async fn read(source: &dyn Source, region: ByteRange) -> Result<Self> {
        Self::of(&items(source, region).await?, region)
    }

    fn of(items: &[Item; ITEMS.len()], region: ByteRange) -> Result<Self> {
        let [parameters, size, sector_size, physical, disk_id, locator] = items;
        let flags = parameters.1.get(4..).map_or(0, |flags| le32(flags, 0));
        let required = if flags & HAS_PARENT == 0 { ITEMS.len() - 1 } else { ITEMS.len() };
        if let Some(missing) = items[..required].iter().position(|(_, item)| item.is_empty()) {
            let what = format!("the metadata item {} is missing", shown_guid(&ITEMS[missing].0));
            return Err(Error::corrupt(what, region.start));
        }
        let block_size = u64::from(le32(&parameters.1, 0));
        if !block_size.is_power_of_two() || !(MIB..=LARGEST_BLOCK).contains(&block_size) {
            let what = format!("the block size is {block_size}, not a power of two from 1 MiB to 256 MiB");
            return Err(Error::corrupt(what, parameters.0));
        }
        let logical_sector_size = u64::from(le32(&sector_size.1, 0));
        if ![SECTOR, LARGEST_SECTOR.into()].contains(&logical_sector_size) {
            let what = format!("a sector is {logical_sector_size} bytes, neither 512 nor 4096");
            return Err(Error::corrupt(what, sector_size.0));
        }
        let virtual_size = le64(&size.1, 0);
        if virtual_size > LARGEST_DISK || !virtual_size.is_multiple_of(logical_sector_size) {
            let what = format!("the virtual size is {virtual_size}, not whole sectors up to 64 TiB");
            return Err(Error::corrupt(what, size.0));
        }
        let parent = (flags & HAS_PARENT != 0).then(|| parent_locator::parent(&locator.1, locator.0)).transpose()?;
        Ok(Self {
            block_size,
            virtual_size,
            logical_sector_size,
            physical_sector_size: le32(&physical.1, 0),
            disk_id: disk_id.1.first_chunk().and_then(guid_text),
            is_fixed: flags & LEAVE_BLOCKS_ALLOCATED != 0,
            parent,
        })
    }
}
