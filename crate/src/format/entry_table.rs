//! A table of fixed-size entries, loaded in parts.

use crate::error::Result;
use crate::io::source::{Source, read_exact};
use crate::offsets::{ByteRange, HostOffset};
use std::rc::Rc;

/// A table that is loaded as a pass reaches it. If the requested entries ascend, each part is read once.
pub(crate) struct EntryTable {
    source: Rc<dyn Source>,
    start: HostOffset,
    entry_size: u64,
    entries: u64,
    /// Maximum number of entries in memory.
    most: u64,
    /// The loaded part: the index of its first entry, the index after its last one, and the bytes of its entries as far
    /// as the file has them.
    first: u64,
    end: u64,
    bytes: Vec<u8>,
}

impl EntryTable {
    /// Creates a table of `entries` entries of `entry_size` bytes at `start`. It keeps about `memory` bytes of entries
    /// at a time. Nothing is read yet.
    pub(super) fn new(source: Rc<dyn Source>, start: HostOffset, entry_size: u64, entries: u64, memory: u64) -> Self {
        let most = (memory / entry_size).max(1);
        Self { source, start, entry_size, entries, most, first: 0, end: 0, bytes: Vec::new() }
    }

    /// Loads the part that starts with entry `index`, unless the loaded part contains it. The table must have that
    /// entry. Fails with `source`, or with `internal` if memory runs out.
    pub(crate) async fn load(&mut self, index: u64) -> Result<()> {
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
        // There is nothing to read after the end of the file.
        self.end = if present < wanted { self.entries } else { index + wanted };
        self.first = index;
        Ok(())
    }

    pub(crate) fn place(&self, index: u64) -> HostOffset {
        HostOffset(self.start.0.saturating_add(index * self.entry_size))
    }

    /// The index after the last entry of the loaded part. The file may end before.
    pub(crate) fn end(&self) -> u64 {
        self.end
    }

    /// Returns the bytes of entries `index` to `end` (exclusive), as far as the file has them. All must be in the
    /// loaded part.
    pub(crate) fn entries(&self, index: u64, end: u64) -> &[u8] {
        let at = |index: u64| (((index - self.first) * self.entry_size).min(self.bytes.len() as u64)) as usize;
        &self.bytes[at(index)..at(end)]
    }
}

/// Counts the equal entries of `entry_size` bytes at the start of `entries`. Sparse disks mostly consist of such runs.
pub(crate) fn equal_entries(entries: &[u8], entry_size: u64) -> u64 {
    let mut entries = entries.chunks_exact(entry_size as usize);
    let Some(first) = entries.next() else { return 0 };
    1 + entries.take_while(|entry| *entry == first).count() as u64
}
