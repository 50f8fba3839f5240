//! A raw disk.

use super::layout::Layout;
use super::{BLOCK, OutputFormat, options};
use crate::error::Result;
use crate::format::raw_disk;

pub(super) const FORMAT: OutputFormat = OutputFormat {
    name: "raw",
    label: "Raw disk",
    // Not `.img` first: browsers warn that it is a dangerous file on Windows and macOS.
    extensions: raw_disk::FORMAT.extensions,
    content: "raw",
    implied: &[&options::OF_FILE],
    layout: |virtual_size, _| Ok(Box::new(Raw { virtual_size })),
    ..OutputFormat::DEFAULT
};

struct Raw {
    virtual_size: u64,
}

impl Layout for Raw {
    fn unit(&self) -> u64 {
        BLOCK
    }

    fn disk_size(&self) -> u64 {
        self.virtual_size
    }

    fn output_size(&self) -> Option<u64> {
        Some(self.virtual_size)
    }

    fn size_for(&self, _units: u64) -> u64 {
        self.virtual_size
    }

    fn resized(&self, virtual_size: u64) -> Result<Box<dyn Layout>> {
        Ok(Box::new(Self { virtual_size }))
    }
}
