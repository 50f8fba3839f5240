//! The registry of output formats and their writers.
//!
//! A writer stores the disk at its own offsets: the guest offset is the output offset, so workers write data without
//! asking. It may round the size of the disk up with zeros, and add bytes after it. An encoded output may also have
//! bytes before the disk; all of it is encoded.

mod raw;
mod raw_gz;
mod tar_header;
mod vhd;

use crate::compress::Encoding;
use crate::disk::info::Notice;
use crate::error::shown::shown;
use crate::error::{Error, ErrorKind, Result};

/// The unit in which sparse files store data or a hole, in bytes: the block size of common file systems, and the
/// granularity of `qemu-img convert` (`-S 4k`).
pub const BLOCK: u64 = 4096;

/// An output format.
pub struct OutputFormat {
    /// The name in `qemu-img -O`.
    pub name: &'static str,
    /// The name for display.
    pub label: &'static str,
    /// Its purpose, in a few words; may be empty.
    pub hint: &'static str,
    /// The file name extension, with the dot.
    pub extension: &'static str,
    /// Its options.
    pub options: &'static [FormatOption],
    /// Whether data is compressed.
    pub compressed: bool,
    /// Whether readers look for a footer at the end of the file, so that nothing may follow the output.
    pub has_footer: bool,
    /// Creates a writer for a disk of this virtual size, in bytes. Fails with `limit` if the format cannot hold the
    /// disk.
    pub writer: fn(u64) -> Result<Box<dyn Writer>>,
}

impl OutputFormat {
    /// Creates a writer for a disk of unknown size; [`Writer::resized`] must follow at its end. Fails with
    /// `unsupported` if the output has the size before the disk.
    pub fn writer_in_order(&self) -> Result<Box<dyn Writer>> {
        let writer = (self.writer)(0)?;
        writer.resized(0)?;
        Ok(writer)
    }
}

/// An option of an output format.
pub struct FormatOption {
    /// The name in `qemu-img -o`.
    pub name: &'static str,
    /// The supported values, default first.
    pub values: &'static [&'static str],
}

/// The code of the notice that the disk is larger in the output. Its fields, in bytes, are `added`, and `unit`, which
/// the new size is a multiple of.
const GROWS: &str = "disk-grows";

/// The notice that a disk grows by `added` bytes, because `taker` requires whole `unit`s.
fn grows(added: u64, unit: u64, taker: &str) -> Notice {
    let message = format!(
        "The disk grows by {} of zeros, since {taker} takes whole {} only; the backup of a GPT, if it has one, is then not \
         at its end",
        binary_size(added),
        binary_size(unit).trim_start_matches("1 ")
    );
    Notice::new(GROWS, message).field("added", added).field("unit", unit)
}

/// Formats a size for display: "512 bytes", "1023.5 KiB", "3 GiB".
fn binary_size(bytes: u64) -> String {
    let unit =
        ["KiB", "MiB", "GiB", "TiB"].into_iter().zip(1..).take_while(|(_, power)| bytes >> (10 * power) > 0).last();
    match unit {
        None => format!("{bytes} bytes"),
        Some((name, power)) => {
            let tenths = (u128::from(bytes) * 10) >> (10 * power);
            if tenths % 10 == 0 {
                format!("{} {name}", tenths / 10)
            } else {
                format!("{}.{} {name}", tenths / 10, tenths % 10)
            }
        }
    }
}

/// Defines one output: the header, the disk, zeros up to `disk_size`, and the footer, plain or encoded.
pub trait Writer {
    /// The encoding of the output.
    fn encoding(&self) -> Encoding {
        Encoding::Plain
    }

    /// The storage unit, in bytes, a power of two. A unit of zeros becomes a hole.
    fn unit(&self) -> u64;

    /// The size of the disk in the output, in bytes: the virtual size, possibly rounded up.
    fn disk_size(&self) -> u64;

    /// Explains why `disk_size` is not the virtual size, with the code [`GROWS`]. `None` if they are equal.
    fn notice(&self) -> Option<Notice> {
        None
    }

    /// The size of the output in bytes, if it is known before the conversion.
    fn output_size(&self) -> Option<u64>;

    /// Returns a writer for the same output with a disk of `virtual_size` bytes, now that the size is known. Only the
    /// size of the disk, the notice and the footer may differ. Fails with `limit` if the format cannot hold the disk,
    /// and with `unsupported`, for any size, if the header depends on the size.
    fn resized(&self, virtual_size: u64) -> Result<Box<dyn Writer>>;

    /// The bytes before the disk; empty in a plain output.
    fn header(&self, _stamp: &Stamp) -> Vec<u8> {
        Vec::new()
    }

    /// The bytes after `disk_size`.
    fn footer(&self, _stamp: &Stamp) -> Vec<u8> {
        Vec::new()
    }
}

/// Time and random bytes, for formats that record when a file was made or identify it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stamp {
    /// The time of the conversion, in seconds since 1970-01-01 00:00 UTC.
    pub seconds: u64,
    /// Random bytes; all zeros if the platform has none.
    pub random: [u8; 16],
}

/// All output formats, in the order in which they are offered, default first.
pub const OUTPUT_FORMATS: &[OutputFormat] = &[raw::FORMAT, vhd::FORMAT, raw_gz::RAW, raw_gz::TAR];

/// Finds the output format `name`. Fails with `usage` if there is none.
pub fn by_name(name: &str) -> Result<&'static OutputFormat> {
    OUTPUT_FORMATS.iter().find(|format| format.name == name).ok_or_else(|| {
        let names: Vec<_> = OUTPUT_FORMATS.iter().map(|format| format.name).collect();
        let message = format!("There is no output format '{}'; choose one of {}", shown(name), names.join(", "));
        Error::new(ErrorKind::Usage, message)
    })
}
