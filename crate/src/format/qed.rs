//! QED, as specified in QEMU's `docs/interop/qed_spec`.

mod qed_check;

use super::entry_table::{EntryTable, equal_entries};
use super::listing::{BATCH, Listing};
use super::{Disk, FileChecking, Format, FormatReader, WalkSetup};
use crate::disk::extent::{Extent, ExtentKind, ExtentWalk};
use crate::disk::file_check::CheckProgress;
use crate::disk::host_ranges::{HostReport, TableReports, UnitLayout};
use crate::disk::info::Info;
use crate::disk::reference::{Reference, Role};
use crate::error::damage::damages;
use crate::error::{Error, Result, checked_virtual_size, corrupt, ensure_header};
use crate::io::source::{Source, read_exact, read_start};
use crate::offsets::{ByteRange, GuestOffset, GuestRange, HostOffset, SECTOR, le64, text_before_nul};
use crate::structure::structure;
use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use std::rc::Rc;

pub(super) const FORMAT: Format = Format {
    name: "qed",
    extensions: &[".qed"],
    label: "QED (QEMU enhanced disk)",
    probe: |sample| sample.head.starts_with(&MAGIC),
    reader: FormatReader::Open(|source, _| open(source).boxed_local()),
    ..Format::DEFAULT
};

damages! {
    /// The file ends before or inside the L1 table.
    L1_TRUNCATED = "qed-l1-truncated", "the file ends before the end of the L1 table", lacks "an entry of the L1 table", outside L1_OUTSIDE;
    /// The L1 table is beyond any size that the complete file can have.
    L1_OUTSIDE = "qed-l1-outside", "the L1 table is far beyond the end of the file";
    /// An L2 table's offset is in the header or not aligned to a cluster.
    L2_MISPLACED = "qed-l2-misplaced", "an L2 table is in the header or not aligned to a cluster";
    /// The file ends before or inside an L2 table.
    L2_TRUNCATED = "qed-l2-truncated", "the file ends before the end of an L2 table", lacks "an entry of an L2 table", outside L2_OUTSIDE;
    /// An L2 table is beyond any size that the complete file can have.
    L2_OUTSIDE = "qed-l2-outside", "an L2 table is far beyond the end of the file";
    /// A data cluster's offset is in the header or not aligned to a cluster.
    CLUSTER_MISPLACED = "qed-cluster-misplaced", "a data cluster is in the header or not aligned to a cluster";
    /// The file ends before or inside a data cluster.
    CLUSTER_TRUNCATED = "qed-cluster-truncated", "the file ends before the end of a data cluster", lacks "a data cluster", outside CLUSTER_OUTSIDE;
    /// A data cluster is beyond any size that the complete file can have.
    CLUSTER_OUTSIDE = "qed-cluster-outside", "a data cluster is far beyond the end of the file";
}

const MAGIC: [u8; 4] = *b"QED\0";
/// Size of a table entry, in bytes.
const ENTRY_SIZE: u64 = 8;
/// Upper bound on the part of a table in memory, in bytes.
const WINDOW: u64 = 64 << 10;
/// Longest backing file name that QEMU accepts, in bytes.
const MAX_BACKING_NAME: u64 = 1023;

/// Feature bits.
const BACKING_FILE: u64 = 1 << 0;
const NEED_CHECK: u64 = 1 << 1;
const BACKING_IS_RAW: u64 = 1 << 2;

/// Table entries that are not offsets. `ZERO` is not used in an L1 table.
const UNALLOCATED: u64 = 0;
const ZERO: u64 = 1;

structure! {
    /// The header (specification: "Header").
    struct QedHeader: Little {
        magic: [u8; 4] = 0,
        /// In bytes.
        cluster_size: u32 = 4,
        /// In clusters.
        table_size: u32 = 8,
        /// Length of the header and everything else before the first cluster, in clusters.
        header_size: u32 = 12,
        features: u64 = 16,
        compat_features: u64 = 24,
        l1_table_offset: u64 = 40,
        /// In bytes.
        image_size: u64 = 48,
        backing_filename_offset: u32 = 56,
        backing_filename_size: u32 = 60,
    }
}

impl QedHeader {
    /// Parses and validates `bytes`, the first bytes of a file of `file_size` bytes. Fails with `not-recognised`,
    /// `unsupported`, `corrupt` or `limit`.
    fn validated(bytes: &[u8], file_size: u64) -> Result<Self> {
        if !bytes.starts_with(&MAGIC) {
            return Err(Error::other_format("The file is not a QED image", "qed"));
        }
        ensure_header(Self::LEN as u64, file_size)?;
        let header = Self::parse(bytes);
        header.check()?;
        Ok(header)
    }

    fn check(&self) -> Result<()> {
        let cluster_size = self.cluster_size;
        if !cluster_size.is_power_of_two() || !(1 << 12..=1 << 26).contains(&cluster_size) {
            let what = format!("the cluster size is {cluster_size}, not a power of two from 2^12 to 2^26");
            return corrupt(what, Self::cluster_size);
        }
        let clusters = self.table_size;
        if !clusters.is_power_of_two() || clusters > 16 {
            let what = format!("a table has {clusters} clusters, not a power of two from 1 to 16");
            return corrupt(what, Self::table_size);
        }
        let unknown = self.features & !(BACKING_FILE | NEED_CHECK | BACKING_IS_RAW);
        if unknown != 0 {
            let bit = unknown.trailing_zeros();
            return Err(Error::unknown_feature(format!("an unknown feature of QED (bit {bit})"), bit));
        }
        let size = self.image_size;
        if !size.is_multiple_of(SECTOR) {
            let what = format!("the virtual size of {size} bytes is not a multiple of {SECTOR}");
            return corrupt(what, Self::image_size);
        }
        checked_virtual_size(size)?;
        if self.l1_entries() > self.table_entries() {
            let what = format!("the virtual size of {size} bytes is more than the L1 table describes");
            return corrupt(what, Self::image_size);
        }
        if size > 0 && !self.is_place(self.l1_table_offset) {
            let what = "the L1 table is in the header or not aligned to a cluster";
            return corrupt(what, Self::l1_table_offset);
        }
        Ok(())
    }

    /// Size of a cluster, in bytes.
    fn cluster_len(&self) -> u64 {
        self.cluster_size.into()
    }

    /// Length of the header and everything else before the first cluster, in bytes.
    fn header_len(&self) -> u64 {
        u64::from(self.header_size) * self.cluster_len()
    }

    /// Number of entries of an L1 or L2 table.
    fn table_entries(&self) -> u64 {
        u64::from(self.table_size) * self.cluster_len() / ENTRY_SIZE
    }

    /// Whether a table or cluster may be at `offset`.
    fn is_place(&self, offset: u64) -> bool {
        offset.is_multiple_of(self.cluster_len()) && offset >= self.header_len().max(self.cluster_len())
    }

    /// The range described by one L2 table, in bytes: at most 2^53.
    fn l2_span(&self) -> u64 {
        self.table_entries() * self.cluster_len()
    }

    /// The number of L1 entries that the virtual size needs.
    fn l1_entries(&self) -> u64 {
        self.image_size.div_ceil(self.l2_span())
    }
}

async fn open(source: Rc<dyn Source>) -> Result<Rc<dyn Disk>> {
    let start = read_start(&*source, QedHeader::LEN as u64).await?;
    let header = QedHeader::validated(&start, source.size())?;
    let references = backing_file(&header, &*source).await?.into_iter().collect();
    Ok(Rc::new(Qed { source, header, references }))
}

/// Reads the reference to the backing file, if any. Its name is between the header fields and the first cluster.
async fn backing_file(header: &QedHeader, source: &dyn Source) -> Result<Option<Reference>> {
    if header.features & BACKING_FILE == 0 {
        return Ok(None);
    }
    let start = HostOffset(header.backing_filename_offset.into());
    let place = ByteRange { start, len: header.backing_filename_size.into() };
    if place.len > MAX_BACKING_NAME || place.end() > header.header_len() {
        let what = "the backing file's name is outside the header";
        return corrupt(what, QedHeader::backing_filename_offset);
    }
    let name = read_exact(source, place, "backing file's name").await?;
    // QEMU reads the name up to the first NUL, and treats an empty name as none.
    let name = Some(text_before_nul(&name)).filter(|name| !name.is_empty());
    let format = (header.features & BACKING_IS_RAW != 0).then(|| "raw".to_owned());
    name.map(|name| Reference::by_qemu(Role::BackingFile, name, format)).transpose()
}

struct Qed {
    source: Rc<dyn Source>,
    header: QedHeader,
    references: Vec<Reference>,
}

impl Disk for Qed {
    fn virtual_size(&self) -> u64 {
        self.header.image_size
    }

    fn info(&self) -> Info {
        let dirty = (self.header.features & NEED_CHECK != 0).then(|| "dirty".to_owned());
        let unknown = (self.header.compat_features != 0).then(|| "unknown compatible features".to_owned());
        Info {
            cluster_size: Some(self.header.cluster_len()),
            features: dirty.into_iter().chain(unknown).collect(),
            ..Info::default()
        }
    }

    fn references(&self) -> &[Reference] {
        &self.references
    }

    fn walk(self: Rc<Self>, setup: WalkSetup) -> Box<dyn ExtentWalk> {
        let memory = (setup.memory / 2).min(WINDOW);
        let l1_offset = HostOffset(self.header.l1_table_offset);
        let WalkSetup { file, ref reports, .. } = setup;
        reports.add(HostReport::Units(UnitLayout::new(file, self.header.cluster_len())));
        reports.structure(file, HostOffset(0), self.header.header_len());
        reports.structure(file, l1_offset, self.header.l1_entries() * ENTRY_SIZE);
        let tables = TableReports::new(reports, file, self.header.table_entries() * ENTRY_SIZE);
        Box::new(QedWalk {
            l1: EntryTable::new(self.source.clone(), l1_offset, ENTRY_SIZE, self.header.l1_entries(), memory),
            l2: None,
            memory,
            tables,
            listing: Listing::new(&self.source, &setup),
            disk: self,
        })
    }

    fn check(self: Rc<Self>, progress: CheckProgress) -> FileChecking {
        FileChecking::Own(qed_check::check(self, progress).boxed_local())
    }
}

/// A pass over the tables (specification: "Tables").
struct QedWalk {
    disk: Rc<Qed>,
    l1: EntryTable,
    /// The current L2 table, with the index of its L1 entry.
    l2: Option<(u64, EntryTable)>,
    /// Upper bound on the part of each table in memory, in bytes.
    memory: u64,
    /// Reports L2 tables.
    tables: TableReports,
    listing: Listing,
}

impl QedWalk {
    /// Lists a batch of extents from `range.start` on: those of one L2 table, or of L1 entries without tables.
    async fn step(&mut self, range: GuestRange, batch: &mut Vec<Extent>) -> Result<()> {
        let span = self.disk.header.l2_span();
        let index = range.start.0 / span;
        self.l1.load(index).await?;
        let end = self.l1.end().min(range.end.0.div_ceil(span));
        let entries = self.l1.entries(index, end);
        let place = self.l1.place(index);
        let part = |tables: u64| {
            let end = GuestOffset((index + tables).saturating_mul(span)).min(range.end);
            GuestRange { end, ..range }
        };
        match entries.get(..ENTRY_SIZE as usize).map(|entry| le64(entry, 0)) {
            None => self.listing.lose(batch, part(end - index), L1_TRUNCATED, place),
            Some(UNALLOCATED) => {
                let tables = equal_entries(entries, ENTRY_SIZE);
                self.listing.push(batch, part(tables), ExtentKind::Unallocated { host: None });
                Ok(())
            }
            Some(offset) if !self.disk.header.is_place(offset) => {
                self.listing.lose(batch, part(1), L2_MISPLACED, place)
            }
            Some(offset) => self.list_table(index, HostOffset(offset), part(1), batch).await,
        }
    }

    /// Lists a batch of extents from `range.start` on, from the L2 table at `offset` of L1 entry `index`.
    async fn list_table(
        &mut self,
        index: u64,
        offset: HostOffset,
        range: GuestRange,
        batch: &mut Vec<Extent>,
    ) -> Result<()> {
        let header = self.disk.header;
        let (cluster_size, start) = (header.cluster_len(), GuestOffset(index * header.l2_span()));
        self.open_table(index, offset);
        let (_, table) = self.l2.as_mut().expect("it was just opened");
        let mut number = (range.start - start) / cluster_size;
        table.load(number).await?;
        let (_, table) = self.l2.as_ref().expect("it was just opened");
        let end = table.end().min((range.end - start).div_ceil(cluster_size));
        let full = batch.len() + BATCH;
        let mut at = range.start;
        while number < end && batch.len() < full {
            let entries = table.entries(number, end);
            let clusters = match equal_entries(entries, ENTRY_SIZE) {
                0 => end - number,
                equal if matches!(le64(entries, 0), UNALLOCATED | ZERO) => equal,
                _ => 1,
            };
            number += clusters;
            let part = GuestRange { start: at, end: (start + number * cluster_size).min(range.end) };
            self.list_clusters(entries, table.place(number - clusters), part, batch)?;
            at = part.end;
        }
        Ok(())
    }

    /// Makes the L2 table at `offset` of L1 entry `index` the current one, and reports it.
    fn open_table(&mut self, index: u64, offset: HostOffset) {
        if self.l2.as_ref().is_some_and(|(current, _)| *current == index) {
            return;
        }
        let header = self.disk.header;
        let start = index * header.l2_span();
        let clusters = (header.image_size - start).min(header.l2_span()).div_ceil(header.cluster_len());
        self.tables.add(offset.0, offset, clusters * ENTRY_SIZE, true, start..start + header.l2_span());
        let source = self.disk.source.clone();
        self.l2 = Some((index, EntryTable::new(source, offset, ENTRY_SIZE, header.table_entries(), self.memory)));
    }

    /// Appends `part`: the clusters of equal entries at the start of `entries`, which are at `place`, or those whose entries the file
    /// lacks.
    fn list_clusters(
        &self,
        entries: &[u8],
        place: HostOffset,
        part: GuestRange,
        batch: &mut Vec<Extent>,
    ) -> Result<()> {
        match entries.get(..ENTRY_SIZE as usize).map(|entry| le64(entry, 0)) {
            None => self.listing.lose(batch, part, L2_TRUNCATED, place),
            Some(UNALLOCATED) => {
                self.listing.push(batch, part, ExtentKind::Unallocated { host: None });
                Ok(())
            }
            Some(ZERO) => {
                self.listing.push(batch, part, ExtentKind::Zero { host: None });
                Ok(())
            }
            Some(offset) if !self.disk.header.is_place(offset) => {
                self.listing.lose(batch, part, CLUSTER_MISPLACED, place)
            }
            Some(offset) => {
                let host = HostOffset(offset.saturating_add(part.start.0 % self.disk.header.cluster_len()));
                self.listing.data(batch, part, host, CLUSTER_TRUNCATED, host)
            }
        }
    }
}

impl ExtentWalk for QedWalk {
    fn list<'a>(&'a mut self, range: GuestRange, batch: &'a mut Vec<Extent>) -> LocalBoxFuture<'a, Result<()>> {
        self.step(range, batch).boxed_local()
    }
}
