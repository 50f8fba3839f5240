//! Walks the extents of a disk, and the grains of sparse extents.

use super::entries::Grain;
use super::extents::ExtentContent;
use super::grain_tables::{self, GrainDirectory};
use super::sparse_header::SparseHeader;
use super::stream_optimized::{FoundGrain, MarkedGrain, MarkerScan};
use super::{
    DIRECTORY_TRUNCATED, EXTENT_SHORT, EXTENT_TRUNCATED, FOOTER_LOST, GRAIN_TRUNCATED, NO_ACCESS, TABLE_TRUNCATED, Vmdk,
};
use crate::compress::{Compression, MOST_COMPRESSED};
use crate::disk::extent::{Extent, ExtentKind, ExtentWalk};
use crate::error::Result;
use crate::error::damage::Damage;
use crate::format::listing::{BATCH, Listing};
use crate::format::slices::TableSlice;
use crate::format::two_level::{TwoLevel, UnitDirectory};
use crate::format::{PartFile, WalkSetup};
use crate::offsets::{GuestRange, HostOffset, SECTOR};
use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use std::ops::Range;
use std::rc::Rc;

pub(super) struct VmdkWalk {
    disk: Rc<Vmdk>,
    setup: WalkSetup,
    /// The index and grains of the current sparse extent.
    grains: Option<(usize, Grains)>,
}

/// The way to find the grains of a sparse extent.
enum Grains {
    Tables(Box<TwoLevel<GrainDirectory>>),
    /// By markers, since the footer is missing.
    Markers(Box<MarkerScan>),
}

impl VmdkWalk {
    pub(super) fn new(disk: Rc<Vmdk>, setup: WalkSetup) -> Self {
        Self { disk, setup, grains: None }
    }

    /// Lists a batch from `range.start` on, within one extent of the disk.
    async fn step(&mut self, range: GuestRange, batch: &mut Vec<Extent>) -> Result<()> {
        let disk = self.disk.clone();
        let number = disk.extents.partition_point(|extent| extent.end() <= range.start);
        let extent = &disk.extents[number];
        let base = extent.start;
        let part = range.start - base..range.end.min(extent.end()) - base;
        let own = Listing::new(&disk.source, &self.setup).with_base(base);
        let listing = |file: &PartFile| Listing::of_part(file, &self.setup).with_base(base);
        // A file that was not handed over. Occurs only in a survey.
        let unknown = ExtentKind::Unallocated { host: None };
        match &extent.content {
            ExtentContent::Zero => own.push(batch, part.into(), ExtentKind::Zero { host: None }),
            ExtentContent::NoAccess => own.lose(batch, part.into(), NO_ACCESS, HostOffset(0))?,
            ExtentContent::Flat { file, offset } => match self.file(*file) {
                Some(file) => {
                    let (host, end) = (HostOffset(offset + part.start), HostOffset(offset + extent.len));
                    listing(&file).data(batch, part.into(), host, EXTENT_TRUNCATED, end)?;
                }
                None => own.push(batch, part.into(), unknown),
            },
            ExtentContent::Sparse { file, header } => match (self.file(*file), header.get()) {
                (Some(file), Some(sparse)) => self.list_sparse(number, sparse, part, listing(&file), batch).await?,
                _ => own.push(batch, part.into(), unknown),
            },
            ExtentContent::Embedded(sparse) => self.list_sparse(number, sparse, part, own, batch).await?,
        }
        Ok(())
    }

    /// The file of reference `at`; `None` if it was not handed over.
    fn file(&self, at: usize) -> Option<PartFile> {
        self.setup.parts.get(at)?.clone()
    }

    /// Lists a batch from `part.start` on, in sparse extent `number`. `part` is relative to the extent.
    async fn list_sparse(
        &mut self,
        number: usize,
        sparse: &SparseHeader,
        part: Range<u64>,
        listing: Listing,
        batch: &mut Vec<Extent>,
    ) -> Result<()> {
        if part.start >= sparse.capacity {
            return listing.lose(batch, part.into(), EXTENT_SHORT, HostOffset(0));
        }
        let part = part.start..part.end.min(sparse.capacity);
        if self.grains.as_ref().is_none_or(|(held, _)| *held != number) {
            // Free the previous extent's grains first.
            self.grains = None;
            let grains = match sparse.markers {
                Some(first) => Grains::Markers(Box::new(MarkerScan::new(sparse, listing.clone(), first))),
                None => {
                    if let (ExtentContent::Embedded(_), Some(range)) =
                        (&self.disk.extents[number].content, self.disk.descriptor_range)
                    {
                        self.setup.reports.structure(listing.file(), range.start, range.len);
                    }
                    Grains::Tables(Box::new(grain_tables::tables(sparse.clone(), &self.setup, listing.clone())))
                }
            };
            self.grains = Some((number, grains));
        }
        match self.grains.as_mut().map(|(_, grains)| grains) {
            Some(Grains::Tables(tables)) => tables.list_batch(part, batch).await,
            Some(Grains::Markers(scan)) => list_markers(scan, sparse, part, &listing, batch).await,
            None => unreachable!("they were just made"),
        }
    }
}

impl ExtentWalk for VmdkWalk {
    fn list<'a>(&'a mut self, range: GuestRange, batch: &'a mut Vec<Extent>) -> LocalBoxFuture<'a, Result<()>> {
        self.step(range, batch).boxed_local()
    }
}

/// Lists a batch from `range.start` on, from a stream without a footer. Everything after the last grain is lost: the
/// tables that would show whether it is absent come after it.
async fn list_markers(
    scan: &mut MarkerScan,
    sparse: &SparseHeader,
    range: Range<u64>,
    listing: &Listing,
    batch: &mut Vec<Extent>,
) -> Result<()> {
    let full = batch.len() + BATCH;
    let mut at = range.start;
    while at < range.end && batch.len() < full {
        let Some(FoundGrain { grain, hole_is_sure }) = scan.grain_after(at).await? else {
            return listing.lose(batch, (at..range.end).into(), FOOTER_LOST, HostOffset(0));
        };
        let MarkedGrain { start, host, host_len } = grain;
        let absent = at..start.min(range.end);
        if !absent.is_empty() {
            at = absent.end;
            match hole_is_sure {
                true => listing.push(batch, absent.into(), ExtentKind::Unallocated { host: None }),
                false => listing.lose(batch, absent.into(), FOOTER_LOST, HostOffset(0))?,
            }
        }
        let part = at..(start + sparse.grain).min(range.end);
        if !part.is_empty() {
            at = part.end;
            let kind = compressed_grain(listing, sparse, host, host_len, part.start);
            listing.push(batch, part.into(), kind);
        }
    }
    Ok(())
}

impl UnitDirectory for GrainDirectory {
    const DIRECTORY_TRUNCATED: Damage = DIRECTORY_TRUNCATED;
    const TABLE_OUTSIDE: Option<Damage> = Some(TABLE_TRUNCATED);

    fn listing(&self) -> &Listing {
        &self.listing
    }

    fn list_unit(&self, slice: &TableSlice, entry: usize, part: Range<u64>, batch: &mut Vec<Extent>) -> Result<()> {
        let Self { sparse, listing, .. } = self;
        match sparse.layout.grain(sparse.layout.entry(&slice.entries[entry..])) {
            Ok(Grain::Absent) => listing.push(batch, part.into(), self.absent()),
            Ok(Grain::Zero) => listing.push(batch, part.into(), ExtentKind::Zero { host: None }),
            Ok(Grain::At(host)) if sparse.compressed.is_none() => {
                let host = HostOffset(host.0.saturating_add(part.start % sparse.grain));
                listing.data(batch, part.into(), host, GRAIN_TRUNCATED, host)?;
            }
            Ok(Grain::At(host)) if host.0 >= listing.file_size() => {
                listing.lose(batch, part.into(), GRAIN_TRUNCATED, host)?
            }
            Ok(Grain::At(host)) => {
                let most = MOST_COMPRESSED * sparse.grain;
                let next = next_grain(sparse, slice, entry);
                let host_len = next.map_or(most, |next| most.min(next.saturating_sub(host.0)));
                let kind = compressed_grain(listing, sparse, host, host_len, part.start);
                listing.push(batch, part.into(), kind);
            }
            Err(damage) => {
                listing.lose(batch, part.into(), damage, HostOffset(slice.host.0.saturating_add(entry as u64)))?
            }
        }
        Ok(())
    }
}

/// Returns the extent kind at offset `at` of the extent: the rest of a compressed grain, which has at most `host_len`
/// bytes at `host`.
fn compressed_grain(listing: &Listing, sparse: &SparseHeader, host: HostOffset, host_len: u64, at: u64) -> ExtentKind {
    let skip = at % sparse.grain;
    ExtentKind::Compressed {
        file: listing.file(),
        host,
        host_len,
        cluster: sparse.grain,
        skip,
        compression: Compression::Grain(sparse.frame(at - skip)),
    }
}

/// Returns the host offset of the slice's next grain, which limits the length of grain `entry`. Returns `None` if it is
/// not after that grain: if grains are out of guest order, more is read than needed.
fn next_grain(sparse: &SparseHeader, slice: &TableSlice, entry: usize) -> Option<u64> {
    let mut entries = slice.entries[entry..]
        .chunks_exact(sparse.layout.entry_size() as usize)
        .map(|bytes| sparse.layout.entry(bytes));
    let own = entries.next()?;
    let next = entries.find(|&next| next > 1)?;
    (next > own).then_some(next * SECTOR)
}
