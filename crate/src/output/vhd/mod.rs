//! VHD ("Virtual Hard Disk Image Format Specification" 1.0, Microsoft 2006), fixed or dynamic.

mod dynamic_vhd;

use super::identifiers::random_uuid;
use super::layout::{Layout, Stamp};
use super::options::{self, FormatOption};
use super::{BLOCK, OutputFormat, grows};
use crate::disk::info::Notice;
use crate::error::{Error, ErrorKind, Result};
use crate::format::vhd;
use crate::format::vhd::structures::{FIXED, NO_STRUCTURE, VhdFooter};
use dynamic_vhd::DynamicVhd;

pub(super) const FORMAT: OutputFormat = OutputFormat {
    name: "vpc",
    aliases: vhd::FORMAT.aliases,
    label: "VHD",
    hint: "For Azure",
    extensions: vhd::FORMAT.extensions,
    content: "vpc",
    options: &[FormatOption::new("subformat", &["fixed", "dynamic"]), FormatOption::new("force_size", &["on"])],
    implied: &[&options::OF_FILE],
    has_footer: true,
    layout: |virtual_size, options| {
        Ok(match options.get("subformat") {
            "dynamic" => Box::new(DynamicVhd::new(virtual_size)?),
            _ => Box::new(FixedVhd::new(virtual_size)?),
        })
    },
    ..OutputFormat::DEFAULT
};

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;
/// Maximum size of a disk, in GiB.
const MOST_GIB: u64 = 2040;

/// Fails with `limit` if a VHD cannot hold a disk of `virtual_size` bytes.
fn check_size(virtual_size: u64) -> Result<()> {
    if virtual_size <= MOST_GIB * GIB {
        return Ok(());
    }
    let message = format!(
        "A VHD holds at most 2040 GiB, but the disk has {} GiB; choose another output format",
        virtual_size.div_ceil(GIB)
    );
    Err(Error::new(ErrorKind::Limit, message).coded("vhd-too-large").field("size", virtual_size))
}

/// A fixed VHD: the disk, followed by a footer.
struct FixedVhd {
    virtual_size: u64,
    disk_size: u64,
}

impl FixedVhd {
    /// Azure accepts whole MiB only, at least one: a footer alone would be read as the start of a dynamic VHD.
    fn new(virtual_size: u64) -> Result<Self> {
        check_size(virtual_size)?;
        Ok(Self { virtual_size, disk_size: virtual_size.next_multiple_of(MIB).max(MIB) })
    }
}

impl Layout for FixedVhd {
    fn unit(&self) -> u64 {
        BLOCK
    }

    fn disk_size(&self) -> u64 {
        self.disk_size
    }

    fn notice(&self) -> Option<Notice> {
        grows(self.virtual_size, self.disk_size, MIB, "Azure")
    }

    fn output_size(&self) -> Option<u64> {
        Some(self.size_for(0))
    }

    fn size_for(&self, _units: u64) -> u64 {
        self.disk_size + VhdFooter::LEN as u64
    }

    fn resized(&self, virtual_size: u64) -> Result<Box<dyn Layout>> {
        Ok(Box::new(Self::new(virtual_size)?))
    }

    fn footer(&self, stamp: &Stamp) -> Vec<u8> {
        footer(FIXED, NO_STRUCTURE, self.disk_size, stamp)
    }
}

/// Makes the footer of a disk of `disk_size` bytes. `data_offset` is the offset of the next structure, or [`NO_STRUCTURE`].
fn footer(disk_type: u32, data_offset: u64, disk_size: u64, stamp: &Stamp) -> Vec<u8> {
    VhdFooter::new(disk_type, data_offset, disk_size, random_uuid(stamp)).to_bytes().to_vec()
}
