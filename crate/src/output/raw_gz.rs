//! A raw disk in one gzip member, optionally inside a tar archive as Google Compute Engine requires.

use super::{OutputFormat, Stamp, Writer, grows, tar_header};
use crate::compress::Encoding;
use crate::disk::info::Notice;
use crate::error::{Error, ErrorKind, Result};

pub(super) const RAW: OutputFormat = OutputFormat {
    name: "raw.gz",
    label: "Raw disk, compressed",
    hint: "",
    extension: ".raw.gz",
    options: &[],
    compressed: true,
    has_footer: false,
    writer: |virtual_size| Ok(Box::new(RawGzip { virtual_size })),
};

pub(super) const TAR: OutputFormat = OutputFormat {
    name: "tar.gz",
    label: "tar.gz with disk.raw",
    hint: "For Google Cloud",
    extension: ".tar.gz",
    options: &[],
    compressed: true,
    has_footer: false,
    writer: |virtual_size| Ok(Box::new(TarGzip::new(virtual_size)?)),
};

/// The unit for finding zeros, in bytes. Deflate reaches back 32 KiB, so data after that many zeros could not refer to
/// data before them anyway.
const UNIT: u64 = 64 << 10;

const GIB: u64 = 1 << 30;

/// The file name that Google Compute Engine requires.
const DISK: &str = "disk.raw";

struct RawGzip {
    virtual_size: u64,
}

impl Writer for RawGzip {
    fn encoding(&self) -> Encoding {
        Encoding::Gzip
    }

    fn unit(&self) -> u64 {
        UNIT
    }

    fn disk_size(&self) -> u64 {
        self.virtual_size
    }

    fn output_size(&self) -> Option<u64> {
        None
    }

    fn resized(&self, virtual_size: u64) -> Result<Box<dyn Writer>> {
        (RAW.writer)(virtual_size)
    }
}

struct TarGzip {
    virtual_size: u64,
    disk_size: u64,
}

impl TarGzip {
    /// Google Compute Engine accepts whole GiB only, at least one.
    fn new(virtual_size: u64) -> Result<Self> {
        let disk_size = virtual_size.max(1).checked_next_multiple_of(GIB);
        let disk_size =
            disk_size.ok_or_else(|| Error::new(ErrorKind::Limit, "The disk is too large for an archive"))?;
        Ok(Self { virtual_size, disk_size })
    }
}

impl Writer for TarGzip {
    fn encoding(&self) -> Encoding {
        Encoding::Gzip
    }

    fn unit(&self) -> u64 {
        UNIT
    }

    fn disk_size(&self) -> u64 {
        self.disk_size
    }

    fn notice(&self) -> Option<Notice> {
        let added = self.disk_size - self.virtual_size;
        (added > 0).then(|| grows(added, GIB, "Google Compute Engine"))
    }

    fn output_size(&self) -> Option<u64> {
        None
    }

    fn resized(&self, _virtual_size: u64) -> Result<Box<dyn Writer>> {
        let message = "A tar archive states the size of the disk before the disk, but the size of this one is known at \
                       its end only; choose another output format, or unpack the image first";
        Err(Error::new(ErrorKind::Unsupported, message).coded("size-needed"))
    }

    fn header(&self, stamp: &Stamp) -> Vec<u8> {
        tar_header::header(DISK, self.disk_size, stamp.seconds).to_vec()
    }

    fn footer(&self, _stamp: &Stamp) -> Vec<u8> {
        vec![0; tar_header::zeros_behind(self.disk_size) as usize]
    }
}
