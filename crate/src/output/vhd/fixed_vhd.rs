//! A fixed VHD: the disk, followed by a footer.

use super::check_size;
use crate::disk::info::Notice;
use crate::error::Result;
use crate::format::vhd::vhd_footer::{FIXED, VhdFooter};
use crate::output::layout::{Layout, Stamp};
use crate::output::{BLOCK, grows};

const MIB: u64 = 1 << 20;
/// "Data Offset" of the footer: a fixed disk has no other structure.
const NONE: u64 = u64::MAX;

pub(super) struct FixedVhd {
    virtual_size: u64,
    disk_size: u64,
}

impl FixedVhd {
    /// Azure accepts whole MiB only, at least one: a footer alone would be read as the start of a dynamic VHD.
    pub(super) fn new(virtual_size: u64) -> Result<Self> {
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
        Some(self.disk_size + VhdFooter::LEN as u64)
    }

    fn resized(&self, virtual_size: u64) -> Result<Box<dyn Layout>> {
        Ok(Box::new(Self::new(virtual_size)?))
    }

    fn footer(&self, stamp: &Stamp) -> Vec<u8> {
        VhdFooter::new(FIXED, NONE, self.disk_size, stamp).to_bytes().to_vec()
    }
}
