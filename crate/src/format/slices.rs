//! Slices: parts of the tables of one file. A pass reaches them in guest order; several are read at once, and each only once.

use crate::error::{Error, Result};
use crate::io::source::{FileId, FileRange, Source, copied, read_ranges, zeroed};
use crate::offsets::{ByteRange, GuestRange, HostOffset, SECTOR};
use std::collections::VecDeque;
use std::rc::Rc;

/// Gaps between slices that are shorter than this (bytes) are read over. Some formats align small tables to sectors.
const GAP: u64 = SECTOR;

/// About how many bytes of memory a slice takes besides its entries, with the gap before it.
pub(super) const OVERHEAD: u64 = 128 + GAP;

/// A part of a table.
pub(super) struct Slice {
    /// The part of the disk, or of the extent, that it describes.
    pub range: GuestRange,
    /// Where it lies in the file.
    pub host: HostOffset,
    /// Its entries. They end early if the file does.
    pub entries: Vec<u8>,
}

/// A slice to be read.
pub(super) struct WantedSlice {
    pub range: GuestRange,
    pub host: HostOffset,
    /// Length in bytes. The file has all of them.
    pub len: u64,
}

/// Slices that were read and not passed yet, in guest order.
#[derive(Default)]
pub(super) struct Slices(VecDeque<Rc<Slice>>);

impl Slices {
    /// The slice that describes `at`, if it is held. `at` never descends: slices before it are dropped.
    pub fn at(&mut self, at: u64) -> Option<Rc<Slice>> {
        while self.0.front().is_some_and(|slice| slice.range.end <= at) {
            self.0.pop_front();
        }
        self.0.front().filter(|slice| slice.range.start <= at).cloned()
    }

    /// Replaces the held slices by `wanted`, which are in guest order. Neighbours in the file are one read. Fails with
    /// `source`, or with `internal` if memory runs out.
    pub async fn read(&mut self, source: &Rc<dyn Source>, wanted: Vec<WantedSlice>) -> Result<()> {
        self.0.clear();
        let mut reads: Vec<FileRange> = Vec::new();
        let mut places = Vec::with_capacity(wanted.len());
        // How many bytes all reads but the last one have.
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
        if reads.len() > 1 && source.profile().expects {
            // A source behind a network may join them.
            let ranges: Vec<_> = reads.iter().map(|read| ByteRange { start: read.start, len: read.len }).collect();
            source.expect(&ranges);
        }
        let mut bytes = zeroed(reads.iter().map(|read| read.len).sum::<u64>() as usize)?;
        read_ranges(std::slice::from_ref(source), &reads, &mut bytes).await?;
        self.0.try_reserve(wanted.len()).map_err(|_| Error::out_of_memory(wanted.len() * size_of::<Slice>()))?;
        for (WantedSlice { range, host, len }, at) in wanted.into_iter().zip(places) {
            self.0.push_back(Rc::new(Slice { range, host, entries: copied(&bytes[at..at + len as usize])? }));
        }
        Ok(())
    }
}
