//! Walks the block allocation table (MS-VHDX 2.5) and the sector bitmaps of blocks that are partly in the file.

use super::structures::{
    BITMAP_LEN, BlockTable, ENTRY_SIZE, FULLY_PRESENT, NOT_PRESENT, OFFSET, PARTIALLY_PRESENT, STATE, UNDEFINED,
    UNMAPPED, UNMAPPED_IN_DRAFTS, ZERO,
};
use super::{BITMAP_TRUNCATED, BLOCK_TRUNCATED, ENTRY_INVALID, TABLE_TRUNCATED, Vhdx};
use crate::disk::extent::{Extent, ExtentKind, ExtentWalk};
use crate::disk::host_ranges::{HostReport, TableReports, UnitLayout};
use crate::error::Result;
use crate::error::damage::Damage;
use crate::format::WalkSetup;
use crate::format::entry_table::EntryTable;
use crate::format::listing::{BATCH, Listing};
use crate::format::sector_runs::{SECTORS, sector_runs};
use crate::format::slices::{OVERHEAD, TableSlice};
use crate::format::two_level::{Directory, Shape, SliceLimits, TwoLevel, UnitDirectory};
use crate::io::source::read_exact;
use crate::offsets::{ByteRange, GuestRange, HostOffset, le64};
use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use std::ops::Range;
use std::rc::Rc;

/// Upper bounds on the part of the BAT in memory, and on a part of a bitmap, in bytes.
const BAT_WINDOW: u64 = 256 << 10;
const SLICE: u64 = 64 << 10;

impl BlockTable {
    /// How the disk reads a block whose `state` says that it is not in the file; `None` for other states.
    fn absent(&self, state: u64) -> Option<ExtentKind> {
        match state {
            NOT_PRESENT if self.has_parent => Some(ExtentKind::Unallocated { host: None }),
            NOT_PRESENT | UNDEFINED | ZERO | UNMAPPED | UNMAPPED_IN_DRAFTS => Some(ExtentKind::Zero { host: None }),
            _ => None,
        }
    }
}

/// Returns the host offset in `entry`, whose reserved bits must be zero.
fn offset(entry: u64) -> std::result::Result<u64, Damage> {
    if entry & !STATE & !OFFSET == 0 { Ok(entry & OFFSET) } else { Err(ENTRY_INVALID) }
}

/// The sector bitmap of one chunk, as a directory of bitmaps.
struct Bitmaps {
    disk: Rc<Vhdx>,
    listing: Listing,
    /// The host offset of the block whose sectors are listed.
    block: u64,
    chunk: u64,
    /// The entry of the bitmap of `chunk`; `None` if the file ends before it, or if it was not read.
    entry: Option<u64>,
}

impl Directory for Bitmaps {
    const TABLE_TRUNCATED: Damage = BITMAP_TRUNCATED;

    async fn load(&mut self, chunk: u64) -> Result<()> {
        if self.chunk == chunk && self.entry.is_some() {
            return Ok(());
        }
        self.chunk = chunk;
        let range = ByteRange { start: self.place(chunk), len: ENTRY_SIZE };
        self.entry = None;
        if range.end() <= self.disk.source.size() {
            self.entry = Some(le64(&read_exact(&*self.disk.source, range, "table").await?, 0));
        }
        Ok(())
    }

    fn window_end(&self) -> u64 {
        self.chunk + 1
    }

    fn place(&self, chunk: u64) -> HostOffset {
        let table = &self.disk.table;
        HostOffset(table.place.0 + table.bitmap_entry(chunk) * ENTRY_SIZE)
    }

    fn table(&self, _: u64) -> std::result::Result<Option<HostOffset>, Damage> {
        let entry = self.entry.ok_or(TABLE_TRUNCATED)?;
        let host = offset(entry)?;
        if entry & STATE != FULLY_PRESENT {
            return Err(ENTRY_INVALID);
        }
        Ok(Some(HostOffset(host)))
    }
}

impl Bitmaps {
    /// Lists `part`, whose block is at `block` in the file.
    fn list_data(&self, part: Range<u64>, block: u64, batch: &mut Vec<Extent>) -> Result<()> {
        let host = HostOffset(block.saturating_add(part.start % self.disk.table.block_size));
        let range = ByteRange { start: host, len: part.end - part.start };
        if self.disk.replay.as_ref().is_some_and(|replay| replay.is_new_zeros(range)) {
            self.listing.push(batch, GuestRange::from(part), ExtentKind::Zero { host: None });
            return Ok(());
        }
        self.listing.data(batch, GuestRange::from(part), host, BLOCK_TRUNCATED, host)
    }
}

impl UnitDirectory for Bitmaps {
    const DIRECTORY_TRUNCATED: Damage = TABLE_TRUNCATED;
    const TABLE_OUTSIDE: Option<Damage> = None;

    fn listing(&self) -> &Listing {
        &self.listing
    }

    fn list_unit(&self, slice: &TableSlice, entry: usize, part: Range<u64>, batch: &mut Vec<Extent>) -> Result<()> {
        for (is_present, sectors) in sector_runs(slice.entries[entry], part, self.disk.table.sector_size) {
            if is_present {
                self.list_data(sectors, self.block, batch)?;
            } else {
                self.listing.push(batch, GuestRange::from(sectors), self.absent());
            }
        }
        Ok(())
    }
}

pub(super) struct VhdxWalk {
    disk: Rc<Vhdx>,
    bat: EntryTable,
    bitmaps: TwoLevel<Bitmaps>,
    listing: Listing,
}

impl VhdxWalk {
    pub(super) fn new(disk: Rc<Vhdx>, setup: &WalkSetup) -> Self {
        let (table, source) = (disk.table, disk.source.clone());
        let memory = setup.memory / 4;
        let shape = Shape {
            size: table.virtual_size,
            unit: SECTORS * table.sector_size,
            entry_size: 1,
            table_entries: BITMAP_LEN,
        };
        // Both are powers of two, so that a bitmap is a whole number of slices.
        let entries = 1 << memory.clamp(1, SLICE).ilog2();
        let limits = SliceLimits { entries, slices: (memory / (entries + OVERHEAD)).max(1) };
        let listing = Listing::new(&source, setup).with_doubt(disk.doubt);
        let bitmaps = Bitmaps { disk: disk.clone(), listing: listing.clone(), block: 0, chunk: 0, entry: None };
        let WalkSetup { file, ref reports, .. } = *setup;
        // MS-VHDX 2.5 forbids that blocks share a part of the file.
        let layout = UnitLayout { exclusive: true, ..UnitLayout::new(file, table.block_size) };
        reports.add(HostReport::Units(layout));
        disk.regions.all.iter().for_each(|region| reports.structure(file, region.start, region.len));
        let reports = TableReports::new(reports, file, BITMAP_LEN);
        Self {
            bat: EntryTable::new(source.clone(), table.place, ENTRY_SIZE, table.entries(), memory.min(BAT_WINDOW)),
            bitmaps: TwoLevel::new(bitmaps, shape, source, limits, setup.salvage, reports),
            listing,
            disk,
        }
    }

    /// Lists a batch of extents from `range.start` on, from the loaded part of the BAT.
    async fn step(&mut self, range: Range<u64>, batch: &mut Vec<Extent>) -> Result<()> {
        let table = self.disk.table;
        let full = batch.len() + BATCH;
        let mut at = range.start;
        self.bat.load(table.entry(at / table.block_size)).await?;
        while at < range.end && batch.len() < full {
            let block = at / table.block_size;
            let index = table.entry(block);
            if index >= self.bat.end() {
                break;
            }
            let part = |blocks: u64| at..((block + blocks) * table.block_size).min(range.end);
            let in_chunk = table.chunk_blocks() - block % table.chunk_blocks();
            let wanted = range.end.div_ceil(table.block_size) - block;
            let entries = self.bat.entries(index, self.bat.end().min(index + in_chunk.min(wanted)));
            let (entries, place) = (entries.as_chunks::<{ ENTRY_SIZE as usize }>().0, self.bat.place(index));
            let Some(entry) = entries.first().copied().map(u64::from_le_bytes) else {
                // The end of the file: everything after it is lost.
                return self.listing.lose(batch, GuestRange::from(at..range.end), TABLE_TRUNCATED, place);
            };
            let state = entry & STATE;
            if let Some(kind) = table.absent(state) {
                let equal = entries.iter().take_while(|entry| u64::from(entry[0]) & STATE == state).count();
                let part = part(equal as u64);
                at = part.end;
                self.listing.push(batch, GuestRange::from(part), kind);
                continue;
            }
            let part = part(1);
            at = part.end;
            match self.stored(entry) {
                Ok(host) if state == FULLY_PRESENT => self.bitmaps.directory.list_data(part, host, batch)?,
                Ok(host) => {
                    self.bitmaps.directory.block = host;
                    return self.bitmaps.list_batch(part, batch).await;
                }
                Err(damage) => self.listing.lose(batch, GuestRange::from(part), damage, place)?,
            }
        }
        Ok(())
    }

    /// Returns the host offset of a block, which is in the file according to `entry`.
    fn stored(&self, entry: u64) -> std::result::Result<u64, Damage> {
        let table = &self.disk.table;
        let is_valid = match entry & STATE {
            FULLY_PRESENT => true,
            PARTIALLY_PRESENT => table.has_parent,
            _ => false,
        };
        let host = offset(entry)?;
        if !is_valid {
            return Err(ENTRY_INVALID);
        }
        Ok(host)
    }
}

impl ExtentWalk for VhdxWalk {
    fn list<'a>(&'a mut self, range: GuestRange, batch: &'a mut Vec<Extent>) -> LocalBoxFuture<'a, Result<()>> {
        self.step(range.start.0..range.end.0, batch).boxed_local()
    }
}
