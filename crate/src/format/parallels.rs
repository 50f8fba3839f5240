//! Parallels images (`.hds`), according to QEMU's `docs/interop/parallels.txt`.

use super::entry_table::{EntryTable, equal_entries};
use super::listing::{BATCH, Listing};
use super::{Disk, Format, FormatReader, WalkSetup};
use crate::disk::extent::{Extent, ExtentKind, ExtentWalk};
use crate::disk::host_ranges::{HostReport, UnitLayout};
use crate::disk::info::Info;
use crate::error::damage::damages;
use crate::error::{Error, Result, checked_size_of};
use crate::io::source::{Source, read_exact};
use crate::offsets::{ByteRange, GuestOffset, GuestRange, HostOffset, SECTOR, le32};
use crate::structure::structure;
use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use std::rc::Rc;

pub(super) const FORMAT: Format = Format {
    name: "parallels",
    extensions: &[".hds", ".hdd"],
    label: "Parallels (Parallels Desktop disk)",
    probe: |sample| [MAGIC, MAGIC_EXT].iter().any(|magic| sample.head.starts_with(magic)),
    reader: FormatReader::Open(|source, _| open(source).boxed_local()),
    ..Format::DEFAULT
};

damages! {
    /// The file ends before or inside the block allocation table.
    TABLE_TRUNCATED = "parallels-table-truncated", "the file ends before the end of the block allocation table", lacks "an entry of the block allocation table";
    /// A block is in the header or in the block allocation table.
    BLOCK_MISPLACED = "parallels-block-misplaced", "a block is before the start of the data";
    /// The image states that it has no data, but a block is allocated.
    NOT_EMPTY = "parallels-not-empty", "a block is allocated, but the header states that the image is empty";
    /// The file ends before or inside a block.
    BLOCK_TRUNCATED = "parallels-block-truncated", "the file ends before the end of a block", lacks "a block", outside BLOCK_OUTSIDE;
    /// A block is beyond any size that the complete file can have.
    BLOCK_OUTSIDE = "parallels-block-outside", "a block is far beyond the end of the file";
}

/// Entries of the table count sectors, and the disk has fewer than 2^32 of them.
const MAGIC: [u8; 16] = *b"WithoutFreeSpace";
/// Entries of the table count blocks.
const MAGIC_EXT: [u8; 16] = *b"WithouFreSpacExt";
const VERSION: u32 = 2;
/// Values of `in_use` in a file that was closed: by current programs, and by those without format extensions.
const CLOSED: [u32; 2] = [0x312e_3276, 0];
/// The bit of `flags` of an image without data.
const EMPTY: u32 = 1;
/// Size of a table entry, in bytes.
const ENTRY_SIZE: u64 = 4;
/// The entry of a block without data.
const UNALLOCATED: u32 = 0;
/// Upper bound on the part of the table in memory, in bytes.
const WINDOW: u64 = 256 << 10;

structure! {
    /// The header ("Image file header"). The block allocation table follows it.
    struct ParallelsHeader: Little {
        magic: [u8; 16] = 0,
        version: u32 = 16,
        /// Size of a block, in sectors.
        tracks: u32 = 28,
        /// Number of entries of the table.
        nb_bat_entries: u32 = 32,
        /// Virtual size, in sectors.
        nb_sectors: u64 = 36,
        in_use: u32 = 44,
        /// Offset of the first block, in sectors; 0 for the first sector after the table.
        data_off: u32 = 48,
        flags: u32 = 52,
        ext_off: u64 = 56,
    }
}

impl ParallelsHeader {
    /// Parses and validates `bytes`, the first bytes of a file of `file_size` bytes. Fails with `not-recognised`,
    /// `unsupported`, `corrupt` or `limit`.
    fn validated(bytes: &[u8], file_size: u64) -> Result<Self> {
        if ![MAGIC, MAGIC_EXT].iter().any(|magic| bytes.starts_with(magic)) {
            return Err(Error::other_format("The file is not a Parallels image", FORMAT.name));
        }
        if bytes.len() < Self::LEN {
            return Err(Error::truncated("the end of the header", HostOffset(Self::LEN as u64), file_size));
        }
        let header = Self::parse(bytes);
        header.check()?;
        Ok(header)
    }

    fn check(&self) -> Result<()> {
        if self.version != VERSION {
            return Err(Error::unknown_version(self.version, "Parallels"));
        }
        if self.tracks == 0 {
            return corrupt("the block size is 0".to_owned(), Self::tracks);
        }
        let size = checked_size_of("disk", self.sectors().checked_mul(SECTOR))?;
        let blocks = u64::from(self.nb_bat_entries);
        // In sectors: less than 2^64.
        let room = blocks * u64::from(self.tracks);
        if self.sectors() > room {
            let what = format!("the virtual size is {size} bytes, but {blocks} blocks have {room} sectors");
            return corrupt(what, Self::nb_sectors);
        }
        if self.data_off != 0 && u64::from(self.data_off) * SECTOR < self.table_end() {
            let what = "the data starts before the end of the block allocation table";
            return corrupt(what.to_owned(), Self::data_off);
        }
        Ok(())
    }

    fn has_small_units(&self) -> bool {
        self.magic == MAGIC
    }

    /// The virtual size, in sectors. An image whose table counts sectors has a field of 32 bits.
    fn sectors(&self) -> u64 {
        if self.has_small_units() { self.nb_sectors & u64::from(u32::MAX) } else { self.nb_sectors }
    }

    /// The virtual size, in bytes.
    fn virtual_size(&self) -> u64 {
        self.sectors() * SECTOR
    }

    /// Size of a block, in bytes: less than 2^41.
    fn block_size(&self) -> u64 {
        u64::from(self.tracks) * SECTOR
    }

    /// The number of blocks that the virtual size needs.
    fn blocks(&self) -> u64 {
        self.sectors().div_ceil(self.tracks.into())
    }

    /// The end of the block allocation table, in bytes.
    fn table_end(&self) -> u64 {
        Self::LEN as u64 + u64::from(self.nb_bat_entries) * ENTRY_SIZE
    }

    /// The lowest offset of a block, in bytes.
    fn data_start(&self) -> u64 {
        match self.data_off {
            0 => self.table_end().next_multiple_of(SECTOR),
            sectors => u64::from(sectors) * SECTOR,
        }
    }

    /// The offset of the block of `entry`, in bytes. One that no file can have becomes the largest offset.
    fn place(&self, entry: u32) -> u64 {
        let unit = if self.has_small_units() { SECTOR } else { self.block_size() };
        u64::from(entry).saturating_mul(unit)
    }

    fn is_empty(&self) -> bool {
        self.flags & EMPTY != 0
    }
}

fn corrupt<T>(what: String, at: u64) -> Result<T> {
    Err(Error::corrupt(what, HostOffset(at)))
}

async fn open(source: Rc<dyn Source>) -> Result<Rc<dyn Disk>> {
    let start = ByteRange { start: HostOffset(0), len: source.size().min(ParallelsHeader::LEN as u64) };
    let header = ParallelsHeader::validated(&read_exact(&*source, start, "header").await?, source.size())?;
    Ok(Rc::new(Parallels { source, header }))
}

struct Parallels {
    source: Rc<dyn Source>,
    header: ParallelsHeader,
}

impl Disk for Parallels {
    fn format(&self) -> &'static str {
        FORMAT.name
    }

    fn virtual_size(&self) -> u64 {
        self.header.virtual_size()
    }

    fn info(&self) -> Info {
        let dirty = (!CLOSED.contains(&self.header.in_use)).then(|| "dirty".to_owned());
        // As in `qemu-img info`, without the block size.
        Info { features: dirty.into_iter().collect(), ..Info::default() }
    }

    fn walk(self: Rc<Self>, setup: WalkSetup) -> Box<dyn ExtentWalk> {
        let WalkSetup { file, ref reports, .. } = setup;
        let table = HostOffset(ParallelsHeader::LEN as u64);
        reports.add(HostReport::Units(UnitLayout {
            file,
            base: GuestOffset(0),
            unit: self.header.block_size(),
            lead: 0,
            exclusive: false,
            packed: false,
        }));
        reports.structure(file, HostOffset(0), self.header.table_end());
        Box::new(ParallelsWalk {
            table: EntryTable::new(
                self.source.clone(),
                table,
                ENTRY_SIZE,
                self.header.blocks(),
                setup.memory.min(WINDOW),
            ),
            listing: Listing::new(&*self.source, &setup),
            header: self.header,
        })
    }
}

/// A pass over the block allocation table.
struct ParallelsWalk {
    header: ParallelsHeader,
    table: EntryTable,
    listing: Listing,
}

impl ParallelsWalk {
    /// Lists a batch of extents from `range.start` on, from the loaded part of the table.
    async fn step(&mut self, range: GuestRange, batch: &mut Vec<Extent>) -> Result<()> {
        let block_size = self.header.block_size();
        let mut index = range.start.0 / block_size;
        self.table.load(index).await?;
        let end = self.table.end().min(range.end.0.div_ceil(block_size));
        let full = batch.len() + BATCH;
        let mut at = range.start;
        while index < end && batch.len() < full {
            let entries = self.table.entries(index, end);
            let part = |blocks: u64| {
                let end = GuestOffset((index + blocks).saturating_mul(block_size)).min(range.end);
                GuestRange { start: at, end }
            };
            let place = self.table.place(index);
            let blocks = match entries.get(..ENTRY_SIZE as usize).map(|entry| le32(entry, 0)) {
                None => {
                    self.listing.lose(batch, part(end - index), TABLE_TRUNCATED, place)?;
                    end - index
                }
                Some(UNALLOCATED) => {
                    let blocks = equal_entries(entries, ENTRY_SIZE);
                    self.listing.push(batch, part(blocks), ExtentKind::Zero { host: None });
                    blocks
                }
                Some(entry) => {
                    self.list_block(entry, part(1), place, batch)?;
                    1
                }
            };
            at = part(blocks).end;
            index += blocks;
        }
        Ok(())
    }

    /// Lists `part` of the block of `entry`, which is at `place` of the file.
    fn list_block(&self, entry: u32, part: GuestRange, place: HostOffset, batch: &mut Vec<Extent>) -> Result<()> {
        let start = self.header.place(entry);
        if self.header.is_empty() {
            return self.listing.lose(batch, part, NOT_EMPTY, place);
        }
        if start < self.header.data_start() {
            return self.listing.lose(batch, part, BLOCK_MISPLACED, place);
        }
        let host = HostOffset(start.saturating_add(part.start.0 % self.header.block_size()));
        self.listing.data(batch, part, host, BLOCK_TRUNCATED, host)
    }
}

impl ExtentWalk for ParallelsWalk {
    fn list<'a>(&'a mut self, range: GuestRange, batch: &'a mut Vec<Extent>) -> LocalBoxFuture<'a, Result<()>> {
        self.step(range, batch).boxed_local()
    }
}
