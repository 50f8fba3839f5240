//! Bitmaps, which QEMU keeps for backups (specification: "Bitmaps extension").

use super::super::structures::{BITMAP_ALL_ONES, BITMAP_RESERVED, BitmapEntry, BitmapsExtension, ENTRY, ENTRY_OFFSET};
use super::{Check, WINDOW, present, too_much};
use crate::disk::file_check::FindingKind::Corruption;
use crate::disk::file_check::at;
use crate::error::Result;
use crate::format::entry_table::EntryTable;
use crate::io::source::read_exact;
use crate::offsets::{ByteRange, HostOffset, be64};

const BITMAP: &str = "check-bitmap";
/// Maximum size of the directory, in bytes, as in QEMU.
const MAX_DIRECTORY: u64 = 1024 * 65_535;
/// Alignment of the entries of the directory, in bytes.
const ALIGN: u64 = 8;

impl Check {
    /// Counts the directory of bitmaps, the table of each bitmap, and its clusters. Fails with `limit`, and as reading does.
    pub(super) async fn count_bitmaps(&mut self, extension: &BitmapsExtension) -> Result<()> {
        let (size, start) = (extension.bitmap_directory_size, HostOffset(extension.bitmap_directory_offset));
        if size > MAX_DIRECTORY || start.0 == 0 || !self.disk.header.is_aligned(start.0) {
            self.refuse_bitmap(start, "The directory of bitmaps has an impossible place or size,");
            return Ok(());
        }
        self.count(start, size, 1)?;
        let source = self.disk.source.clone();
        if start.0.saturating_add(size) > source.size() {
            self.refuse_bitmap(start, "The file ends before the end of the directory of bitmaps");
            return Ok(());
        }
        let directory = read_exact(&*source, ByteRange { start, len: size }, "directory of bitmaps").await?;
        let (mut at, mut left) = (0, source.size());
        for _ in 0..extension.nb_bitmaps {
            let place = HostOffset(start.0 + at as u64);
            let Some((entry, len)) = entry_at(&directory[at..]) else {
                self.refuse_bitmap(place, "The entry of a bitmap is not in the directory of bitmaps");
                return Ok(());
            };
            self.count_bitmap(&entry, place, &mut left).await?;
            at = (at + len).min(directory.len());
        }
        Ok(())
    }

    /// Counts the table and the clusters of the bitmap `entry`. `left` is the number of bytes that tables may still have.
    async fn count_bitmap(&mut self, entry: &BitmapEntry, place: HostOffset, left: &mut u64) -> Result<()> {
        let (start, len) = (HostOffset(entry.bitmap_table_offset), u64::from(entry.bitmap_table_size) * ENTRY);
        if start.0 == 0 || !self.disk.header.is_aligned(start.0) {
            self.refuse_bitmap(place, "A bitmap's table has an impossible place, according to the entry");
            return Ok(());
        }
        let source = self.disk.source.clone();
        let entries = present(start, len, source.size());
        *left = left.checked_sub(entries * ENTRY).ok_or_else(|| too_much("tables of bitmaps"))?;
        self.count(start, len, 1)?;
        let mut table = EntryTable::new(source, start, ENTRY, entries, WINDOW);
        for index in 0..entries {
            table.load(index).await?;
            let entry = be64(table.entries(index, index + 1), 0);
            let offset = entry & ENTRY_OFFSET;
            let is_misplaced = offset != 0 && (entry & BITMAP_ALL_ONES != 0 || !self.disk.header.is_aligned(offset));
            if entry & BITMAP_RESERVED != 0 || is_misplaced {
                self.refuse_bitmap(table.place(index), "The entry of a bitmap's table is invalid");
            } else if offset != 0 {
                self.count(HostOffset(offset), self.cluster, 1)?;
            }
        }
        Ok(())
    }

    fn refuse_bitmap(&mut self, place: HostOffset, what: &str) {
        self.report.add(Corruption, 1, at(BITMAP, place, what));
    }
}

/// The entry at the start of `directory`, and its length, in bytes; `None` if the directory ends before.
fn entry_at(directory: &[u8]) -> Option<(BitmapEntry, usize)> {
    let entry = BitmapEntry::parse(directory.get(..BitmapEntry::LEN)?);
    let len = BitmapEntry::LEN as u64 + u64::from(entry.extra_data_size) + u64::from(entry.name_size);
    (len <= directory.len() as u64).then(|| (entry, len.next_multiple_of(ALIGN) as usize))
}
