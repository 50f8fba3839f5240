//! The registry of formats. One file or folder per format; each knows its own on-disk structures
//! and nothing else.

mod foreign;
pub mod qcow2;
pub mod raw;

use crate::error::{Error, ErrorKind, Result};
use crate::extent::ExtentWalk;
use crate::image::Info;
use crate::source::{Source, read_exact};
use crate::units::{ByteRange, HostOffset};
use futures_util::future::LocalBoxFuture;
use std::rc::Rc;

/// The bytes of a file that recognise its format.
pub struct Sample {
    /// The first bytes, up to [`HEAD`].
    pub head: Vec<u8>,
    /// The last 512 bytes, where some formats keep a footer.
    pub tail: Vec<u8>,
}

/// Enough for the primary volume descriptor of ISO 9660 (sector 16 of 2,048 bytes).
const HEAD: u64 = 36 << 10;
/// A VHD footer.
const TAIL: u64 = 512;

/// A disk in some format, opened.
pub trait Disk {
    /// The size of the disk that the guest sees, in bytes.
    fn virtual_size(&self) -> u64;
    /// The bytes that the largest part of it can have that is decoded as a whole; 0 where there is none.
    fn largest_piece(&self) -> u64;
    /// What the headers say, but for sizes of the file and the disk.
    fn info(&self) -> Info;
    /// Begins a pass over the extents.
    fn walk(self: Rc<Self>) -> Box<dyn ExtentWalk>;
}

/// Opens a source as one format.
pub type Open = fn(Rc<dyn Source>) -> LocalBoxFuture<'static, Result<Rc<dyn Disk>>>;

/// A format that is recognised, and perhaps read.
pub struct Format {
    /// The name as `qemu-img -f` has it.
    pub name: &'static str,
    /// The name as people write it.
    pub label: &'static str,
    /// Whether a file is in this format, by content.
    pub probe: fn(&Sample) -> bool,
    /// Reads it; `None` where it is only known by name.
    pub open: Option<Open>,
}

/// Every format, in the order in which they are probed.
pub const FORMATS: &[&[Format]] = &[&[qcow2::FORMAT], &[raw::FORMAT], foreign::FORMATS];

fn formats() -> impl Iterator<Item = &'static Format> {
    FORMATS.iter().copied().flatten()
}

/// The formats that are read, in the order of the registry.
pub fn readable() -> impl Iterator<Item = &'static Format> {
    formats().filter(|format| format.open.is_some())
}

/// The format called `name`, which must be one that is read.
pub fn by_name(name: &str) -> Result<&'static Format> {
    readable().find(|format| format.name == name).ok_or_else(|| {
        let names: Vec<_> = readable().map(|format| format.name).collect();
        Error::new(ErrorKind::Usage, format!("There is no input format '{name}'; choose one of {}", names.join(", ")))
    })
}

/// Recognises the format of `source` by its content.
pub async fn probe(source: &dyn Source) -> Result<Option<&'static Format>> {
    let size = source.size();
    let head = ByteRange { start: HostOffset(0), len: size.min(HEAD) };
    let mut sample = Sample { head: read_exact(source, head, "start of the file").await?, tail: Vec::new() };
    if let Some(found) = formats().find(|format| (format.probe)(&sample)) {
        return Ok(Some(found));
    }
    let tail = ByteRange { start: HostOffset(size - size.min(TAIL)), len: size.min(TAIL) };
    sample.tail = read_exact(source, tail, "end of the file").await?;
    Ok(formats().find(|format| (format.probe)(&sample)))
}
