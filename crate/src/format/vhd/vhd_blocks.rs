//! Walks the blocks ("Block Allocation Table and Data Blocks"). A block is a bitmap of its sectors, followed by the
//! sectors.

use super::structures::{ABSENT, BAT_ENTRY, DynamicVhdHeader, VhdFooter, bitmap_len};
use super::{BITMAP_TRUNCATED, BLOCK_IN_HEADER, BLOCK_TRUNCATED, TABLE_TRUNCATED};
use crate::disk::extent::{Extent, ExtentKind};
use crate::disk::host_ranges::{HostReport, TableReports, UnitLayout};
use crate::error::damage::Damage;
use crate::error::{Error, Result};
use crate::format::WalkSetup;
use crate::format::entry_table::EntryTable;
use crate::format::listing::Listing;
use crate::format::sector_runs::{SECTORS, sector_runs};
use crate::format::slices::{OVERHEAD, TableSlice};
use crate::format::two_level::{Directory, Shape, SliceLimits, TwoLevel, UnitDirectory};
use crate::io::source::Source;
use crate::offsets::{GuestRange, HostOffset, SECTOR};
use std::ops::Range;
use std::rc::Rc;

/// The part of the disk that a byte of a bitmap describes: eight sectors, in bytes.
const UNIT: u64 = SECTORS * SECTOR;
/// Upper bounds on the part of the BAT in memory, and on a part of a bitmap, in bytes.
const BAT_WINDOW: u64 = 128 << 10;
const SLICE: u64 = 64 << 10;

/// Where the blocks are. Sizes and offsets are in bytes.
#[derive(Clone, Debug)]
pub(super) struct BlockTable {
    place: HostOffset,
    /// The offset of the field with the number of blocks.
    pub(super) entries_place: HostOffset,
    pub(super) blocks: u64,
    /// A power of two, at least [`UNIT`].
    pub(super) block_size: u64,
    /// Whether sectors that are not in the file are read from a parent. Otherwise they are zeros.
    has_parent: bool,
    /// The position of the header.
    header: HostOffset,
    /// The range of the footer at the end of the file: empty if there is none.
    footer: Range<u64>,
}

impl BlockTable {
    /// Checks the fields of `header`, which is at `place` of a file with a footer at `footer`. Fails with `corrupt` or `unsupported`.
    pub(super) fn new(
        header: &DynamicVhdHeader,
        place: HostOffset,
        has_parent: bool,
        footer: Range<u64>,
    ) -> Result<Self> {
        let block_size = u64::from(header.block_size);
        if !block_size.is_power_of_two() || block_size < SECTOR {
            let what = format!("the block size is {block_size}, not a power of two from {SECTOR} on");
            return Err(Error::corrupt(what, HostOffset(place.0 + DynamicVhdHeader::block_size)));
        }
        if block_size < UNIT {
            return Err(Error::unsupported(format!("a block size of {block_size} bytes in a VHD")));
        }
        Ok(Self {
            place: HostOffset(header.table_offset),
            entries_place: HostOffset(place.0 + DynamicVhdHeader::max_table_entries),
            blocks: header.max_table_entries.into(),
            block_size,
            has_parent,
            header: place,
            footer,
        })
    }

    /// The size of a disk that fills all blocks.
    pub(super) fn room(&self) -> u64 {
        self.blocks.saturating_mul(self.block_size)
    }

    /// The length of a sector bitmap: whole sectors.
    fn bitmap_len(&self) -> u64 {
        bitmap_len(self.block_size)
    }

    /// Whether a block with a part of the disk from `start` to `end` is in the file. Fails as reading does.
    pub(super) async fn has_data_from(&self, source: &Rc<dyn Source>, start: u64, end: u64) -> Result<bool> {
        let (mut index, end) = (start / self.block_size, end.div_ceil(self.block_size));
        let mut table = EntryTable::new(source.clone(), self.place, BAT_ENTRY, end, BAT_WINDOW);
        while index < end {
            table.load(index).await?;
            let loaded = table.entries(index, table.end().min(end));
            if loaded.as_chunks::<4>().0.iter().any(|entry| *entry != ABSENT.to_be_bytes()) {
                return Ok(true);
            }
            index = table.end();
        }
        Ok(false)
    }
}

/// The BAT, as a directory of bitmaps.
pub(super) struct Bat {
    table: BlockTable,
    entries: EntryTable,
    listing: Listing,
}

impl Directory for Bat {
    const TABLE_TRUNCATED: Damage = BITMAP_TRUNCATED;

    async fn load(&mut self, index: u64) -> Result<()> {
        self.entries.load(index).await
    }

    fn window_end(&self) -> u64 {
        self.entries.end()
    }

    fn place(&self, index: u64) -> HostOffset {
        self.entries.place(index)
    }

    fn table(&self, index: u64) -> std::result::Result<Option<HostOffset>, Damage> {
        let entry = self.entries.entries(index, index + 1);
        if entry.is_empty() {
            return Err(TABLE_TRUNCATED);
        }
        match u32::from_be_bytes(*entry.first_chunk().expect("a whole entry")) {
            ABSENT => Ok(None),
            0 => Err(BLOCK_IN_HEADER),
            sector => Ok(Some(HostOffset(u64::from(sector) * SECTOR))),
        }
    }
}

/// Creates the tables of a VHD in `source`, which are reported. With a `doubt`, all of the disk is listed as doubtful.
pub(super) fn tables(
    table: BlockTable,
    source: Rc<dyn Source>,
    setup: &WalkSetup,
    doubt: Option<Damage>,
) -> TwoLevel<Bat> {
    // The table may state more entries than the disk needs, up to 2^32-1: these are not read.
    let blocks = setup.disk_size.div_ceil(table.block_size);
    let size = blocks * table.block_size;
    let shape = Shape { size, unit: UNIT, entry_size: 1, table_entries: table.block_size / UNIT };
    let slices_memory = (setup.memory - setup.memory / 4).max(1);
    // Both are powers of two, so that a bitmap is a whole number of slices.
    let entries = (1 << slices_memory.min(SLICE).ilog2()).min(shape.table_entries);
    let limits = SliceLimits { entries, slices: (slices_memory / (entries + OVERHEAD)).max(1) };
    let bat_memory = (setup.memory / 4).min(BAT_WINDOW);
    let entries_table = EntryTable::new(source.clone(), table.place, BAT_ENTRY, blocks, bat_memory);
    let listing = Listing::new(&source, setup).with_doubt(doubt);
    let WalkSetup { file, ref reports, .. } = *setup;
    let layout = UnitLayout { lead: table.bitmap_len(), ..UnitLayout::new(file, table.block_size) };
    reports.add(HostReport::Units(layout));
    // The copy of the footer.
    reports.structure(file, HostOffset(0), VhdFooter::LEN as u64);
    reports.structure(file, table.header, DynamicVhdHeader::LEN as u64);
    reports.structure(file, table.place, blocks * BAT_ENTRY);
    reports.structure(file, HostOffset(table.footer.start), table.footer.end - table.footer.start);
    let bitmaps = TableReports { before_unit: Some(layout), ..TableReports::new(reports, file, table.bitmap_len()) };
    TwoLevel::new(Bat { table, entries: entries_table, listing }, shape, source, limits, setup.salvage, bitmaps)
}

impl UnitDirectory for Bat {
    const DIRECTORY_TRUNCATED: Damage = TABLE_TRUNCATED;
    const TABLE_OUTSIDE: Option<Damage> = Some(BLOCK_TRUNCATED);

    fn listing(&self) -> &Listing {
        &self.listing
    }

    fn absent(&self) -> ExtentKind {
        if self.table.has_parent { ExtentKind::Unallocated { host: None } } else { ExtentKind::Zero { host: None } }
    }

    fn list_unit(&self, slice: &TableSlice, entry: usize, part: Range<u64>, batch: &mut Vec<Extent>) -> Result<()> {
        let block_size = self.table.block_size;
        let bitmap = slice.host.0 - slice.range.start % block_size / UNIT;
        let data = bitmap.saturating_add(self.table.bitmap_len());
        // The first sector has the highest bit.
        for (is_present, sectors) in sector_runs(slice.entries[entry].reverse_bits(), part, SECTOR) {
            let host = HostOffset(data.saturating_add(sectors.start % block_size));
            let sectors = GuestRange::from(sectors);
            if is_present {
                self.listing.data(batch, sectors, host, BLOCK_TRUNCATED, host)?;
            } else {
                self.listing.push(batch, sectors, self.absent());
            }
        }
        Ok(())
    }
}
