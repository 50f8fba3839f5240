//! A pass over the cluster mapping: the L1 table a window at a time, the L2 tables as the pass
//! reaches them, several at once, each exactly once.

use super::header::{ENTRY_SIZE, Header};
use super::l2;
use crate::error::{Error, Result};
use crate::extent::{Extent, ExtentKind, ExtentWalk};
use crate::source::{Source, read_exact, read_ranges, zeroed};
use crate::units::{ByteRange, GuestOffset, HostOffset, be64};
use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use std::collections::VecDeque;
use std::rc::Rc;

/// Bytes of the L1 table that are held at once.
const L1_WINDOW: u64 = 256 << 10;
/// Bytes of L2 tables that are fetched at once (at least one table).
const L2_READ_AHEAD: u64 = 1 << 20;
/// Extents after which a batch is handed on.
const BATCH: usize = 1024;

pub(super) struct Walk {
    source: Rc<dyn Source>,
    header: Header,
    /// The next byte of the disk to describe.
    guest: u64,
    /// A part of the L1 table, and the index of its first entry.
    l1: Vec<u8>,
    l1_first: u64,
    /// Fetched L2 tables, in guest order.
    tables: VecDeque<Table>,
}

struct Table {
    l1_index: u64,
    host: HostOffset,
    entries: Vec<u8>,
}

impl Walk {
    pub fn new(source: Rc<dyn Source>, header: Header) -> Self {
        Self { source, header, guest: 0, l1: Vec::new(), l1_first: 0, tables: VecDeque::new() }
    }

    /// Describes the rest of one L2 table, a batch of it, or a stretch of missing ones.
    async fn step(&mut self, batch: &mut Vec<Extent>) -> Result<bool> {
        if self.guest >= self.header.virtual_size {
            return Ok(false);
        }
        let index = self.guest / self.header.l2_span();
        self.load_l1(index).await?;
        if self.l2_table(index)?.is_none() {
            self.skip_missing(index, batch)?;
            return Ok(true);
        }
        if self.tables.is_empty() {
            self.load_l2(index).await?;
        }
        self.list_table(batch)?;
        Ok(true)
    }

    /// Makes the L1 window hold entry `index`.
    async fn load_l1(&mut self, index: u64) -> Result<()> {
        if index >= self.l1_first && index < self.l1_end() {
            return Ok(());
        }
        let len = (self.header.l1_entries_needed() - index) * ENTRY_SIZE;
        let start = HostOffset(self.header.l1_offset.0.saturating_add(index * ENTRY_SIZE));
        let range = ByteRange::new(start, len.min(L1_WINDOW), "L1 table")?;
        self.l1 = read_exact(&*self.source, range, "L1 table").await?;
        self.l1_first = index;
        Ok(())
    }

    fn l1_end(&self) -> u64 {
        self.l1_first + self.l1.len() as u64 / ENTRY_SIZE
    }

    /// Where the L2 table of entry `index`, which is in the window, lies.
    fn l2_table(&self, index: u64) -> Result<Option<HostOffset>> {
        let at = (index - self.l1_first) * ENTRY_SIZE;
        let place = HostOffset(self.header.l1_offset.0 + index * ENTRY_SIZE);
        l2::l2_table(&self.header, be64(&self.l1, at as usize), place)
    }

    /// Describes the stretch of missing L2 tables from `index` on in one step.
    fn skip_missing(&mut self, mut index: u64, batch: &mut Vec<Extent>) -> Result<()> {
        while index < self.l1_end() && self.l2_table(index)?.is_none() {
            index += 1;
        }
        let end = (index * self.header.l2_span()).min(self.header.virtual_size);
        self.push(batch, end - self.guest, ExtentKind::Unallocated);
        Ok(())
    }

    /// Fetches the L2 table of entry `index` and those behind it, neighbours in one read.
    async fn load_l2(&mut self, index: u64) -> Result<()> {
        let size = self.header.cluster_size();
        let count = (L2_READ_AHEAD / size).max(1) as usize;
        let mut wanted = Vec::new();
        for index in index..self.l1_end() {
            if wanted.len() == count {
                break;
            }
            if let Some(host) = self.l2_table(index)? {
                // A table further on that is cut off fails when the pass has reached it.
                if host.0 + size > self.source.size() && !wanted.is_empty() {
                    break;
                }
                wanted.push((index, host));
            }
        }
        let mut ranges: Vec<ByteRange> = Vec::new();
        for &(_, host) in &wanted {
            if host.0 + size > self.source.size() {
                return Err(Error::truncated("an L2 table", host, self.source.size()));
            }
            match ranges.last_mut() {
                Some(last) if last.end() == host.0 => last.len += size,
                _ => ranges.push(ByteRange { start: host, len: size }),
            }
        }
        let mut bytes = zeroed(wanted.len() * size as usize)?;
        read_ranges(&*self.source, &ranges, &mut bytes).await?;
        let entries = bytes.chunks_exact(size as usize);
        self.tables.extend(wanted.into_iter().zip(entries).map(|((l1_index, host), entries)| Table {
            l1_index,
            host,
            entries: entries.to_vec(),
        }));
        Ok(())
    }

    /// Describes clusters of the first fetched table, until its end or until the batch is full.
    fn list_table(&mut self, batch: &mut Vec<Extent>) -> Result<()> {
        let table = self.tables.pop_front().expect("a table was fetched");
        let cluster_size = self.header.cluster_size();
        let first = table.l1_index * self.header.l2_span();
        let end = (first + self.header.l2_span()).min(self.header.virtual_size);
        let full = batch.len() + BATCH;
        while self.guest < end && batch.len() < full {
            let entry = (self.guest - first) / cluster_size * ENTRY_SIZE;
            let at = HostOffset(table.host.0 + entry);
            let kind = l2::cluster(&self.header, be64(&table.entries, entry as usize), at)?;
            let len = cluster_size.min(end - self.guest);
            self.check_inside(kind, len)?;
            self.push(batch, len, kind);
        }
        if self.guest < end {
            self.tables.push_front(table);
        }
        Ok(())
    }

    /// Refuses data that lies past the end of the file: QEMU would read zeros there, silently.
    fn check_inside(&self, kind: ExtentKind, len: u64) -> Result<()> {
        let size = self.source.size();
        match kind {
            ExtentKind::Data { host } if host.0 + len > size => Err(Error::truncated("a data cluster", host, size)),
            ExtentKind::Compressed { host, .. } if host.0 >= size => {
                Err(Error::truncated("a compressed cluster", host, size))
            }
            _ => Ok(()),
        }
    }

    fn push(&mut self, batch: &mut Vec<Extent>, len: u64, kind: ExtentKind) {
        let next = Extent { start: GuestOffset(self.guest), len, kind };
        self.guest += len;
        if !batch.last_mut().is_some_and(|last| last.try_extend(&next)) {
            batch.push(next);
        }
    }
}

impl ExtentWalk for Walk {
    fn next<'a>(&'a mut self, batch: &'a mut Vec<Extent>) -> LocalBoxFuture<'a, Result<bool>> {
        self.step(batch).boxed_local()
    }
}
