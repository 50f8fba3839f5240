//! The registry of output formats: one file for each, and the contract that they share (`layout.rs`).

mod blocks;
mod gzip;
mod identifiers;
mod layout;
mod options;
mod ova;
mod qcow2;
mod raw;
mod raw_blocks;
pub(crate) mod tar_header;
mod vdi;
mod vhd;
mod vhdx;
mod vmdk;

pub(crate) use layout::{Assembler, Write, Writes};
pub use layout::{Layout, SIZE_NEEDED, Stamp};
pub use options::{FormatOption, Options, OtherValues};

use crate::disk::info::Notice;
use crate::error::shown::shown;
use crate::error::{Error, ErrorKind, Result};
use crate::offsets::SECTOR;

/// The unit in which sparse files store data or a hole, in bytes: the block size of common file systems, and the
/// granularity of `qemu-img convert` (`-S 4k`).
pub const BLOCK: u64 = 4096;

/// An output format.
pub struct OutputFormat {
    /// The name in `qemu-img -O`.
    pub name: &'static str,
    /// Other names that callers may use, in lower case.
    pub aliases: &'static [&'static str],
    /// The name for display.
    pub label: &'static str,
    /// Its purpose, in a few words; may be empty.
    pub hint: &'static str,
    /// The file name extensions that state it, with the dot, in lower case. Its files get the first one.
    pub extensions: &'static [&'static str],
    /// The format of the disk in its files: its own, unless the output is a container.
    pub content: &'static str,
    /// The number of containers around the disk.
    pub containers: usize,
    /// Its options.
    pub options: &'static [FormatOption],
    /// Other options of `qemu-img`, with the only value that Decant writes. They are accepted, but not offered.
    pub implied: &'static [&'static [FormatOption]],
    /// The options that suit most people, as names and values, if they are not the defaults.
    pub(crate) recommended: &'static [(&'static str, &'static str)],
    /// Whether readers look for a footer at the end of the file, so that nothing may follow the output.
    pub has_footer: bool,
    /// Lays out a disk of this virtual size, in bytes. Fails with `limit` if the format cannot hold the disk.
    pub layout: fn(u64, &Options) -> Result<Box<dyn Layout>>,
}

impl OutputFormat {
    /// The fields that most formats share.
    const DEFAULT: Self = Self {
        name: "",
        aliases: &[],
        label: "",
        hint: "",
        extensions: &[],
        content: "",
        containers: 0,
        options: &[],
        implied: &[],
        recommended: &[],
        has_footer: false,
        layout: |_, _| unreachable!("each format has its own"),
    };

    /// Lays out a disk of unknown size; [`Layout::resized`] must follow at its end. Fails with `unsupported` if the
    /// output has the size before the disk.
    pub fn layout_in_order(&self, options: &Options) -> Result<Box<dyn Layout>> {
        (self.layout)(0, options)?.resized(0)
    }
}

/// The code of the notice that the disk is larger in the output. Its fields, in bytes, are `added`, and `unit`, which
/// the new size is a multiple of.
const GROWS: &str = "disk-grows";

/// The notice that a disk grows from `virtual_size` to `disk_size` bytes, because `taker` requires whole `unit`s. `None`
/// if it does not.
fn grows(virtual_size: u64, disk_size: u64, unit: u64, taker: &str) -> Option<Notice> {
    let added = disk_size - virtual_size;
    if added == 0 {
        return None;
    }
    let message = format!(
        "The disk grows by {} of zeros, since {taker} accepts only whole {}",
        binary_size(added),
        if unit == SECTOR { "sectors".to_owned() } else { binary_size(unit).replace("1 ", "") }
    );
    Some(Notice::new(GROWS, message).field("added", added).field("unit", unit))
}

/// Copies `added` to `bytes` at `at`.
fn put(bytes: &mut [u8], at: u64, added: &[u8]) {
    bytes[at as usize..][..added.len()].copy_from_slice(added);
}

/// Formats a size for display: "512 bytes", "1023.5 KiB", "3 GiB".
fn binary_size(bytes: u64) -> String {
    let unit =
        ["KiB", "MiB", "GiB", "TiB"].into_iter().zip(1..).take_while(|(_, power)| bytes >> (10 * power) > 0).last();
    match unit {
        None => format!("{bytes} bytes"),
        Some((name, power)) => {
            let shift = 10 * power;
            let (whole, rest) = (bytes >> shift, bytes % (1 << shift));
            match (rest * 10) >> shift {
                0 => format!("{whole} {name}"),
                tenths => format!("{whole}.{tenths} {name}"),
            }
        }
    }
}

/// All output formats, in the order in which they are offered, default first.
pub const OUTPUT_FORMATS: &[OutputFormat] = &[
    raw::FORMAT,
    qcow2::FORMAT,
    vmdk::FORMAT,
    vhd::FORMAT,
    vhdx::FORMAT,
    vdi::FORMAT,
    gzip::RAW,
    raw_blocks::ZSTD,
    raw_blocks::XZ,
    gzip::TAR,
    ova::FORMAT,
];

/// Finds the output format `name`. Fails with `usage` if there is none.
pub fn by_name(name: &str) -> Result<&'static OutputFormat> {
    OUTPUT_FORMATS.iter().find(|format| format.name == name).ok_or_else(|| {
        let names: Vec<_> = OUTPUT_FORMATS.iter().map(|format| format.name).collect();
        let message = format!("There is no output format '{}'; choose one of {}", shown(name), names.join(", "));
        Error::new(ErrorKind::Usage, message)
    })
}
