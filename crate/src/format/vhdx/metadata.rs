//! The metadata region (MS-VHDX 2.6): a table of items, and the items that describe the disk.

use super::guid::{Guid, guid, shown_guid};
use super::parent_locator;
use super::vhdx_header::MIB;
use crate::disk::reference::{Reference, guid_text};
use crate::error::{Error, Result};
use crate::io::source::{Source, read_exact};
use crate::offsets::{ByteRange, HostOffset, SECTOR, le32, le64};
use crate::structure::structure;

const SIGNATURE: [u8; 8] = *b"metadata";
const TABLE_SIZE: u64 = 64 << 10;
const REQUIRED: u32 = 4;
/// Largest sizes: of an item, of a block and of a disk, in bytes.
const LONGEST_ITEM: u64 = MIB;
const LARGEST_BLOCK: u64 = 256 * MIB;
const LARGEST_DISK: u64 = 64 << 40;

const FILE_PARAMETERS: Guid = guid(0xcaa1_6737_fa36_4d43_b3b6_33f0_aa44_e76b);
const VIRTUAL_SIZE: Guid = guid(0x2fa5_4224_cd1b_4876_b211_5dbe_d83b_f4b8);
const DISK_ID: Guid = guid(0xbeca_12ab_b2e6_4523_93ef_c309_e000_c746);
const LOGICAL_SECTOR_SIZE: Guid = guid(0x8141_bf1d_a96f_4709_ba47_f233_a8fa_ab5f);
const PHYSICAL_SECTOR_SIZE: Guid = guid(0xcda3_48c7_445d_4471_9cc9_e988_5251_c556);
const PARENT_LOCATOR: Guid = guid(0xa8d3_5f2d_b30b_454d_abf7_d3d8_4834_ab0c);
/// The known items, each with the least length of its content.
const ITEMS: [(Guid, u64); 6] = [
    (FILE_PARAMETERS, 8),
    (VIRTUAL_SIZE, 8),
    (DISK_ID, 16),
    (LOGICAL_SECTOR_SIZE, 4),
    (PHYSICAL_SECTOR_SIZE, 4),
    (PARENT_LOCATOR, parent_locator::HEADER_SIZE),
];

/// Bits of the file parameters.
const LEAVE_BLOCKS_ALLOCATED: u32 = 1;
const HAS_PARENT: u32 = 2;

structure! {
    /// "Metadata Table Header" (2.6.1.1).
    struct TableHeader: Little {
        signature: [u8; 8] = 0,
        entry_count: u16 = 10,
        reserved: [u8; 20] = 12,
    }
}

structure! {
    /// "Metadata Table Entry" (2.6.1.2).
    struct TableEntry: Little {
        item_id: Guid = 0,
        offset: u32 = 16,
        length: u32 = 20,
        flags: u32 = 24,
        reserved: u32 = 28,
    }
}

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

/// The places of the known items, in the order of [`ITEMS`].
struct Items([Option<ByteRange>; ITEMS.len()]);

impl Items {
    /// Reads the table at the start of `region`. Fails with `corrupt` or `unsupported`, and as reading does.
    async fn read(source: &dyn Source, region: ByteRange) -> Result<Self> {
        let range = ByteRange { len: TABLE_SIZE, ..region };
        let bytes = read_exact(source, range, "metadata table").await?;
        let (header, entries) = bytes.split_at(TableHeader::LEN);
        let header = TableHeader::parse(header);
        if header.signature != SIGNATURE {
            return Err(Error::corrupt("the metadata table is missing", region.start));
        }
        let entries = entries.as_chunks::<{ TableEntry::LEN }>().0;
        let Some(entries) = entries.get(..header.entry_count.into()) else {
            let what = format!("the metadata table has {} entries, more than it has room for", header.entry_count);
            return Err(Error::corrupt(what, HostOffset(region.start.0 + TableHeader::entry_count)));
        };
        let mut items = [None; ITEMS.len()];
        for (number, bytes) in entries.iter().enumerate() {
            let entry = TableEntry::parse(bytes);
            let place = HostOffset(region.start.0 + (TableHeader::LEN + number * TableEntry::LEN) as u64);
            let name = || shown_guid(&entry.item_id);
            let Some(known) = ITEMS.iter().position(|(id, _)| *id == entry.item_id) else {
                if entry.flags & REQUIRED != 0 {
                    let what = format!("the required metadata item {}", name());
                    return Err(Error::unsupported(what).coded("unknown-metadata"));
                }
                continue;
            };
            let (offset, len) = (u64::from(entry.offset), u64::from(entry.length));
            let is_valid =
                offset >= TABLE_SIZE && offset + len <= region.len && (ITEMS[known].1..=LONGEST_ITEM).contains(&len);
            if !is_valid {
                let what = format!("the metadata item {} has an invalid position or length", name());
                return Err(Error::corrupt(what, place));
            }
            let item = ByteRange { start: HostOffset(region.start.0 + offset), len };
            if items[known].replace(item).is_some() {
                return Err(Error::corrupt(format!("the metadata item {} is listed twice", name()), place));
            }
        }
        Ok(Self(items))
    }

    /// Reads the item `id`. Returns its place and its bytes.
    async fn item(&self, source: &dyn Source, id: &Guid, region: ByteRange) -> Result<(HostOffset, Vec<u8>)> {
        let known = ITEMS.iter().position(|(known, _)| known == id);
        let Some(range) = known.and_then(|known| self.0[known]) else {
            return Err(Error::corrupt(format!("the metadata item {} is missing", shown_guid(id)), region.start));
        };
        Ok((range.start, read_exact(source, range, "metadata item").await?))
    }
}

impl Metadata {
    /// Reads the items of `region`. Fails with `corrupt` or `unsupported`, and as reading does.
    pub(super) async fn read(source: &dyn Source, region: ByteRange) -> Result<Self> {
        let items = Items::read(source, region).await?;
        let (place, parameters) = items.item(source, &FILE_PARAMETERS, region).await?;
        let (block_size, flags) = (u64::from(le32(&parameters, 0)), le32(&parameters, 4));
        if !block_size.is_power_of_two() || !(MIB..=LARGEST_BLOCK).contains(&block_size) {
            let what = format!("the block size is {block_size}, not a power of two from 1 MiB to 256 MiB");
            return Err(Error::corrupt(what, place));
        }
        let (place, sector_size) = items.item(source, &LOGICAL_SECTOR_SIZE, region).await?;
        let logical_sector_size = u64::from(le32(&sector_size, 0));
        if ![SECTOR, 4096].contains(&logical_sector_size) {
            let what = format!("the size of a sector is {logical_sector_size} bytes, neither 512 nor 4096");
            return Err(Error::corrupt(what, place));
        }
        let (place, size) = items.item(source, &VIRTUAL_SIZE, region).await?;
        let virtual_size = le64(&size, 0);
        if virtual_size > LARGEST_DISK || !virtual_size.is_multiple_of(logical_sector_size) {
            let what = format!(
                "the virtual size is {virtual_size}, not whole sectors of {logical_sector_size} bytes up to 64 TiB"
            );
            return Err(Error::corrupt(what, place));
        }
        let (_, physical) = items.item(source, &PHYSICAL_SECTOR_SIZE, region).await?;
        let (_, disk_id) = items.item(source, &DISK_ID, region).await?;
        let parent = if flags & HAS_PARENT == 0 {
            None
        } else {
            let (place, locator) = items.item(source, &PARENT_LOCATOR, region).await?;
            Some(parent_locator::parent(&locator, place)?)
        };
        Ok(Self {
            block_size,
            virtual_size,
            logical_sector_size,
            physical_sector_size: le32(&physical, 0),
            disk_id: disk_id.first_chunk().and_then(guid_text),
            is_fixed: flags & LEAVE_BLOCKS_ALLOCATED != 0,
            parent,
        })
    }
}
