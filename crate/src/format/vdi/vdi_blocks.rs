//! Walks the block map, which has a 32-bit entry for each block of the disk.

use super::structures::{ENTRY_SIZE, FREE, ZERO};
use super::{BLOCK_TRUNCATED, MAP_TRUNCATED, Vdi};
use crate::disk::extent::{Extent, ExtentKind, ExtentWalk};
use crate::disk::host_ranges::{HostReport, UnitLayout};
use crate::error::Result;
use crate::format::WalkSetup;
use crate::format::entry_table::{EntryTable, equal_entries};
use crate::format::listing::{BATCH, Listing};
use crate::offsets::{GuestOffset, GuestRange, HostOffset, le32};
use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use std::rc::Rc;

/// Upper bound on the part of the map in memory, in bytes.
const MAP_WINDOW: u64 = 256 << 10;

pub(super) struct VdiWalk {
    disk: Rc<Vdi>,
    map: EntryTable,
    listing: Listing,
    /// The extent kind of a free block.
    free: ExtentKind,
}

impl VdiWalk {
    pub(super) fn new(disk: Rc<Vdi>, setup: &WalkSetup) -> Self {
        let header = &disk.header;
        let memory = setup.memory.min(MAP_WINDOW);
        let WalkSetup { file, ref reports, .. } = *setup;
        reports.add(HostReport::Units(UnitLayout {
            lead: header.block_extra,
            ..UnitLayout::new(file, header.block_size)
        }));
        Self {
            map: EntryTable::new(disk.source.clone(), header.map_offset, ENTRY_SIZE, header.blocks, memory),
            listing: Listing::new(&disk.source, setup),
            free: if header.parent.is_some() {
                ExtentKind::Unallocated { host: None }
            } else {
                ExtentKind::Zero { host: None }
            },
            disk,
        }
    }

    /// Lists a batch of extents from `range.start` on, from the loaded part of the map.
    async fn step(&mut self, range: GuestRange, batch: &mut Vec<Extent>) -> Result<()> {
        let block_size = self.disk.header.block_size;
        let mut index = range.start.0 / block_size;
        self.map.load(index).await?;
        let end = self.map.end().min(range.end.0.div_ceil(block_size));
        let mut entries = self.map.entries(index, end);
        let full = batch.len() + BATCH;
        let mut at = range.start;
        while index < end && batch.len() < full {
            let part = |blocks: u64| {
                let end = GuestOffset((index + blocks) * block_size).min(range.end);
                GuestRange { start: at, end }
            };
            let blocks = match entries.get(..ENTRY_SIZE as usize).map(|entry| le32(entry, 0)) {
                Some(entry @ (FREE | ZERO)) => {
                    let kind = if entry == FREE { self.free } else { ExtentKind::Zero { host: None } };
                    let blocks = equal_entries(entries, ENTRY_SIZE);
                    self.listing.push(batch, part(blocks), kind);
                    blocks
                }
                Some(number) => {
                    let host = HostOffset(self.place(number).saturating_add(at.0 % block_size));
                    self.listing.data(batch, part(1), host, BLOCK_TRUNCATED, host)?;
                    1
                }
                None => {
                    self.listing.lose(batch, part(end - index), MAP_TRUNCATED, self.map.place(index))?;
                    end - index
                }
            };
            at = part(blocks).end;
            index += blocks;
            entries = &entries[((blocks * ENTRY_SIZE) as usize).min(entries.len())..];
        }
        Ok(())
    }

    /// The host offset of the data of block `number` in the file.
    fn place(&self, number: u32) -> u64 {
        let header = &self.disk.header;
        let before = u64::from(number).saturating_mul(header.block_size + header.block_extra);
        before.saturating_add(header.data_offset + header.block_extra)
    }
}

impl ExtentWalk for VdiWalk {
    fn list<'a>(&'a mut self, range: GuestRange, batch: &'a mut Vec<Extent>) -> LocalBoxFuture<'a, Result<()>> {
        self.step(range, batch).boxed_local()
    }
}
