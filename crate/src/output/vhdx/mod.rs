//! VHDX (MS-VHDX 8.0), dynamic or fixed.
//!
//! The header section, an empty log, the metadata and the block allocation table (BAT) are at the start, and are written last:
//! before, nothing looks like an image. Then come the blocks, in guest order: those with data, whole, or all of them.

mod vhdx_assembler;

use super::blocks::Kept;
use super::layout::{Assembler, Layout, Stamp, size_needed};
use super::options::{self, FormatOption, Options};
use super::{BLOCK, OutputFormat, grows};
use crate::compress::Encoding;
use crate::disk::info::Notice;
use crate::disk::sector_sizes::SectorSizes;
use crate::error::{Error, ErrorKind, Result};
use crate::format::vhdx;
use crate::format::vhdx::structures::{BlockTable, LARGEST_BLOCK, LARGEST_DISK, MIB};
use crate::offsets::{HostOffset, SECTOR};
use vhdx_assembler::VhdxAssembler;

pub(super) const FORMAT: OutputFormat = OutputFormat {
    name: vhdx::FORMAT.name,
    label: "VHDX",
    hint: "For Hyper-V",
    extensions: vhdx::FORMAT.extensions,
    content: "vhdx",
    options: &[
        FormatOption::new("subformat", &["dynamic", "fixed"]),
        FormatOption::new("block_size", &["0", "1M", "2M", "4M", "8M", "16M", "32M", "64M", "128M", "256M"]),
        FormatOption::UUID,
    ],
    implied: &[
        &options::OF_FILE,
        &[FormatOption::new("block_state_zero", &["off"]), FormatOption::new("log_size", &["1M", "0"])],
    ],
    layout: |virtual_size, options| Ok(Box::new(VhdxLayout::new(virtual_size, options)?)),
    ..OutputFormat::DEFAULT
};

/// Offsets of the log, the metadata and the BAT. The log and the metadata have 1 MiB each.
const LOG: u64 = MIB;
const METADATA: u64 = 2 * MIB;
const TABLE: u64 = 3 * MIB;
/// The most blocks of a disk whose block size Decant chooses, and of any disk: the BAT is in memory.
const MOST_BLOCKS_CHOSEN: u64 = 1 << 20;
const MOST_BLOCKS: u64 = 1 << 22;

/// The form of an image. Sizes are in bytes.
#[derive(Clone, Copy)]
struct Shape {
    disk_size: u64,
    block_size: u64,
    sectors: SectorSizes,
    is_fixed: bool,
}

impl Shape {
    fn table(&self) -> BlockTable {
        let Self { disk_size: virtual_size, block_size, sectors, .. } = *self;
        let (place, sector_size) = (HostOffset(TABLE), sectors.logical);
        BlockTable { place, block_size, sector_size, virtual_size, has_parent: false }
    }

    /// The size of the BAT's region. With small sectors, the BAT has more entries of sector bitmaps. The region has room for them with
    /// large sectors, too: whether a disk has large sectors may be known only when the size of the output has been stated.
    fn table_len(&self) -> u64 {
        BlockTable { sector_size: SECTOR, ..self.table() }.len().next_multiple_of(MIB)
    }

    /// The offset of the first block.
    fn data(&self) -> u64 {
        TABLE + self.table_len()
    }
}

struct VhdxLayout {
    virtual_size: u64,
    shape: Shape,
    uuid: Option<[u8; 16]>,
}

impl VhdxLayout {
    fn new(virtual_size: u64, options: &Options) -> Result<Self> {
        let sectors = options.sectors();
        // A disk without sectors is refused by programs.
        let disk_size = virtual_size.next_multiple_of(sectors.logical).max(sectors.logical);
        if disk_size > LARGEST_DISK {
            let message = format!(
                "The disk has {virtual_size} bytes, but a VHDX holds at most 64 TiB; choose another output format"
            );
            return Err(too_large(virtual_size, message));
        }
        let block_size = match options.size("block_size") {
            0 => block_size_for(disk_size, MOST_BLOCKS_CHOSEN),
            given if disk_size.div_ceil(given) > MOST_BLOCKS => {
                let least = block_size_for(disk_size, MOST_BLOCKS) / MIB;
                let message = format!(
                    "A VHDX with blocks of {} MiB cannot hold a disk of this size; choose a block_size of at least {least}M",
                    given / MIB
                );
                return Err(too_large(virtual_size, message).field("blockSize", given));
            }
            given => given,
        };
        let shape = Shape { disk_size, block_size, sectors, is_fixed: options.get("subformat") == "fixed" };
        Ok(Self { virtual_size, shape, uuid: options.uuid() })
    }
}

/// The smallest block size that divides a disk into at most `most` blocks.
fn block_size_for(disk_size: u64, most: u64) -> u64 {
    disk_size.div_ceil(most).next_power_of_two().clamp(MIB, LARGEST_BLOCK)
}

fn too_large(size: u64, message: String) -> Error {
    Error::new(ErrorKind::Limit, message).coded("vhdx-too-large").field("size", size)
}

impl Layout for VhdxLayout {
    fn encoding(&self) -> Encoding {
        Encoding::Stored
    }

    /// In a dynamic VHDX, which has no holes, zeros between data are written with the data if they are in the same MiB.
    fn unit(&self) -> u64 {
        if self.shape.is_fixed { BLOCK } else { MIB }
    }

    fn disk_size(&self) -> u64 {
        self.shape.disk_size
    }

    fn notice(&self) -> Option<Notice> {
        grows(self.virtual_size, self.shape.disk_size, self.shape.sectors.logical, "VHDX")
    }

    fn sectors(&self) -> Option<SectorSizes> {
        Some(self.shape.sectors)
    }

    fn output_size(&self) -> Option<u64> {
        self.shape.is_fixed.then(|| self.size_for(0))
    }

    fn allocation(&self) -> u64 {
        self.shape.block_size
    }

    fn size_for(&self, units: u64) -> u64 {
        let blocks = if self.shape.is_fixed { self.shape.table().blocks() } else { units };
        self.shape.data() + blocks * self.shape.block_size
    }

    fn resized(&self, _virtual_size: u64) -> Result<Box<dyn Layout>> {
        Err(size_needed("A VHDX"))
    }

    fn reserved(&self) -> u64 {
        self.shape.data()
    }

    fn start_is_known(&self) -> bool {
        self.shape.is_fixed
    }

    fn assembler(&self, stamp: &Stamp) -> Result<Option<Box<dyn Assembler>>> {
        // Hyper-V refuses a sparse file on NTFS. A fixed VHDX is sparse nevertheless: it would be as large as the disk.
        let kept = if self.shape.is_fixed { Kept::All } else { Kept::WithDataDense };
        Ok(Some(Box::new(VhdxAssembler::new(self.shape, kept, self.uuid, stamp)?)))
    }
}
