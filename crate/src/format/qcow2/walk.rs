//! A pass over the cluster mapping.

use super::Qcow2;
use super::l2::{self, Cluster, Content, SUBCLUSTERS};
use super::tables::Tables;
use crate::damage::Damage;
use crate::error::Result;
use crate::extent::{Encrypted, Extent, ExtentKind, ExtentWalk};
use crate::format::WalkSetup;
use crate::source::FileId;
use crate::units::{GuestOffset, GuestRange, HostOffset};
use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use std::rc::Rc;

/// Extents after which a batch is handed on.
const BATCH: usize = 1024;
/// What is there of a truncated cluster is salvaged in whole sectors, in bytes.
const SECTOR: u64 = 512;

pub(super) struct Walk {
    disk: Rc<Qcow2>,
    tables: Tables,
    depth: u16,
    /// Where compressed data lies, and where data does that is not: its size counts.
    file: FileId,
    data: (FileId, u64),
    encrypted: Option<Encrypted>,
}

impl Walk {
    pub fn new(disk: Rc<Qcow2>, setup: WalkSetup) -> Self {
        let encrypted = setup.cipher.zip(disk.encryption.as_ref());
        Self {
            tables: Tables::new(disk.clone(), setup.memory, setup.salvage),
            depth: setup.depth,
            file: setup.file,
            data: setup.data.unwrap_or((setup.file, disk.source.size())),
            encrypted: encrypted.map(|(cipher, how)| Encrypted { cipher, by_guest: how.is_by_guest() }),
            disk,
        }
    }

    /// Describes the rest of one slice of an L2 table, a batch of it, or a stretch of missing tables.
    async fn step(&mut self, range: GuestRange, batch: &mut Vec<Extent>) -> Result<()> {
        let span = self.disk.header.l2_span();
        let index = range.start / span;
        self.tables.load_l1(index).await?;
        match self.tables.l2_table(index) {
            Ok(None) => {
                let end = self.end_of_missing(index, range.end).min(range.end);
                self.push(batch, GuestRange { end, ..range }, ExtentKind::Unallocated { host: None });
            }
            Ok(Some(_)) => self.list_slice(range, batch).await?,
            Err(damage) => {
                let damage = self.tables.tolerate(damage, self.tables.l1_place(index))?;
                let end = ((index + 1) * span).min(range.end);
                self.push(batch, GuestRange { end, ..range }, ExtentKind::Lost(damage));
            }
        }
        Ok(())
    }

    /// Where the stretch of missing L2 tables from `index` on ends, as far as the L1 window tells, and no
    /// further than it matters.
    fn end_of_missing(&self, mut index: u64, end: u64) -> u64 {
        let last = end.div_ceil(self.disk.header.l2_span()).min(self.tables.l1_end());
        while index < last && self.tables.l2_table(index) == Ok(None) {
            index += 1;
        }
        index.saturating_mul(self.disk.header.l2_span())
    }

    async fn list_slice(&mut self, range: GuestRange, batch: &mut Vec<Extent>) -> Result<()> {
        let slice = self.tables.slice(range).await?;
        let end = slice.range.end.min(range.end);
        let (cluster_size, entry_size) = (self.disk.header.cluster_size(), self.disk.header.l2_entry_size());
        // Empty entries are not looked for beyond what is asked: under a chain that may be a cluster at a time.
        let asked = ((end - slice.range.start).div_ceil(cluster_size) * entry_size) as usize;
        let entries = &slice.entries[..asked.min(slice.entries.len())];
        let full = batch.len() + BATCH;
        let mut at = range.start;
        while at < end && batch.len() < full {
            let cluster_start = at / cluster_size * cluster_size;
            let entry = ((cluster_start - slice.range.start) / cluster_size * entry_size) as usize;
            let empty = l2::empty_entries(entries.get(entry..).unwrap_or_default(), entry_size);
            let clusters = empty.max(1);
            let part = GuestRange { start: at, end: (cluster_start + clusters * cluster_size).min(end) };
            let place = HostOffset(slice.host.0 + entry as u64);
            match entries.get(entry..entry + entry_size as usize) {
                Some(_) if empty > 0 => self.push(batch, part, ExtentKind::Unallocated { host: None }),
                Some(bytes) => self.list_cluster(bytes, place, part, batch)?,
                None => self.lose(batch, part, Damage::L2Truncated, place)?,
            }
            at = part.end;
        }
        Ok(())
    }

    /// Describes `part` of the one cluster whose L2 entry is `bytes`.
    fn list_cluster(&self, bytes: &[u8], place: HostOffset, part: GuestRange, batch: &mut Vec<Extent>) -> Result<()> {
        let size = self.disk.header.cluster_size();
        let start = part.start / size * size;
        let skip = part.start - start;
        match l2::cluster(&self.disk.header, bytes, start) {
            Ok(Cluster::Whole(content, host)) => self.list_content(content, host, skip, part, batch),
            Ok(Cluster::Split { host, allocated, zero }) => {
                let subcluster = size / SUBCLUSTERS;
                let mut at = part.start;
                while at < part.end {
                    let index = (at - start) / subcluster;
                    let end = (start + (index + 1) * subcluster).min(part.end);
                    let piece = GuestRange { start: at, end };
                    match l2::subcluster(index, host, allocated, zero) {
                        Ok(content) => self.list_content(content, host, at - start, piece, batch)?,
                        Err(damage) => self.lose(batch, piece, damage, place)?,
                    }
                    at = end;
                }
                Ok(())
            }
            Ok(Cluster::Compressed { host, .. }) if host.0 >= self.disk.source.size() => {
                self.lose(batch, part, Damage::CompressedTruncated, host)
            }
            Ok(Cluster::Compressed { host, host_len }) => {
                let compression = self.disk.compression;
                let kind = ExtentKind::Compressed { file: self.file, host, host_len, cluster: size, skip, compression };
                self.push(batch, part, kind);
                Ok(())
            }
            Err(damage) => self.lose(batch, part, damage, place),
        }
    }

    /// Describes `part`, which begins `skip` bytes into a cluster at `host`.
    fn list_content(
        &self,
        content: Content,
        host: Option<HostOffset>,
        skip: u64,
        part: GuestRange,
        batch: &mut Vec<Extent>,
    ) -> Result<()> {
        let host = host.map(|host| HostOffset(host.0 + skip));
        // As QEMU does, no place is shown in an encrypted image.
        let shown = host.filter(|_| self.encrypted.is_none());
        match (content, host) {
            (Content::Data, Some(host)) => return self.list_data(host, part, batch),
            (Content::Zero, _) => self.push(batch, part, ExtentKind::Zero { host: shown }),
            (Content::Data | Content::Unallocated, _) => {
                self.push(batch, part, ExtentKind::Unallocated { host: shown });
            }
        }
        Ok(())
    }

    /// Describes data. What lies past the end of the file is refused: QEMU would read zeros there,
    /// silently.
    fn list_data(&self, host: HostOffset, part: GuestRange, batch: &mut Vec<Extent>) -> Result<()> {
        let (file, size) = self.data;
        let present = size.saturating_sub(host.0).min(part.end - part.start);
        let data = ExtentKind::Data { file, host, encrypted: self.encrypted };
        if present == part.end - part.start {
            self.push(batch, part, data);
            return Ok(());
        }
        let damage = self.tolerate_in_data(host)?;
        let middle = part.start + present / SECTOR * SECTOR;
        if middle > part.start {
            self.push(batch, GuestRange { end: middle, ..part }, data);
        }
        self.push(batch, GuestRange { start: middle, ..part }, ExtentKind::Lost(damage));
        Ok(())
    }

    fn tolerate_in_data(&self, host: HostOffset) -> Result<Damage> {
        match self.tables.tolerate(Damage::ClusterTruncated, host) {
            // The file that is too short is the data file.
            Err(_) if self.data.0 != self.file => {
                let name = self.disk.references.data_file.as_ref().map_or("", |reference| &reference.name);
                Err(Damage::ClusterTruncated.error(host, self.data.1).within(name))
            }
            result => result,
        }
    }

    fn lose(&self, batch: &mut Vec<Extent>, part: GuestRange, damage: Damage, place: HostOffset) -> Result<()> {
        let damage = self.tables.tolerate(damage, place)?;
        self.push(batch, part, ExtentKind::Lost(damage));
        Ok(())
    }

    fn push(&self, batch: &mut Vec<Extent>, part: GuestRange, kind: ExtentKind) {
        let next = Extent { start: GuestOffset(part.start), len: part.end - part.start, depth: self.depth, kind };
        if !batch.last_mut().is_some_and(|last| last.try_extend(&next)) {
            batch.push(next);
        }
    }
}

impl ExtentWalk for Walk {
    fn list<'a>(&'a mut self, range: GuestRange, batch: &'a mut Vec<Extent>) -> LocalBoxFuture<'a, Result<()>> {
        self.step(range, batch).boxed_local()
    }
}
