//! A streamOptimized VMDK (Virtual Disk Format 5.0, "Stream-Optimized Compressed Sparse Extents"), as vSphere, ESXi, AWS
//! and VirtualBox import it: version 3, with markers, and with its grain directory at the end.
//!
//! Every byte depends on the bytes before it only, so any target takes it.

use super::layout::{Assembler, Layout, Stamp, Writes, size_needed};
use super::options::{self, FormatOption, Options};
use super::{OutputFormat, grows, put};
use crate::compress::{CompressedEncoding, EncodedPart, Encoding, UnitEncoding, UnitMethod};
use crate::disk::info::Notice;
use crate::error::{Error, ErrorKind, Result};
use crate::format::vmdk;
use crate::format::vmdk::structures::{
    DEFLATE, ENTRY, FOOTER, GRAIN_DIRECTORY, GRAIN_TABLE, HAS_LINE_ENDS, HAS_MARKERS, IN_FOOTER, IS_COMPRESSED,
    KDMV_MAGIC, KdmvHeader, LINE_ENDS, Marker, in_sector,
};
use crate::io::source::zeroed;
use crate::offsets::{GuestRange, SECTOR};

pub(super) const FORMAT: OutputFormat = OutputFormat {
    name: "vmdk",
    label: "VMDK",
    hint: "For VMware and VirtualBox",
    extensions: vmdk::FORMAT.extensions,
    content: "vmdk",
    options: &[
        FormatOption::new("subformat", &["streamOptimized"]),
        FormatOption::new("adapter_type", &["lsilogic", "buslogic", "ide", "legacyESX"]),
        FormatOption::new(
            "hwversion",
            &["4", "6", "7", "8", "9", "10", "11", "12", "13", "14", "15", "16", "17", "18", "19", "20", "21"],
        ),
    ],
    implied: &[
        &options::OF_FILE,
        &[
            FormatOption::new("compat6", &["off"]),
            FormatOption::new("zeroed_grain", &["off"]),
            FormatOption::new("toolsversion", &[TOOLS]),
        ],
    ],
    has_footer: true,
    layout: |virtual_size, options| Ok(Box::new(StreamOptimized::new(virtual_size, options)?)),
    ..OutputFormat::DEFAULT
};

/// The version of VMware's tools: unknown.
const TOOLS: &str = "2147483647";
/// The size of a grain, in bytes.
const GRAIN: u64 = 64 << 10;
/// The number of grains of a grain table.
const GRAINS_PER_TABLE: u64 = 512;
/// The descriptor's place and length, and the place of the first grain, in sectors.
const DESCRIPTOR: u64 = 1;
const DESCRIPTOR_SECTORS: u64 = 20;
const FIRST_GRAIN: u64 = 128;
/// The largest disk of VMware: 62 TiB.
const MOST: u64 = 62 << 40;

#[derive(Clone)]
pub(super) struct StreamOptimized {
    virtual_size: u64,
    disk_size: u64,
    adapter: &'static str,
    hardware: &'static str,
}

impl StreamOptimized {
    fn new(virtual_size: u64, options: &Options) -> Result<Self> {
        Self::with(virtual_size, options.get("adapter_type"), options.get("hwversion"))
    }

    /// A disk for this `adapter` in a machine with this version of the `hardware`.
    pub(super) fn with(virtual_size: u64, adapter: &'static str, hardware: &'static str) -> Result<Self> {
        if virtual_size > MOST {
            let message = "A VMDK holds at most 62 TiB; choose another output format";
            return Err(Error::new(ErrorKind::Limit, message).coded("vmdk-too-large").field("size", virtual_size));
        }
        Ok(Self {
            virtual_size,
            // An extent without sectors is read as a descriptor.
            disk_size: virtual_size.next_multiple_of(SECTOR).max(SECTOR),
            adapter,
            hardware,
        })
    }

    /// The number of grain tables that the directory lists.
    fn tables(&self) -> u64 {
        self.disk_size.div_ceil(GRAIN * GRAINS_PER_TABLE)
    }

    /// "The Embedded Descriptor File". The identifiers are random.
    fn descriptor(&self, random: [u8; 16]) -> String {
        let sectors = self.disk_size / SECTOR;
        let (heads, per_track) = if self.adapter == "ide" { (16, 63) } else { (255, 63) };
        let cylinders = (sectors / (heads * per_track)).max(1);
        // A content ID must not be ffffffff or fffffffe.
        let id = u32::from_le_bytes([random[0], random[1], random[2], random[3] & 0x7f]);
        let long_id: String = random[4..].iter().map(|byte| format!("{byte:02x}")).collect();
        format!(
            "# Disk DescriptorFile\nversion=1\nCID={id:08x}\nparentCID=ffffffff\ncreateType=\"streamOptimized\"\n\n\
             # Extent description\nRW {sectors} SPARSE \"disk.vmdk\"\n\n\
             # The Disk Data Base\n#DDB\n\nddb.adapterType = \"{adapter}\"\nddb.geometry.cylinders = \"{cylinders}\"\n\
             ddb.geometry.heads = \"{heads}\"\nddb.geometry.sectors = \"{per_track}\"\n\
             ddb.longContentID = \"{long_id}{id:08x}\"\nddb.toolsVersion = \"{TOOLS}\"\n\
             ddb.virtualHWVersion = \"{hardware}\"\n",
            adapter = self.adapter,
            hardware = self.hardware,
        )
    }

    fn header(&self, gd_offset: u64) -> KdmvHeader {
        KdmvHeader {
            magic_number: KDMV_MAGIC,
            // ESXi refuses version 1 of compressed extents.
            version: 3,
            flags: HAS_LINE_ENDS | IS_COMPRESSED | HAS_MARKERS,
            capacity: self.disk_size / SECTOR,
            grain_size: GRAIN / SECTOR,
            descriptor_offset: DESCRIPTOR,
            descriptor_size: DESCRIPTOR_SECTORS,
            num_gtes_per_gt: GRAINS_PER_TABLE as u32,
            gd_offset,
            over_head: FIRST_GRAIN,
            end_line_chars: LINE_ENDS,
            compress_algorithm: DEFLATE,
            ..KdmvHeader::zero()
        }
    }
}

impl Layout for StreamOptimized {
    fn encoding(&self) -> Encoding {
        let units = UnitEncoding { unit: GRAIN as u32, method: UnitMethod::Grain };
        Encoding::Compressed(CompressedEncoding::Units(units))
    }

    fn unit(&self) -> u64 {
        GRAIN
    }

    fn disk_size(&self) -> u64 {
        self.disk_size
    }

    fn notice(&self) -> Option<Notice> {
        grows(self.virtual_size, self.disk_size, SECTOR, "VMDK")
    }

    fn size_for(&self, units: u64) -> u64 {
        let tables = self.tables().min(units);
        // A marker takes a sector before each table and directory.
        let table = SECTOR + (GRAINS_PER_TABLE * ENTRY).next_multiple_of(SECTOR);
        let directory = SECTOR + (self.tables() * ENTRY).next_multiple_of(SECTOR);
        // A grain is whole sectors.
        let grain = UnitMethod::Grain.bound(GRAIN as usize) as u64 / SECTOR * SECTOR;
        // At the end are the marker of the footer, the footer and the marker of the end.
        FIRST_GRAIN * SECTOR + units * grain + tables * table + directory + 3 * SECTOR
    }

    fn resized(&self, _virtual_size: u64) -> Result<Box<dyn Layout>> {
        Err(size_needed("A VMDK"))
    }

    fn assembler(&self, stamp: &Stamp) -> Result<Option<Box<dyn Assembler>>> {
        let mut start = in_sector(&self.header(IN_FOOTER).to_bytes());
        start.extend_from_slice(self.descriptor(stamp.random).as_bytes());
        Ok(Some(Box::new(GrainAssembler {
            start,
            footer: self.header(0),
            directory: zeroed((self.tables() * ENTRY) as usize)?,
            entries: zeroed((GRAINS_PER_TABLE * ENTRY) as usize)?,
            table: None,
            next: FIRST_GRAIN,
        })))
    }
}

/// Places grains, each table after its grains, and the directory after all of them.
struct GrainAssembler {
    /// The header and the descriptor.
    start: Vec<u8>,
    /// The footer, without the place of the directory.
    footer: KdmvHeader,
    /// The grain directory, little-endian, in sectors.
    directory: Vec<u8>,
    /// The grain table with the last grains, little-endian, in sectors, and its number.
    entries: Vec<u8>,
    table: Option<u64>,
    /// The first unused sector.
    next: u64,
}

impl GrainAssembler {
    fn end_table(&mut self, writes: &mut Writes) -> Result<()> {
        if let Some(table) = self.table.take() {
            let entries = self.entries.clone();
            self.entries.fill(0);
            let at = self.structure(GRAIN_TABLE, entries, writes)?;
            put(&mut self.directory, table * ENTRY, &at.to_le_bytes());
        }
        Ok(())
    }

    /// Writes a marker of `marker_type`, and `bytes` in whole sectors after it. Returns the first of these sectors.
    fn structure(&mut self, marker_type: u32, mut bytes: Vec<u8>, writes: &mut Writes) -> Result<u32> {
        let sectors = (bytes.len() as u64).div_ceil(SECTOR);
        bytes.resize((sectors * SECTOR) as usize, 0);
        let at = self.allocate(1 + sectors)?;
        writes.own(u64::from(at) * SECTOR, [Marker::sector(marker_type, sectors), bytes].concat());
        Ok(at + 1)
    }

    /// Allocates `sectors`, and returns the first one. Fails with `limit` if the file gets too large for its tables.
    fn allocate(&mut self, sectors: u64) -> Result<u32> {
        let at = self.next;
        self.next += sectors;
        match u32::try_from(self.next) {
            Ok(_) => Ok(at as u32),
            Err(_) => {
                let message = "A VMDK file holds at most 2 TiB of data; choose another output format";
                Err(Error::new(ErrorKind::Limit, message).coded("vmdk-full"))
            }
        }
    }
}

impl Assembler for GrainAssembler {
    fn begin(&mut self, writes: &mut Writes) -> Result<()> {
        let mut start = std::mem::take(&mut self.start);
        start.resize((FIRST_GRAIN * SECTOR) as usize, 0);
        writes.own(0, start);
        Ok(())
    }

    fn place(&mut self, _region: GuestRange, parts: &[EncodedPart], writes: &mut Writes) -> Result<()> {
        for part in parts {
            let grain = part.guest.0 / GRAIN;
            let table = grain / GRAINS_PER_TABLE;
            if self.table != Some(table) {
                self.end_table(writes)?;
                self.table = Some(table);
            }
            let at = self.allocate(part.encoded_len as u64 / SECTOR)?;
            put(&mut self.entries, grain % GRAINS_PER_TABLE * ENTRY, &at.to_le_bytes());
            writes.part(u64::from(at) * SECTOR, part);
        }
        Ok(())
    }

    fn finish(&mut self, writes: &mut Writes) -> Result<()> {
        self.end_table(writes)?;
        let directory = std::mem::take(&mut self.directory);
        let at = self.structure(GRAIN_DIRECTORY, directory, writes)?;
        let footer = in_sector(&KdmvHeader { gd_offset: u64::from(at), ..self.footer }.to_bytes());
        // With the end-of-stream marker, which is zeros. Before this last write, the file is not an image.
        let end = [Marker::sector(FOOTER, 1), footer, vec![0; SECTOR as usize]].concat();
        let at = self.allocate(end.len() as u64 / SECTOR)?;
        writes.own(u64::from(at) * SECTOR, end);
        Ok(())
    }
}
