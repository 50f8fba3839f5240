//! VDI version 1.1 (`VDICore.h` and `VDI.cpp` of VirtualBox), dynamic or fixed.
//!
//! The header and the block map are at the start, and are written last: before, nothing looks like an image. Then come the blocks, in
//! guest order: those with data, or all of them.

use super::blocks::{Blocks, Kept};
use super::identifiers::Identifiers;
use super::layout::{Assembler, Layout, Stamp, Writes, size_needed};
use super::options::{self, FormatOption, Options};
use super::{BLOCK, OutputFormat, grows, put};
use crate::compress::{EncodedPart, Encoding};
use crate::disk::info::Notice;
use crate::error::{Error, ErrorKind, Result};
use crate::format::vdi;
use crate::format::vdi::structures::{
    DYNAMIC, ENTRY_SIZE, FIXED, Header1, Header1Plus, PreHeader, SIGNATURE, TEXT, VERSION_1_1,
};
use crate::io::source::zeroed;
use crate::offsets::{GuestRange, SECTOR};

pub(super) const FORMAT: OutputFormat = OutputFormat {
    name: vdi::FORMAT.name,
    label: "VDI",
    hint: "For VirtualBox",
    extensions: vdi::FORMAT.extensions,
    content: "vdi",
    options: &[FormatOption::new("static", &["off", "on"]), FormatOption::UUID],
    implied: &[&options::OF_FILE],
    layout: |virtual_size, options| Ok(Box::new(VdiLayout::new(virtual_size, options)?)),
    ..OutputFormat::DEFAULT
};

const MIB: u64 = 1 << 20;
/// The size of blocks: the only one that QEMU reads.
const BLOCK_SIZE: u64 = MIB;
/// The offset of the block map. VirtualBox aligns it, and the blocks, to 1 MiB.
const MAP: u64 = MIB;
/// The most blocks of a disk: the block map is in memory.
const MOST_BLOCKS: u64 = 8 << 20;

/// The numbers of the identifiers of the disk and of the state of its content.
const DISK: u8 = 0;
const CONTENT: u8 = 1;

/// The form of an image.
#[derive(Clone, Copy)]
struct Shape {
    /// In bytes.
    disk_size: u64,
    is_fixed: bool,
}

impl Shape {
    fn blocks(&self) -> u64 {
        self.disk_size.div_ceil(BLOCK_SIZE)
    }

    /// The size of the block map up to the first block, in bytes.
    fn map_len(&self) -> u64 {
        (self.blocks() * ENTRY_SIZE).next_multiple_of(MIB)
    }

    /// The offset of the first block.
    fn data(&self) -> u64 {
        MAP + self.map_len()
    }
}

struct VdiLayout {
    virtual_size: u64,
    shape: Shape,
    uuid: Option<[u8; 16]>,
}

impl VdiLayout {
    fn new(virtual_size: u64, options: &Options) -> Result<Self> {
        // VirtualBox refuses a disk without sectors.
        let disk_size = virtual_size.next_multiple_of(SECTOR).max(SECTOR);
        let shape = Shape { disk_size, is_fixed: options.get("static") == "on" };
        if shape.blocks() > MOST_BLOCKS {
            let message = format!(
                "The disk has {virtual_size} bytes, but Decant writes a VDI of at most 8 TiB, since its map of blocks grows with the \
                 disk; choose another output format"
            );
            return Err(Error::new(ErrorKind::Limit, message).coded("vdi-too-large").field("size", virtual_size));
        }
        Ok(Self { virtual_size, shape, uuid: options.uuid() })
    }
}

impl Layout for VdiLayout {
    fn encoding(&self) -> Encoding {
        Encoding::Stored
    }

    /// Less than a block: zeros in a block that has data are a hole in the file.
    fn unit(&self) -> u64 {
        BLOCK
    }

    fn disk_size(&self) -> u64 {
        self.shape.disk_size
    }

    fn notice(&self) -> Option<Notice> {
        grows(self.virtual_size, self.shape.disk_size, SECTOR, "VDI")
    }

    fn output_size(&self) -> Option<u64> {
        self.shape.is_fixed.then(|| self.size_for(0))
    }

    fn allocation(&self) -> u64 {
        BLOCK_SIZE
    }

    fn size_for(&self, units: u64) -> u64 {
        let blocks = if self.shape.is_fixed { self.shape.blocks() } else { units };
        self.shape.data() + blocks * BLOCK_SIZE
    }

    fn resized(&self, _virtual_size: u64) -> Result<Box<dyn Layout>> {
        Err(size_needed("A VDI"))
    }

    fn reserved(&self) -> u64 {
        self.shape.data()
    }

    fn start_is_known(&self) -> bool {
        self.shape.is_fixed
    }

    fn assembler(&self, stamp: &Stamp) -> Result<Option<Box<dyn Assembler>>> {
        let shape = self.shape;
        let mut map = zeroed(shape.map_len() as usize)?;
        // Blocks that are not in the file.
        map[..(shape.blocks() * ENTRY_SIZE) as usize].fill(0xff);
        let kept = if shape.is_fixed { Kept::All } else { Kept::WithData };
        let blocks = Blocks::new(shape.blocks(), BLOCK_SIZE, shape.data(), kept)?;
        Ok(Some(Box::new(VdiAssembler { shape, identifiers: Identifiers::new(self.uuid, stamp), blocks, map })))
    }
}

/// Places blocks, and makes the block map and the header.
struct VdiAssembler {
    shape: Shape,
    identifiers: Identifiers,
    blocks: Blocks,
    /// Little-endian, up to the first block.
    map: Vec<u8>,
}

impl VdiAssembler {
    /// The bytes before the block map.
    fn start(&self) -> Result<Vec<u8>> {
        let Shape { disk_size, is_fixed } = self.shape;
        let before = PreHeader { text: TEXT, signature: SIGNATURE, version: VERSION_1_1 };
        let header = Header1 {
            cb_header: (Header1Plus::LEN - PreHeader::LEN) as u32,
            u32_type: if is_fixed { FIXED } else { DYNAMIC },
            off_blocks: MAP as u32,
            // At most 33 MiB.
            off_data: self.shape.data() as u32,
            legacy_cb_sector: SECTOR as u32,
            cb_disk: disk_size,
            cb_block: BLOCK_SIZE as u32,
            c_blocks: self.shape.blocks() as u32,
            c_blocks_allocated: self.blocks.count() as u32,
            uuid_create: self.identifiers.guid(DISK),
            uuid_modify: self.identifiers.guid(CONTENT),
            // The UUIDs of a parent stay zero.
            ..Header1::zero()
        };
        // Geometries have no cylinders: programs compute them.
        let after = Header1Plus { lchs_cb_sector: SECTOR as u32 };
        let mut start = zeroed(MAP as usize)?;
        start[..Header1Plus::LEN].copy_from_slice(&after.to_bytes());
        start[PreHeader::LEN..Header1::LEN].copy_from_slice(&header.to_bytes()[PreHeader::LEN..]);
        start[..PreHeader::LEN].copy_from_slice(&before.to_bytes());
        Ok(start)
    }
}

impl Assembler for VdiAssembler {
    fn place(&mut self, _region: GuestRange, parts: &[EncodedPart], writes: &mut Writes) -> Result<()> {
        self.blocks.place(parts, writes)
    }

    fn finish(&mut self, writes: &mut Writes) -> Result<()> {
        self.blocks.finish(writes)?;
        for (block, number) in self.blocks.numbered() {
            put(&mut self.map, block * ENTRY_SIZE, &(number as u32).to_le_bytes());
        }
        writes.own(MAP, std::mem::take(&mut self.map));
        writes.own(0, self.start()?);
        Ok(())
    }
}
