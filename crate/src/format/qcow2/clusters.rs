//! Walks the cluster mapping (specification: "Cluster mapping"): the L1 table, and its L2 tables.

use super::l2::{self, Cluster, ClusterContent};
use super::structures::{ENTRY, SUBCLUSTERS};
use super::{CLUSTER_TRUNCATED, COMPRESSED_TRUNCATED, L1_TRUNCATED, L2_TRUNCATED, Qcow2};
use crate::disk::extent::{Encrypted, Extent, ExtentKind};
use crate::disk::host_ranges::{HostReport, TableReports, UnitLayout};
use crate::error::Result;
use crate::error::damage::Damage;
use crate::format::WalkSetup;
use crate::format::entry_table::EntryTable;
use crate::format::listing::Listing;
use crate::format::slices::TableSlice;
use crate::format::two_level::{Directory, Shape, SliceLimits, TwoLevel, UnitDirectory};
use crate::offsets::{GuestRange, HostOffset, be64};
use std::ops::Range;
use std::rc::Rc;

/// Upper bound on the part of the L1 table in memory, in bytes.
const L1_WINDOW: u64 = 256 << 10;
/// Minimum memory for slices, in bytes.
const MIN_SLICES: u64 = 512;

/// The L1 table, as a directory of L2 tables.
pub(super) struct L1 {
    disk: Rc<Qcow2>,
    table: EntryTable,
    /// For the image's own file, with the tables and compressed clusters.
    listing: Listing,
    /// For all other data, which may be in a data file.
    data: Listing,
    is_encrypted: bool,
}

/// Creates the tables of `disk`, which are reported.
pub(super) fn tables(disk: Rc<Qcow2>, setup: &WalkSetup) -> TwoLevel<L1> {
    let WalkSetup { memory, salvage, file, ref reports, .. } = *setup;
    report(&disk, setup);
    let header = &disk.header;
    let l1_entries = disk.mapping.l1_entries_needed(header);
    let l1_memory = (memory / 4).min(L1_WINDOW);
    let slices_memory = (memory - memory / 4).max(MIN_SLICES);
    // Both are powers of two, so that a table is a whole number of slices.
    let slice_len = header.cluster_size().min(1 << slices_memory.ilog2());
    let shape = Shape {
        // The last table is a whole cluster, too.
        size: l1_entries * header.l2_span(),
        unit: header.cluster_size(),
        entry_size: header.l2_entry_size(),
        table_entries: header.l2_entries(),
    };
    let limits =
        SliceLimits { entries: slice_len / header.l2_entry_size(), slices: (slices_memory / slice_len).max(1) };
    let source = disk.source.clone();
    let table = EntryTable::new(source.clone(), disk.mapping.l1_offset, ENTRY, l1_entries, l1_memory);
    let tables = TableReports::new(reports, file, header.cluster_size());
    // A data file is the only other part a qcow2 image may have.
    let data_file = setup.parts.iter().flatten().next();
    let listing = Listing::new(&source, setup);
    let encrypted = setup.cipher.zip(disk.encryption.as_ref());
    let encrypted = encrypted.map(|(cipher, how)| Encrypted { cipher, by_guest: how.is_by_guest() });
    let data =
        data_file.map_or_else(|| listing.clone(), |file| Listing::of_part(file, setup)).with_encryption(encrypted);
    let l1 = L1 { disk, table, listing, data, is_encrypted: encrypted.is_some() };
    TwoLevel::new(l1, shape, source, limits, salvage, tables)
}

/// Reports the layout of the image's own file.
fn report(disk: &Qcow2, setup: &WalkSetup) {
    let WalkSetup { file, ref reports, .. } = *setup;
    let (header, mapping) = (&disk.header, &disk.mapping);
    let unit = header.cluster_size();
    reports.add(HostReport::Units(UnitLayout { packed: true, ..UnitLayout::new(file, unit) }));
    reports.structure(file, HostOffset(0), unit);
    reports.structure(file, mapping.l1_offset, mapping.l1_entries_needed(header) * ENTRY);
    if let Some(range) = header.refcount_table() {
        reports.structure(file, range.start, range.len);
    }
}

impl Directory for L1 {
    const TABLE_TRUNCATED: Damage = L2_TRUNCATED;

    async fn load(&mut self, index: u64) -> Result<()> {
        self.table.load(index).await
    }

    fn window_end(&self) -> u64 {
        self.table.end()
    }

    fn place(&self, index: u64) -> HostOffset {
        self.table.place(index)
    }

    fn table(&self, index: u64) -> std::result::Result<Option<HostOffset>, Damage> {
        let entry = self.table.entries(index, index + 1);
        if entry.is_empty() {
            return Err(L1_TRUNCATED);
        }
        l2::l2_table(&self.disk.header, be64(entry, 0))
    }
}

impl UnitDirectory for L1 {
    const DIRECTORY_TRUNCATED: Damage = L1_TRUNCATED;
    const TABLE_OUTSIDE: Option<Damage> = None;

    fn listing(&self) -> &Listing {
        &self.listing
    }

    fn list_unit(&self, slice: &TableSlice, entry: usize, part: Range<u64>, batch: &mut Vec<Extent>) -> Result<()> {
        let place = HostOffset(slice.host.0 + entry as u64);
        self.list_cluster(&slice.entries[entry..], place, GuestRange::from(part), batch)
    }
}

impl L1 {
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
