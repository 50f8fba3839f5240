//! A dynamic VHD ("Dynamic Disk Header Format", "Block Allocation Table and Data Blocks").
//!
//! A copy of the footer, the header and the block allocation table (BAT) are at the start, and are written last: before,
//! nothing looks like an image. Then come the blocks with data, in guest order, and the footer.

use super::check_size;
use crate::compress::{EncodedPart, Encoding};
use crate::disk::info::Notice;
use crate::error::Result;
use crate::format::vhd::structures::{ABSENT, BAT_ENTRY, DYNAMIC, DynamicVhdHeader, VhdFooter, bitmap_len};
use crate::io::source::zeroed;
use crate::offsets::{GuestRange, SECTOR};
use crate::output::layout::{Assembler, Layout, Stamp, Writes, size_needed};
use crate::output::{BLOCK, grows};

/// The size of a block of the disk, in bytes. Its data follows its sector bitmap, which is a sector.
const BLOCK_SIZE: u64 = 2 << 20;
const BITMAP: u64 = bitmap_len(BLOCK_SIZE);
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

    /// Less than a block: zeros in a block that has data are a hole in the file.
    fn unit(&self) -> u64 {
        BLOCK
    }

    fn disk_size(&self) -> u64 {
        self.disk_size
    }

    fn notice(&self) -> Option<Notice> {
        grows(self.virtual_size, self.disk_size, SECTOR, "VHD")
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
        Ok(Some(Box::new(DynamicVhdAssembler {
            footer: VhdFooter::new(DYNAMIC, VhdFooter::LEN as u64, self.disk_size, stamp.seconds, stamp.random),
            header: DynamicVhdHeader::without_parent(TABLE, self.blocks() as u32, BLOCK_SIZE as u32),
            table,
            last: None,
            next: self.reserved(),
        })))
    }
}

/// Places blocks, and makes the BAT.
struct DynamicVhdAssembler {
    footer: VhdFooter,
    header: DynamicVhdHeader,
    /// The BAT, big-endian, in sectors.
    table: Vec<u8>,
    /// The number of the last block with data, and the offset of its data.
    last: Option<(u64, u64)>,
    /// The offset of the first unused byte.
    next: u64,
}

impl DynamicVhdAssembler {
    /// Returns the offset of the data of block `number`. Begins the block, unless it is the last one.
    fn data_of(&mut self, number: u64, writes: &mut Writes) -> u64 {
        if let Some((last, data)) = self.last
            && last == number
        {
            return data;
        }
        // Data is aligned as in file systems; the bitmap is directly before it.
        let data = (self.next + BITMAP).next_multiple_of(BLOCK);
        let bitmap = data - BITMAP;
        // Every sector of the block is in the file.
        writes.own(bitmap, vec![0xff; BITMAP as usize]);
        // Less than 2^32, since a full disk of 2,040 GiB takes less than 2,045 GiB.
        let sector = (bitmap / SECTOR) as u32;
        let entry = (number * BAT_ENTRY) as usize;
        self.table[entry..entry + BAT_ENTRY as usize].copy_from_slice(&sector.to_be_bytes());
        self.last = Some((number, data));
        self.next = data + BLOCK_SIZE;
        data
    }
}

impl Assembler for DynamicVhdAssembler {
    fn place(&mut self, _region: GuestRange, parts: &[EncodedPart], writes: &mut Writes) -> Result<()> {
        for part in parts {
            let mut done = 0;
            while done < part.len {
                let guest = part.guest + done;
                let within = guest.0 % BLOCK_SIZE;
                let len = (BLOCK_SIZE - within).min(part.len - done);
                let data = self.data_of(guest.0 / BLOCK_SIZE, writes);
                writes.range(data + within, part.start + done as usize, len as usize);
                done += len;
            }
        }
        Ok(())
    }

    fn finish(&mut self, writes: &mut Writes) -> Result<()> {
        let footer = self.footer.to_bytes();
        // Without a header, this footer is not an image.
        writes.own(self.next, footer.to_vec());
        writes.own(TABLE, std::mem::take(&mut self.table));
        writes.own(0, [&footer[..], &self.header.to_bytes()].concat());
        Ok(())
    }
}
