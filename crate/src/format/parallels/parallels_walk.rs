//! Walks the block allocation tables of a disk: where an image has no block, the state below it is read.

use super::parallels_header::{ENTRY_SIZE, ParallelsHeader};
use super::{
    BLOCK_MISPLACED, BLOCK_TRUNCATED, Content, Image, NOT_EMPTY, PLAIN_TRUNCATED, Parallels, Storage, TABLE_TRUNCATED,
};
use crate::disk::extent::{Extent, ExtentKind, ExtentWalk};
use crate::disk::host_ranges::{HostReport, UnitLayout};
use crate::error::Result;
use crate::format::entry_table::{EntryTable, equal_entries};
use crate::format::listing::{BATCH, Listing};
use crate::format::{PartFile, WalkSetup};
use crate::io::source::{FileId, Source};
use crate::offsets::{GuestOffset, GuestRange, HostOffset, le32};
use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use std::rc::Rc;

/// Upper bound on the part of a table in memory, in bytes.
const WINDOW: u64 = 256 << 10;
/// The entry of a block without data.
const UNALLOCATED: u32 = 0;

pub(super) struct ParallelsWalk {
    disk: Rc<Parallels>,
    setup: WalkSetup,
    /// The images of the current storage, and its number.
    images: Option<(usize, Vec<OpenImage>)>,
    /// The file and the storage whose layout was reported last.
    reported: Option<(FileId, usize)>,
}

/// An image of the current storage.
struct OpenImage {
    /// Lists the storage.
    listing: Listing,
    content: OpenContent,
}

enum OpenContent {
    Plain,
    Blocks(ParallelsHeader, EntryTable),
    /// The file was not passed.
    Unknown,
}

impl ParallelsWalk {
    pub(super) fn new(disk: Rc<Parallels>, setup: WalkSetup) -> Self {
        Self { disk, setup, images: None, reported: None }
    }

    /// Lists a batch from `range.start` on, from one file of one storage.
    async fn step(&mut self, range: GuestRange, batch: &mut Vec<Extent>) -> Result<()> {
        let disk = self.disk.clone();
        let number = disk.storages.partition_point(|storage| storage.start + storage.len <= range.start.0);
        let storage = &disk.storages[number];
        if self.images.as_ref().is_none_or(|(held, _)| *held != number) {
            // Free the tables of the last storage first.
            self.images = None;
            self.images = Some((number, self.opened(storage)));
        }
        let (_, images) = self.images.as_mut().expect("they were just opened");
        // Relative to the storage, as all ranges of its images.
        let end = GuestOffset(storage.len.min(range.end.0 - storage.start));
        let (full, mut at, mut file) = (batch.len() + BATCH, GuestOffset(range.start.0 - storage.start), None);
        while at < end && batch.len() < full {
            let mut part = GuestRange { start: at, end };
            let mut found = None;
            for image in &mut *images {
                match image.absent(part).await? {
                    Some(absent) => part = absent,
                    None => {
                        found = Some(image);
                        break;
                    }
                }
            }
            let Some(image) = found else {
                images[0].listing.push(batch, part, ExtentKind::Unallocated { host: None });
                at = part.end;
                continue;
            };
            if *file.get_or_insert(image.listing.file()) != image.listing.file() {
                break;
            }
            at = image.list(part, full, batch)?;
            let reported = (image.listing.file(), number);
            if self.reported != Some(reported) {
                self.reported = Some(reported);
                self.setup.reports.add(HostReport::Units(image.layout(storage.len)));
            }
        }
        Ok(())
    }

    /// Opens the images of `storage`, and reports their headers.
    fn opened(&self, storage: &Storage) -> Vec<OpenImage> {
        let memory = (self.setup.memory / storage.images.len().max(1) as u64).min(WINDOW);
        storage.images.iter().map(|image| self.open(image, storage.start, memory)).collect()
    }

    fn open(&self, image: &Image, start: u64, memory: u64) -> OpenImage {
        let part = image.file.map(|file| self.setup.parts.get(file).cloned().flatten());
        let own = Listing::new(&self.disk.source, &self.setup);
        let (listing, source): (_, Option<Rc<dyn Source>>) = match part {
            None => (own, Some(self.disk.source.clone())),
            Some(None) => (own, None),
            Some(Some(part @ PartFile { .. })) => (Listing::of_part(&part, &self.setup), Some(part.source.clone())),
        };
        let content = match (&image.content, source) {
            (Content::Plain, Some(_)) => OpenContent::Plain,
            (Content::Blocks(header), Some(source)) => header.get().map_or(OpenContent::Unknown, |header| {
                self.setup.reports.structure(listing.file(), HostOffset(0), header.table_end());
                let table = HostOffset(ParallelsHeader::LEN as u64);
                OpenContent::Blocks(*header, EntryTable::new(source, table, ENTRY_SIZE, header.blocks(), memory))
            }),
            (_, None) => OpenContent::Unknown,
        };
        OpenImage { listing: listing.with_base(GuestOffset(start)), content }
    }
}

impl OpenImage {
    /// Returns the start of `part` up to the first block that the image may have; `None` if `part` begins with one. Loads the table as far
    /// as needed.
    async fn absent(&mut self, part: GuestRange) -> Result<Option<GuestRange>> {
        let OpenContent::Blocks(header, table) = &mut self.content else { return Ok(None) };
        let block_size = header.block_size();
        let index = part.start.0 / block_size;
        table.load(index).await?;
        let entries = table.entries(index, table.end());
        let is_absent = entries.get(..ENTRY_SIZE as usize).is_some_and(|entry| le32(entry, 0) == UNALLOCATED);
        let end = GuestOffset((index + equal_entries(entries, ENTRY_SIZE)) * block_size).min(part.end);
        Ok(is_absent.then_some(GuestRange { end, ..part }))
    }

    /// Lists `part`, whose first block the image has. Stops before a block that the image lacks, at the end of the loaded part of the
    /// table, and at `full` extents. Returns the end of the listed range.
    fn list(&self, part: GuestRange, full: usize, batch: &mut Vec<Extent>) -> Result<GuestOffset> {
        let (header, table) = match &self.content {
            OpenContent::Unknown => {
                self.listing.push(batch, part, ExtentKind::Unallocated { host: None });
                return Ok(part.end);
            }
            OpenContent::Plain => {
                let (host, end) = (HostOffset(part.start.0), HostOffset(part.end.0));
                self.listing.data(batch, part, host, PLAIN_TRUNCATED, end)?;
                return Ok(part.end);
            }
            OpenContent::Blocks(header, table) => (header, table),
        };
        let block_size = header.block_size();
        let mut index = part.start.0 / block_size;
        let last = table.end().min(part.end.0.div_ceil(block_size));
        let mut at = part.start;
        while index < last && batch.len() < full {
            let until = |index: u64| GuestRange { start: at, end: GuestOffset(index * block_size).min(part.end) };
            let place = table.place(index);
            index = match table.entries(index, last).get(..ENTRY_SIZE as usize).map(|entry| le32(entry, 0)) {
                Some(UNALLOCATED) => break,
                None => {
                    self.listing.lose(batch, until(last), TABLE_TRUNCATED, place)?;
                    last
                }
                Some(entry) => {
                    self.list_block(header, entry, until(index + 1), place, batch)?;
                    index + 1
                }
            };
            at = GuestOffset(index * block_size).min(part.end);
        }
        Ok(at)
    }

    /// Lists `part` of the block of `entry`, which is at `place` of the file.
    fn list_block(
        &self,
        header: &ParallelsHeader,
        entry: u32,
        part: GuestRange,
        place: HostOffset,
        batch: &mut Vec<Extent>,
    ) -> Result<()> {
        let start = header.place(entry);
        if header.is_empty() {
            return self.listing.lose(batch, part, NOT_EMPTY, place);
        }
        if start < header.data_start() {
            return self.listing.lose(batch, part, BLOCK_MISPLACED, place);
        }
        let host = HostOffset(start.saturating_add(part.start.0 % header.block_size()));
        self.listing.data(batch, part, host, BLOCK_TRUNCATED, host)
    }

    /// The layout of the blocks. A plain image is one block: its storage, of `len` bytes.
    fn layout(&self, len: u64) -> UnitLayout {
        let unit = match &self.content {
            OpenContent::Blocks(header, _) => header.block_size(),
            OpenContent::Plain | OpenContent::Unknown => len,
        };
        UnitLayout { base: self.listing.base(), ..UnitLayout::new(self.listing.file(), unit) }
    }
}

impl ExtentWalk for ParallelsWalk {
    fn list<'a>(&'a mut self, range: GuestRange, batch: &'a mut Vec<Extent>) -> LocalBoxFuture<'a, Result<()>> {
        self.step(range, batch).boxed_local()
    }
}
