//! A dynamic VHD ("Dynamic Disk Header Format", "Block Allocation Table and Data Blocks").
//!
//! A copy of the footer, the header and the block allocation table (BAT) are at the start, and are written last: before,
//! nothing looks like an image. Then come the blocks with data, in guest order and whole, and the footer.

use super::{MIB, check_size, footer};
use crate::compress::{EncodedPart, Encoding};
use crate::disk::info::Notice;
use crate::error::Result;
use crate::format::vhd::structures::{ABSENT, BAT_ENTRY, DYNAMIC, DynamicVhdHeader, VhdFooter, bitmap_len};
use crate::io::source::zeroed;
use crate::offsets::{GuestRange, SECTOR};
use crate::output::blocks::{Blocks, Kept, placed};
use crate::output::layout::{Assembler, Layout, Stamp, Writes, size_needed};
use crate::output::{grows, put};

/// The size of a block of the disk, in bytes.
const BLOCK_SIZE: u64 = 2 * MIB;
/// The sector bitmap before a block: every sector of the block is in the file.
const BITMAP: [u8; bitmap_len(BLOCK_SIZE) as usize] = [0xff; _];
/// The offset of the BAT, in bytes: after the copy of the footer and the header.
const TABLE: u64 = (VhdFooter::LEN + DynamicVhdHeader::LEN) as u64;

pub(super) struct DynamicVhd {
    virtual_size: u64,
    disk_size: u64,
}

impl DynamicVhd {
    pub(super) fn new(virtual_size: u64) -> Result<Self> {
        check_size(virtual_size)?;
        // The BAT has at least one entry: not every reader expects an empty table.
        Ok(Self { virtual_size, disk_size: virtual_size.next_multiple_of(SECTOR).max(SECTOR) })
    }

    fn blocks(&self) -> u64 {
        self.disk_size.div_ceil(BLOCK_SIZE)
    }

    /// The size of the BAT, in bytes.
    fn table_len(&self) -> u64 {
        (self.blocks() * BAT_ENTRY).next_multiple_of(SECTOR)
    }
}

impl Layout for DynamicVhd {
    fn encoding(&self) -> Encoding {
        Encoding::Stored
    }

    /// Zeros between data are written with the data if they are in the same MiB.
    fn unit(&self) -> u64 {
        MIB
    }

    fn disk_size(&self) -> u64 {
        self.disk_size
    }

    fn notice(&self) -> Option<Notice> {
        grows(self.virtual_size, self.disk_size, SECTOR, "VHD")
    }

    fn allocation(&self) -> u64 {
        BLOCK_SIZE
    }

    fn size_for(&self, units: u64) -> u64 {
        let (first, distance) = placed(self.reserved(), BLOCK_SIZE, BITMAP.len() as u64);
        let end = units.checked_sub(1).map_or(self.reserved(), |last| first + last * distance + BLOCK_SIZE);
        end + VhdFooter::LEN as u64
    }

    fn resized(&self, _virtual_size: u64) -> Result<Box<dyn Layout>> {
        Err(size_needed("A dynamic VHD"))
    }

    fn reserved(&self) -> u64 {
        TABLE + self.table_len()
    }

    fn assembler(&self, stamp: &Stamp) -> Result<Option<Box<dyn Assembler>>> {
        let mut table = zeroed(self.table_len() as usize)?;
        // Blocks that are not in the file, and the padding.
        table.as_chunks_mut().0.fill(ABSENT.to_be_bytes());
        let blocks = Blocks::new(self.blocks(), BLOCK_SIZE, self.reserved(), Kept::WithDataDense)?;
        Ok(Some(Box::new(DynamicVhdAssembler {
            footer: footer(DYNAMIC, VhdFooter::LEN as u64, self.disk_size, stamp),
            header: DynamicVhdHeader::without_parent(TABLE, self.blocks() as u32, BLOCK_SIZE as u32),
            table,
            blocks: blocks.with_bitmaps(&BITMAP),
        })))
    }
}

/// Places blocks, and makes the BAT.
struct DynamicVhdAssembler {
    footer: Vec<u8>,
    header: DynamicVhdHeader,
    /// The BAT, big-endian, in sectors.
    table: Vec<u8>,
    blocks: Blocks,
}

impl Assembler for DynamicVhdAssembler {
    fn place(&mut self, _region: GuestRange, parts: &[EncodedPart], writes: &mut Writes) -> Result<()> {
        self.blocks.place(parts, writes)
    }

    fn finish(&mut self, writes: &mut Writes) -> Result<()> {
        self.blocks.finish(writes)?;
        for (block, number) in self.blocks.numbered() {
            // Less than 2^32, since a full disk of 2,040 GiB takes less than 2,045 GiB.
            let sector = ((self.blocks.offset(number) - BITMAP.len() as u64) / SECTOR) as u32;
            put(&mut self.table, block * BAT_ENTRY, &sector.to_be_bytes());
        }
        // Until the header is written, this footer does not make the file an image.
        writes.own(self.blocks.end(), self.footer.clone());
        writes.own(TABLE, std::mem::take(&mut self.table));
        writes.own(0, [&self.footer[..], &self.header.to_bytes()].concat());
        Ok(())
    }
}
