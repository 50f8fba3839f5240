//! The check of a VDI: the blocks of the block map, and their number in the header.

use super::structures::{ENTRY_SIZE, FREE, Header1, ZERO};
use super::{BLOCK_TRUNCATED, MAP_TRUNCATED, Vdi};
use crate::disk::file_check::{CheckProgress, FileCheck, FindingKind, at};
use crate::disk::host_ranges::DATA_OVERLAPS;
use crate::disk::unit_counts::UnitCounts;
use crate::error::Result;
use crate::format::entry_table::EntryTable;
use crate::offsets::{HostOffset, le32};
use std::rc::Rc;

/// Memory for the part of the map that is read at a time, in bytes.
const WINDOW: u64 = 256 << 10;
/// The code of a wrong number of blocks in the header.
const BLOCK_COUNT: &str = "check-block-count";

/// Checks `disk`. Fails with `limit`, and as reading does.
pub(super) async fn check(disk: Rc<Vdi>, progress: CheckProgress) -> Result<FileCheck> {
    let (header, size) = (&disk.header, disk.source.size());
    let stride = header.block_size + header.block_extra;
    let in_file = size.saturating_sub(header.data_offset) / stride;
    let mut report = FileCheck { has_tables: true, counts_leaks: true, ..FileCheck::default() };
    let mut used = UnitCounts::default();
    let mut allocated = 0;
    let mut map = EntryTable::new(disk.source.clone(), header.map_offset, ENTRY_SIZE, header.blocks, WINDOW);
    for index in 0..header.blocks {
        map.load(index).await?;
        let Some(entry) = map.entries(index, index + 1).get(..ENTRY_SIZE as usize) else {
            report.damaged(1, MAP_TRUNCATED, map.place(index));
            break;
        };
        let number = match le32(entry, 0) {
            FREE | ZERO => continue,
            number => u64::from(number),
        };
        // QEMU counts only blocks below the header's number of blocks.
        allocated += u64::from(number < header.blocks);
        let host = HostOffset(number.saturating_mul(stride).saturating_add(header.data_offset));
        if number >= in_file {
            report.damaged(1, BLOCK_TRUNCATED, map.place(index));
        } else {
            if used.get(number) > 0 {
                report.damaged(1, DATA_OVERLAPS, host);
            }
            used.add(number, 1)?;
        }
        progress.reached((0.0, 1.0), index, header.blocks);
    }
    if let Some(stated) = header.allocated.filter(|&stated| stated != allocated) {
        let what = format!(
            "The header states {stated} blocks with data, but the block map has {allocated}, according to the field"
        );
        let field = HostOffset(Header1::c_blocks_allocated);
        report.add(FindingKind::Corruption, 1, at(BLOCK_COUNT, field, &what));
    }
    for range in used.unused(0..in_file) {
        report.leak(range.end - range.start, stride, HostOffset(header.data_offset + range.start * stride));
    }
    Ok(report)
}
