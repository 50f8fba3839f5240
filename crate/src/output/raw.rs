//! A raw disk.

use super::{BLOCK, OutputFormat, Writer};
use crate::error::Result;

pub(super) const FORMAT: OutputFormat = OutputFormat {
    name: "raw",
    label: "Raw disk",
    hint: "",
    // Browsers warn that `.img` is a dangerous file on Windows and macOS.
    extension: ".raw",
    options: &[],
    compressed: false,
    has_footer: false,
    writer: |virtual_size| Ok(Box::new(Raw { virtual_size })),
};

struct Raw {
    virtual_size: u64,
}

impl Writer for Raw {
    fn unit(&self) -> u64 {
        BLOCK
    }

    fn disk_size(&self) -> u64 {
        self.virtual_size
    }

    fn output_size(&self) -> Option<u64> {
        Some(self.virtual_size)
    }

    fn resized(&self, virtual_size: u64) -> Result<Box<dyn Writer>> {
        (FORMAT.writer)(virtual_size)
    }
}
