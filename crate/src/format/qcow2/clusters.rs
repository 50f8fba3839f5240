//! Walks the cluster mapping (specification: "Cluster mapping").

use super::l1::{self, L1};
use super::l2::{self, Cluster, ClusterContent};
use super::structures::{ENTRY, SUBCLUSTERS};
use super::{CLUSTER_TRUNCATED, COMPRESSED_TRUNCATED, L2_TRUNCATED, Qcow2};
use crate::disk::extent::{Encrypted, Extent, ExtentKind, ExtentWalk};
use crate::disk::host_ranges::{HostReport, UnitLayout};
use crate::error::Result;
use crate::format::WalkSetup;
use crate::format::listing::{BATCH, Listing};
use crate::format::slices::SlicePart;
use crate::format::two_level::{Directory, Shape, TwoLevel};
use crate::offsets::{GuestOffset, GuestRange, HostOffset};
use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use std::rc::Rc;

pub(super) struct Qcow2Walk {
    disk: Rc<Qcow2>,
    tables: TwoLevel<L1>,
    /// For the image's own file, with the tables and compressed clusters.
    listing: Listing,
    /// For all other data, which may be in a data file.
    data: Listing,
    is_encrypted: bool,
}

/// Reports the layout of the image's own file.
fn report(disk: &Qcow2, setup: &WalkSetup) {
    let WalkSetup { file, ref reports, .. } = *setup;
    let (header, mapping) = (&disk.header, &disk.mapping);
    let unit = header.cluster_size();
    reports.add(HostReport::Units(UnitLayout {
        file,
        base: GuestOffset(0),
        unit,
        lead: 0,
        exclusive: false,
        packed: true,
    }));
    reports.structure(file, HostOffset(0), unit);
    reports.structure(file, mapping.l1_offset, mapping.l1_entries_needed(header) * ENTRY);
    if let Some(range) = header.refcount_table() {
        reports.structure(file, range.start, range.len);
    }
}

impl Qcow2Walk {
    pub(super) fn new(disk: Rc<Qcow2>, setup: WalkSetup) -> Self {
        // A data file is the only other part a qcow2 image may have.
        let data_file = setup.parts.iter().flatten().next();
        let own = || Listing::new(&*disk.source, &setup);
        report(&disk, &setup);
        let encrypted = setup.cipher.zip(disk.encryption.as_ref());
        let encrypted = encrypted.map(|(cipher, how)| Encrypted { cipher, by_guest: how.is_by_guest() });
        Self {
            tables: l1::tables(disk.clone(), &setup),
            listing: own(),
            data: data_file.map_or_else(own, |file| Listing::of_part(file, &setup)).with_encryption(encrypted),
            is_encrypted: encrypted.is_some(),
            disk,
        }
    }

    /// Lists a batch of extents from `range.start` on: those of one L2 slice, or of L1 entries without tables.
    async fn step(&mut self, range: GuestRange, batch: &mut Vec<Extent>) -> Result<()> {
        let span = self.tables.shape.span();
        let index = range.start.0 / span;
        self.tables.directory.load(index).await?;
        match self.tables.directory.table(index) {
            Ok(None) => {
                let end = GuestOffset(self.tables.end_of_missing(index, range.end.0));
                let part = GuestRange { end, ..range };
                self.listing.push(batch, part, ExtentKind::Unallocated { host: None });
            }
            Ok(Some(_)) => self.list_slice(range, batch).await?,
            Err(damage) => {
                let part = GuestRange { end: GuestOffset((index + 1) * span).min(range.end), ..range };
                self.listing.lose(batch, part, damage, self.tables.directory.place(index))?;
            }
        }
        Ok(())
    }

    /// Lists a batch of extents from `range.start` on, from the L2 slice there.
    async fn list_slice(&mut self, range: GuestRange, batch: &mut Vec<Extent>) -> Result<()> {
        let range = range.start.0..range.end.0;
        let slice = self.tables.slice(range.clone()).await?;
        let Shape { unit, entry_size, .. } = self.tables.shape;
        let full = batch.len() + BATCH;
        for (part, entry) in slice.parts(unit, entry_size, range) {
            if batch.len() >= full {
                break;
            }
            let part = GuestRange::from(part);
            match entry {
                SlicePart::Empty => self.listing.push(batch, part, ExtentKind::Unallocated { host: None }),
                SlicePart::Entry(entry) => {
                    let place = HostOffset(slice.host.0 + entry as u64);
                    self.list_cluster(&slice.entries[entry..], place, part, batch)?;
                }
                SlicePart::Missing(place) => self.listing.lose(batch, part, L2_TRUNCATED, place)?,
            }
        }
        Ok(())
    }

    /// Appends `part` of the cluster whose L2 entry is at the start of `bytes`, at offset `place`.
    fn list_cluster(&self, bytes: &[u8], place: HostOffset, part: GuestRange, batch: &mut Vec<Extent>) -> Result<()> {
        let size = self.disk.header.cluster_size();
        let start = part.start.align_down(size);
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
                        Err(damage) => self.listing.lose(batch, piece, damage, place)?,
                    }
                    at = end;
                }
                Ok(())
            }
            Ok(Cluster::Compressed { host, .. }) if host.0 >= self.listing.file_size() => {
                self.listing.lose(batch, part, COMPRESSED_TRUNCATED, host)
            }
            Ok(Cluster::Compressed { host, host_len }) => {
                let compression = self.disk.compression;
                let file = self.listing.file();
                let kind = ExtentKind::Compressed { file, host, host_len, cluster: size, skip, compression };
                self.listing.push(batch, part, kind);
                Ok(())
            }
            Err(damage) => self.listing.lose(batch, part, damage, place),
        }
    }

    /// Appends `part`, which begins `skip` bytes after the start of a cluster at `host`.
    fn list_content(
        &self,
        content: ClusterContent,
        host: Option<HostOffset>,
        skip: u64,
        part: GuestRange,
        batch: &mut Vec<Extent>,
    ) -> Result<()> {
        let host = host.map(|host| HostOffset(host.0 + skip));
        // QEMU shows no host offsets for encrypted images.
        let shown = host.filter(|_| !self.is_encrypted).map(|host| (self.data.file(), host));
        match (content, host) {
            (ClusterContent::Data, Some(host)) => return self.data.data(batch, part, host, CLUSTER_TRUNCATED, host),
            (ClusterContent::Zero, _) => self.listing.push(batch, part, ExtentKind::Zero { host: shown }),
            (ClusterContent::Data | ClusterContent::Unallocated, _) => {
                self.listing.push(batch, part, ExtentKind::Unallocated { host: shown });
            }
        }
        Ok(())
    }
}

impl ExtentWalk for Qcow2Walk {
    fn list<'a>(&'a mut self, range: GuestRange, batch: &'a mut Vec<Extent>) -> LocalBoxFuture<'a, Result<()>> {
        self.step(range, batch).boxed_local()
    }
}
