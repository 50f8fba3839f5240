//! Slices: parts of the tables of one file. A pass reads several at a time, in guest order, each once.

use crate::error::{Error, Result};
use crate::io::source::{Announcement, FileId, FileRange, Source, copied, read_ranges, zeroed};
use crate::offsets::{ByteRange, HostOffset, SECTOR};
use std::collections::VecDeque;
use std::ops::Range;
use std::rc::Rc;

/// Gaps between slices shorter than this (bytes) are read over. Some formats align small tables to sectors.
const GAP: u64 = SECTOR;

/// Approximate memory of a slice besides its entries, in bytes, including the gap before it.
pub(super) const OVERHEAD: u64 = 128 + GAP;

pub(crate) struct TableSlice {
    /// The range that it describes, from the start of what the tables describe: a disk, or an extent.
    pub(super) range: Range<u64>,
    pub(super) host: HostOffset,
    /// Its entries, fewer if the file ends early.
    pub(super) entries: Vec<u8>,
}

impl TableSlice {
    /// Divides the part of `range` that the slice describes, which must begin at `range.start`. The tables have an
    /// entry of `entry_size` bytes for each `unit` bytes. Each entry is a part, but runs of zero entries are one, as
    /// are all entries after the end of the file.
    pub(crate) fn parts(
        &self,
        unit: u64,
        entry_size: u64,
        range: Range<u64>,
    ) -> impl Iterator<Item = (Range<u64>, SlicePart)> {
        let end = self.range.end.min(range.end);
        // Zero entries are counted only within `range`, which may be a single unit under other layers.
        let needed = ((end - self.range.start).div_ceil(unit) * entry_size) as usize;
        let entries = &self.entries[..needed.min(self.entries.len())];
        let mut at = range.start;
        std::iter::from_fn(move || {
            if at >= end {
                return None;
            }
            let start = at / unit * unit;
            let entry = ((start - self.range.start) / unit * entry_size) as usize;
            let (units, part) = match entries.get(entry..).unwrap_or_default() {
                rest if (rest.len() as u64) < entry_size => {
                    (end.div_ceil(unit), SlicePart::Missing(HostOffset(self.host.0.saturating_add(entry as u64))))
                }
                rest => match empty_entries(rest, entry_size) {
                    0 => (1, SlicePart::Entry(entry)),
                    empty => (empty, SlicePart::Empty),
                },
            };
            let range = at..(start + units * unit).min(end);
            at = range.end;
            Some((range, part))
        })
    }
}

pub(crate) enum SlicePart {
    /// Zero entries: without a unit in the file, in every format.
    Empty,
    /// An entry, by its offset in the slice. It may be zero, too.
    Entry(usize),
    /// Entries after the end of the file. The first has this host offset.
    Missing(HostOffset),
}

/// Counts the zero entries of `entry_size` bytes at the start of `entries`; of 4-byte entries possibly one fewer, since
/// they are compared in pairs. Sparse images mostly consist of them.
fn empty_entries(entries: &[u8], entry_size: u64) -> u64 {
    const WORD: usize = size_of::<u64>();
    let words = entries.chunks_exact(WORD).take_while(|word| **word == [0; WORD]).count();
    (words * WORD) as u64 / entry_size
}

pub(crate) struct WantedSlice {
    pub(super) range: Range<u64>,
    pub(super) host: HostOffset,
    /// Length in bytes, within the file.
    pub(super) len: u64,
}

/// Slices that were read and not passed yet, in guest order.
#[derive(Default)]
pub(crate) struct TableSlices(VecDeque<Rc<TableSlice>>);

impl TableSlices {
    /// Returns the slice that describes `at`, if it is in memory. `at` must never decrease: slices before it are
    /// dropped.
    pub(crate) fn at(&mut self, at: u64) -> Option<Rc<TableSlice>> {
        while self.0.front().is_some_and(|slice| slice.range.end <= at) {
            self.0.pop_front();
        }
        self.0.front().filter(|slice| slice.range.start <= at).cloned()
    }

    /// Calls `merge` with the entries of each slice and those of the slice of `copies` for the same range. Returns whether
    /// any call returned true. The slices must not be in use.
    pub(crate) fn merge(&mut self, copies: &Self, merge: impl Fn(&mut [u8], &[u8]) -> bool) -> bool {
        let mut differ = false;
        let mut copies = copies.0.iter().peekable();
        for slice in &mut self.0 {
            if let Some(copy) = copies.next_if(|copy| copy.range.start == slice.range.start)
                && let Some(slice) = Rc::get_mut(slice)
            {
                differ |= merge(&mut slice.entries, &copy.entries);
            }
        }
        differ
    }

    /// Reads `wanted`, which must be in guest order, replacing the slices in memory. Neighbours in the file are read as
    /// one. Fails with `source`, or with `internal` if memory runs out.
    pub(crate) async fn read(&mut self, source: &Rc<dyn Source>, wanted: Vec<WantedSlice>) -> Result<()> {
        self.0.clear();
        let mut reads: Vec<FileRange> = Vec::new();
        let mut places = Vec::with_capacity(wanted.len());
        // Total length of all reads but the last.
        let mut before = 0;
        for &WantedSlice { host, len, .. } in &wanted {
            if len == 0 {
                places.push(0);
                continue;
            }
            match reads.last_mut() {
                Some(last) if last.end() <= host.0 && host.0 - last.end() < GAP => {
                    last.len = host.0 + len - last.start.0
                }
                last => {
                    before += last.map_or(0, |last| last.len);
                    reads.push(FileRange { file: FileId::IMAGE, start: host, len });
                }
            }
            let start = reads.last().map_or(0, |last| last.start.0);
            places.push((before + host.0 - start) as usize);
        }
        let announcement = if reads.len() > 1 { Announcement::to(source) } else { None };
        if let Some(announcement) = &announcement {
            // A network source may merge them.
            let ranges: Vec<_> = reads.iter().map(|read| ByteRange { start: read.start, len: read.len }).collect();
            announcement.announce(&ranges);
        }
        let mut bytes = zeroed(reads.iter().map(|read| read.len).sum::<u64>() as usize)?;
        read_ranges(std::slice::from_ref(source), &reads, &mut bytes).await?;
        self.0.try_reserve(wanted.len()).map_err(|_| Error::out_of_memory(wanted.len() * size_of::<TableSlice>()))?;
        for (WantedSlice { range, host, len }, at) in wanted.into_iter().zip(places) {
            self.0.push_back(Rc::new(TableSlice { range, host, entries: copied(&bytes[at..at + len as usize])? }));
        }
        Ok(())
    }
}
