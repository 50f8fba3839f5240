//! The L1 and L2 tables of one disk, held a part at a time and each part read once: a window of the L1
//! table, and slices of L2 tables as the pass reaches them, several in one go.

use super::Qcow2;
use super::header::ENTRY_SIZE;
use super::l2;
use crate::damage::Damage;
use crate::error::Result;
use crate::source::{FileId, FileRange, Source, read_exact, read_ranges, zeroed};
use crate::units::{ByteRange, GuestRange, HostOffset, be64};
use std::collections::VecDeque;
use std::rc::Rc;

/// The most bytes of the L1 table that are held at once.
const L1_WINDOW: u64 = 256 << 10;

pub(super) struct Tables {
    disk: Rc<Qcow2>,
    files: [Rc<dyn Source>; 1],
    salvage: bool,
    /// A part of the L1 table, the index of its first entry, and that behind its last one. When a
    /// truncated image is salvaged, the bytes may end before that.
    l1: Vec<u8>,
    l1_first: u64,
    l1_end: u64,
    l1_window: u64,
    /// Slices that were fetched, in guest order.
    slices: VecDeque<Rc<Slice>>,
    slice_len: u64,
    most_slices: u64,
}

/// A part of an L2 table.
pub(super) struct Slice {
    /// What of the disk it describes.
    pub range: GuestRange,
    /// Where it lies in the file.
    pub host: HostOffset,
    /// Its entries. When a truncated image is salvaged, they may end early.
    pub entries: Vec<u8>,
}

impl Tables {
    /// Holds about `memory` bytes.
    pub fn new(disk: Rc<Qcow2>, memory: u64, salvage: bool) -> Self {
        let l1_window = (memory / 4).clamp(ENTRY_SIZE, L1_WINDOW) / ENTRY_SIZE * ENTRY_SIZE;
        let most = (memory - memory / 4).max(512);
        // Both are powers of two, so that a table is a whole number of slices.
        let slice_len = disk.header.cluster_size().min(1 << most.ilog2());
        Self {
            files: [disk.source.clone()],
            salvage,
            l1: Vec::new(),
            l1_first: 0,
            l1_end: 0,
            l1_window,
            slices: VecDeque::new(),
            slice_len,
            most_slices: (most / slice_len).max(1),
            disk,
        }
    }

    /// Goes on where damage is tolerated, and fails where it is not.
    pub fn tolerate(&self, damage: Damage, place: HostOffset) -> Result<Damage> {
        if self.salvage { Ok(damage) } else { Err(damage.error(place, self.files[0].size())) }
    }

    /// Makes the L1 window hold entry `index`.
    pub async fn load_l1(&mut self, index: u64) -> Result<()> {
        if (self.l1_first..self.l1_end).contains(&index) {
            return Ok(());
        }
        let mapping = &self.disk.mapping;
        let len = (mapping.l1_entries_needed(&self.disk.header) - index) * ENTRY_SIZE;
        let start = HostOffset(mapping.l1_offset.0.saturating_add(index * ENTRY_SIZE));
        let mut range = ByteRange::new(start, len.min(self.l1_window), "L1 table")?;
        (self.l1_first, self.l1_end) = (index, index + range.len / ENTRY_SIZE);
        if self.salvage {
            let present = self.files[0].size().saturating_sub(start.0);
            range.len = range.len.min(present / ENTRY_SIZE * ENTRY_SIZE);
            if range.len == 0 {
                self.l1.clear();
                return Ok(());
            }
        }
        self.l1 = read_exact(&*self.files[0], range, "L1 table").await?;
        Ok(())
    }

    /// The index behind the last L1 entry of the window.
    pub fn l1_end(&self) -> u64 {
        self.l1_end
    }

    /// Where L1 entry `index` lies in the file.
    pub fn l1_place(&self, index: u64) -> HostOffset {
        HostOffset(self.disk.mapping.l1_offset.0.saturating_add(index * ENTRY_SIZE))
    }

    /// Where the L2 table of L1 entry `index`, which is in the window, lies.
    pub fn l2_table(&self, index: u64) -> std::result::Result<Option<HostOffset>, Damage> {
        let at = ((index - self.l1_first) * ENTRY_SIZE) as usize;
        if at >= self.l1.len() {
            return Err(Damage::L1Truncated);
        }
        l2::l2_table(&self.disk.header, be64(&self.l1, at))
    }

    /// The slice that describes `range.start`, whose L2 table there is. Those behind it that `range`
    /// needs are fetched with it, neighbours in one read.
    pub async fn slice(&mut self, range: GuestRange) -> Result<Rc<Slice>> {
        while self.slices.front().is_some_and(|slice| slice.range.end <= range.start) {
            self.slices.pop_front();
        }
        if self.slices.front().is_none_or(|slice| slice.range.start > range.start) {
            self.fetch(range).await?;
        }
        Ok(self.slices.front().expect("a slice was fetched").clone())
    }

    /// The part of the disk that a slice describes, in bytes.
    fn slice_span(&self) -> u64 {
        self.slice_len / self.disk.header.l2_entry_size() * self.disk.header.cluster_size()
    }

    async fn fetch(&mut self, range: GuestRange) -> Result<()> {
        let wanted = self.wanted(range)?;
        let file_size = self.files[0].size();
        let mut ranges: Vec<FileRange> = Vec::new();
        let mut lens = Vec::with_capacity(wanted.len());
        for &(_, host) in &wanted {
            let len = self.slice_len.min(file_size.saturating_sub(host.0));
            lens.push(len);
            match ranges.last_mut() {
                Some(last) if last.end() == host.0 => last.len += len,
                _ if len > 0 => ranges.push(FileRange { file: FileId::IMAGE, start: host, len }),
                _ => {}
            }
        }
        let mut bytes = zeroed(lens.iter().sum::<u64>() as usize)?;
        read_ranges(&self.files, &ranges, &mut bytes).await?;
        let span = self.slice_span();
        let mut rest = &bytes[..];
        self.slices.clear();
        for ((number, host), len) in wanted.into_iter().zip(lens) {
            let (entries, others) = rest.split_at(len as usize);
            rest = others;
            let range = GuestRange { start: number * span, end: (number + 1) * span };
            self.slices.push_back(Rc::new(Slice { range, host, entries: entries.to_vec() }));
        }
        Ok(())
    }

    /// The numbers and places of the slices to fetch for `range`.
    fn wanted(&self, range: GuestRange) -> Result<Vec<(u64, HostOffset)>> {
        let (span, table_size) = (self.slice_span(), self.disk.header.cluster_size());
        let per_table = table_size / self.slice_len;
        let file_size = self.files[0].size();
        let mut wanted: Vec<(u64, HostOffset)> = Vec::new();
        let mut number = range.start / span;
        while number * span < range.end && (wanted.len() as u64) < self.most_slices {
            let index = number / per_table;
            if index >= self.l1_end {
                break;
            }
            let Ok(Some(table)) = self.l2_table(index) else {
                // None, or damage that is told when the pass has reached it.
                number = (index + 1) * per_table;
                continue;
            };
            if table.0 + table_size > file_size && !self.salvage {
                // A table further on that is cut off fails when the pass has reached it.
                if wanted.is_empty() {
                    return Err(Damage::L2Truncated.error(table, file_size));
                }
                break;
            }
            wanted.push((number, HostOffset(table.0 + number % per_table * self.slice_len)));
            number += 1;
        }
        Ok(wanted)
    }
}
