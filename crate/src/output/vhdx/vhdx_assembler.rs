//! Places blocks, and makes the BAT and everything before it.

use super::{LOG, METADATA, Shape, TABLE};
use crate::compress::EncodedPart;
use crate::error::Result;
use crate::format::vhdx::structures::{
    BAT, DISK_ID, ENTRY_SIZE, FILE_PARAMETERS, FULLY_PRESENT, HEADER_SIGNATURE, HEADER_SIZE, HEADERS, IS_VIRTUAL_DISK,
    ITEM_REQUIRED, LEAVE_BLOCKS_ALLOCATED, LOG_VERSION, LOGICAL_SECTOR_SIZE, METADATA as METADATA_REGION,
    METADATA_SIGNATURE, METADATA_TABLE_SIZE, MetadataTableEntry, MetadataTableHeader, PHYSICAL_SECTOR_SIZE,
    REGION_REQUIRED, REGION_SIGNATURE, REGION_TABLE_SIZE, REGION_TABLES, RegionTableEntry, RegionTableHeader,
    SIGNATURE, VERSION, VIRTUAL_SIZE, VhdxHeader, checksum,
};
use crate::io::source::zeroed;
use crate::offsets::GuestRange;
use crate::output::Stamp;
use crate::output::blocks::{Blocks, Kept};
use crate::output::identifiers::Identifiers;
use crate::output::layout::{Assembler, Writes};
use crate::output::put;

/// The numbers of the identifiers: of the disk, as a guest knows it; of the file; of the state of its content.
const DISK: u8 = 0;
const FILE: u8 = 1;
const CONTENT: u8 = 2;

pub(super) struct VhdxAssembler {
    shape: Shape,
    identifiers: Identifiers,
    blocks: Blocks,
    /// The BAT, little-endian, in its region.
    table: Vec<u8>,
}

impl VhdxAssembler {
    pub(super) fn new(shape: Shape, kept: Kept, uuid: Option<[u8; 16]>, stamp: &Stamp) -> Result<Self> {
        Ok(Self {
            shape,
            identifiers: Identifiers::new(uuid, stamp),
            blocks: Blocks::new(shape.table().blocks(), shape.block_size, shape.data(), kept)?,
            table: zeroed(shape.table_len() as usize)?,
        })
    }

    /// The bytes before the BAT.
    fn start(&self) -> Result<Vec<u8>> {
        let mut start = zeroed(TABLE as usize)?;
        put(&mut start, 0, &SIGNATURE);
        for (sequence, at) in (0..).zip(HEADERS) {
            put_checked(&mut start, at, HEADER_SIZE, &self.header(sequence).to_bytes());
        }
        for at in REGION_TABLES {
            put_checked(&mut start, at, REGION_TABLE_SIZE, &self.regions());
        }
        self.put_metadata(&mut start[METADATA as usize..]);
        Ok(start)
    }

    fn header(&self, sequence_number: u64) -> VhdxHeader {
        VhdxHeader {
            signature: HEADER_SIGNATURE,
            checksum: 0,
            sequence_number,
            file_write_guid: self.identifiers.guid(FILE),
            data_write_guid: self.identifiers.guid(CONTENT),
            // The log is empty.
            log_guid: [0; 16],
            log_version: LOG_VERSION,
            version: VERSION,
            log_length: (METADATA - LOG) as u32,
            log_offset: LOG,
        }
    }

    fn regions(&self) -> Vec<u8> {
        let entries = [(BAT, TABLE, self.shape.table_len()), (METADATA_REGION, METADATA, TABLE - METADATA)];
        let header = RegionTableHeader {
            signature: REGION_SIGNATURE,
            checksum: 0,
            entry_count: entries.len() as u32,
            reserved: 0,
        };
        let entries = entries.map(|(guid, file_offset, length)| {
            // A BAT has at most 33 MiB.
            RegionTableEntry { guid, file_offset, length: length as u32, required: REGION_REQUIRED }.to_bytes()
        });
        [&header.to_bytes()[..], entries.as_flattened()].concat()
    }

    /// Puts the metadata table and its items into their `region`.
    fn put_metadata(&self, region: &mut [u8]) {
        let Shape { disk_size, block_size, sectors, is_fixed } = self.shape;
        let flags = if is_fixed { LEAVE_BLOCKS_ALLOCATED } else { 0 };
        let parameters = [(block_size as u32).to_le_bytes(), flags.to_le_bytes()];
        let of_disk = ITEM_REQUIRED | IS_VIRTUAL_DISK;
        let items: [(_, &[u8], _); 5] = [
            (FILE_PARAMETERS, parameters.as_flattened(), ITEM_REQUIRED),
            (VIRTUAL_SIZE, &disk_size.to_le_bytes(), of_disk),
            (LOGICAL_SECTOR_SIZE, &(sectors.logical as u32).to_le_bytes(), of_disk),
            (PHYSICAL_SECTOR_SIZE, &(sectors.physical as u32).to_le_bytes(), of_disk),
            (DISK_ID, &self.identifiers.guid(DISK), of_disk),
        ];
        let (signature, entry_count) = (METADATA_SIGNATURE, items.len() as u16);
        put(region, 0, &MetadataTableHeader { signature, entry_count, reserved: [0; 20] }.to_bytes());
        let (mut entry_at, mut offset) = (MetadataTableHeader::LEN as u64, METADATA_TABLE_SIZE);
        for (item_id, item, flags) in items {
            let length = item.len() as u32;
            let entry = MetadataTableEntry { item_id, offset: offset as u32, length, flags, reserved: 0 };
            put(region, entry_at, &entry.to_bytes());
            put(region, offset, item);
            entry_at += MetadataTableEntry::LEN as u64;
            offset += u64::from(length);
        }
    }

    /// Sets the entries of the blocks in the file. All others state that there is none, and have the offset 0.
    fn fill_table(&mut self) {
        let (table, data) = (self.shape.table(), self.shape.data());
        for (block, number) in self.blocks.numbered() {
            let entry = (data + number * self.shape.block_size) | FULLY_PRESENT;
            put(&mut self.table, table.entry(block) * ENTRY_SIZE, &entry.to_le_bytes());
        }
    }
}

impl Assembler for VhdxAssembler {
    fn place(&mut self, _region: GuestRange, parts: &[EncodedPart], writes: &mut Writes) -> Result<()> {
        self.blocks.place(parts, writes)
    }

    fn finish(&mut self, writes: &mut Writes) -> Result<()> {
        self.blocks.finish(writes)?;
        self.fill_table();
        writes.own(TABLE, std::mem::take(&mut self.table));
        let mut start = self.start()?;
        let rest = start.split_off(HEADERS[0] as usize);
        writes.own(HEADERS[0], rest);
        // The signature of the file, without which it is not an image.
        writes.own(0, start);
        Ok(())
    }
}

/// Copies `added`, a structure that begins with a signature and a checksum, to `bytes` at `at`. The checksum is that of `len` bytes.
fn put_checked(bytes: &mut [u8], at: u64, len: u64, added: &[u8]) {
    put(bytes, at, added);
    let sum = checksum(&bytes[at as usize..][..len as usize]);
    put(bytes, at + VhdxHeader::checksum, &sum.to_le_bytes());
}
