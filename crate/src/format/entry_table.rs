//! A table whose entries all have one length, held a part at a time.

use crate::error::Result;
use crate::io::source::{Source, read_exact};
use crate::offsets::{ByteRange, HostOffset};
use std::rc::Rc;

/// A table that is read as a pass reaches it. If the entries that are asked for ascend, each part is read once.
pub(super) struct Table {
    source: Rc<dyn Source>,
    start: HostOffset,
    entry_size: u64,
    entries: u64,
    /// Upper bound on the entries that are held.
    most: u64,
    /// The part that is held: the index of its first entry, the index behind its last one, and the bytes of those entries
    /// that the file has.
    first: u64,
    end: u64,
    bytes: Vec<u8>,
}

impl Table {
    /// A table of `entries` entries of `entry_size` bytes at `start`, of which about `memory` bytes are held at once. It
    /// reads nothing yet.
    pub fn new(source: Rc<dyn Source>, start: HostOffset, entry_size: u64, entries: u64, memory: u64) -> Self {
        let most = (memory / entry_size).max(1);
        Self { source, start, entry_size, entries, most, first: 0, end: 0, bytes: Vec::new() }
    }

    /// Reads the part from entry `index` on, unless it is held. The table has that entry. Fails with `source`, or with
    /// `internal` if memory runs out.
    pub async fn load(&mut self, index: u64) -> Result<()> {
        if (self.first..self.end).contains(&index) {
            return Ok(());
        }
        let wanted = (self.entries - index).min(self.most);
        let start = self.place(index);
        let present = (self.source.size().saturating_sub(start.0) / self.entry_size).min(wanted);
        self.bytes.clear();
        if present > 0 {
            let range = ByteRange { start, len: present * self.entry_size };
            self.bytes = read_exact(&*self.source, range, "table").await?;
        }
        // Behind the end of the file there is nothing more to read.
        self.end = if present < wanted { self.entries } else { index + wanted };
        self.first = index;
        Ok(())
    }

    /// Where entry `index` lies.
    pub fn place(&self, index: u64) -> HostOffset {
        HostOffset(self.start.0.saturating_add(index * self.entry_size))
    }

    /// The index behind the last entry of the part that is held. The file may end before.
    pub fn end(&self) -> u64 {
        self.end
    }

    /// The bytes of the entries from `index` to before `end`, as far as the file has them. The part that is held has all of
    /// these entries.
    pub fn entries(&self, index: u64, end: u64) -> &[u8] {
        let at = |index: u64| (((index - self.first) * self.entry_size).min(self.bytes.len() as u64)) as usize;
        &self.bytes[at(index)..at(end)]
    }
}

/// The number of equal entries of `entry_size` bytes at the start of `entries`. A sparse disk is mostly runs of them.
pub(super) fn equal_entries(entries: &[u8], entry_size: u64) -> u64 {
    let mut entries = entries.chunks_exact(entry_size as usize);
    let Some(first) = entries.next() else { return 0 };
    1 + entries.take_while(|entry| *entry == first).count() as u64
}
