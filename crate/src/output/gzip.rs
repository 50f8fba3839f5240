//! A raw disk in one gzip member, optionally inside a tar archive as Google Compute Engine requires.

use super::layout::{Assembler, Layout, Stamp, Writes, size_needed};
use super::{OutputFormat, grows, tar_header};
use crate::compress::gzip_member::{self, GzipMember, Zeros, zero_unit};
use crate::compress::{CompressedEncoding, ENCODED_HOLE, EncodedPart, Encoding};
use crate::disk::info::Notice;
use crate::error::{Error, ErrorKind, Result};
use crate::offsets::GuestRange;

pub(super) const RAW: OutputFormat = OutputFormat {
    name: "raw.gz",
    label: "Raw disk, compressed",
    extensions: &[".raw.gz", ".gz"],
    content: "raw",
    containers: 1,
    layout: |virtual_size, _| Ok(Box::new(RawGzip { virtual_size })),
    ..OutputFormat::DEFAULT
};

pub(super) const TAR: OutputFormat = OutputFormat {
    name: "tar.gz",
    label: "tar.gz with disk.raw",
    hint: "For Google Cloud",
    extensions: &[".tar.gz", ".tgz"],
    content: "raw",
    containers: 2,
    layout: |virtual_size, _| Ok(Box::new(TarGzip::new(virtual_size)?)),
    ..OutputFormat::DEFAULT
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

impl Layout for RawGzip {
    fn encoding(&self) -> Encoding {
        Encoding::Compressed(CompressedEncoding::Segments)
    }

    fn unit(&self) -> u64 {
        UNIT
    }

    fn disk_size(&self) -> u64 {
        self.virtual_size
    }

    fn size_for(&self, units: u64) -> u64 {
        member_bound(self.virtual_size, units, 0)
    }

    fn resized(&self, virtual_size: u64) -> Result<Box<dyn Layout>> {
        Ok(Box::new(Self { virtual_size }))
    }

    fn assembler(&self, _stamp: &Stamp) -> Result<Option<Box<dyn Assembler>>> {
        Ok(Some(Box::new(GzipAssembler::new(Vec::new(), Vec::new()))))
    }
}

/// An upper bound on the size of a gzip member with a disk of `disk_size` bytes, data in `units` units, and `more` bytes around
/// it.
fn member_bound(disk_size: u64, units: u64, more: u64) -> u64 {
    let data = (units * UNIT).min(disk_size);
    let segments = data + units * (decant_deflate::bound(UNIT as usize) as u64 - UNIT);
    // A range of zeros comes before each segment and at the end of each job.
    let zeros = gzip_member::zeros_bound(disk_size - data, 2 * (units + 1) + disk_size / ENCODED_HOLE);
    segments + zeros + gzip_member::bytes_bound(more) + gzip_member::FRAME
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

impl Layout for TarGzip {
    fn encoding(&self) -> Encoding {
        Encoding::Compressed(CompressedEncoding::Segments)
    }

    fn unit(&self) -> u64 {
        UNIT
    }

    fn disk_size(&self) -> u64 {
        self.disk_size
    }

    fn notice(&self) -> Option<Notice> {
        grows(self.virtual_size, self.disk_size, GIB, "Google Compute Engine")
    }

    fn size_for(&self, units: u64) -> u64 {
        member_bound(self.disk_size, units, tar_header::BLOCK + tar_header::zeros_after_only_file(self.disk_size))
    }

    fn resized(&self, _virtual_size: u64) -> Result<Box<dyn Layout>> {
        Err(size_needed("A tar archive"))
    }

    fn assembler(&self, stamp: &Stamp) -> Result<Option<Box<dyn Assembler>>> {
        let header = tar_header::header(DISK.as_bytes(), self.disk_size, stamp.seconds).to_vec();
        let footer = vec![0; tar_header::zeros_after_only_file(self.disk_size) as usize];
        Ok(Some(Box::new(GzipAssembler::new(header, footer))))
    }
}

/// Assembles a header, the disk and a footer to one gzip member.
struct GzipAssembler {
    member: GzipMember,
    header: Vec<u8>,
    footer: Vec<u8>,
    /// A unit of compressed zeros, made on first use.
    zero_unit: Option<Vec<u8>>,
    /// The length of the output so far, in bytes.
    end: u64,
}

impl GzipAssembler {
    fn new(header: Vec<u8>, footer: Vec<u8>) -> Self {
        Self { member: GzipMember::default(), header, footer, zero_unit: None, end: 0 }
    }

    fn write(&mut self, bytes: Vec<u8>, times: u64, writes: &mut Writes) {
        let len = bytes.len() as u64 * times;
        writes.repeated(self.end, bytes, times);
        self.end += len;
    }

    fn zeros(&mut self, len: u64, writes: &mut Writes) -> Result<()> {
        let Zeros { units, last } = self.member.zeros(len)?;
        if units > 0 {
            let unit = match self.zero_unit.take() {
                Some(unit) => unit,
                None => zero_unit()?,
            };
            self.write(unit.clone(), units, writes);
            self.zero_unit = Some(unit);
        }
        self.write(last, 1, writes);
        Ok(())
    }
}

impl Assembler for GzipAssembler {
    fn begin(&mut self, writes: &mut Writes) -> Result<()> {
        let mut bytes = Vec::new();
        self.member.begin(&mut bytes);
        let header = std::mem::take(&mut self.header);
        self.member.bytes(&header, &mut bytes)?;
        self.write(bytes, 1, writes);
        Ok(())
    }

    fn place(&mut self, region: GuestRange, parts: &[EncodedPart], writes: &mut Writes) -> Result<()> {
        let mut at = region.start;
        for part in parts {
            self.zeros(part.guest - at, writes)?;
            self.member.segment(part);
            writes.part(self.end, part);
            self.end += part.encoded_len as u64;
            at = part.guest + part.len;
        }
        self.zeros(region.end - at, writes)
    }

    fn finish(&mut self, writes: &mut Writes) -> Result<()> {
        let mut bytes = Vec::new();
        let footer = std::mem::take(&mut self.footer);
        self.member.bytes(&footer, &mut bytes)?;
        self.member.end(&mut bytes);
        self.write(bytes, 1, writes);
        Ok(())
    }
}
