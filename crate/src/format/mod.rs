//! The registry of formats. One file or folder per format; each knows its own on-disk structures
//! and nothing else.

mod foreign;
pub mod luks;
pub mod qcow2;
pub mod raw;

use crate::error::{Error, ErrorKind, Result};
use crate::extent::ExtentWalk;
use crate::image::Info;
use crate::source::{FileId, Source, read_exact};
use crate::units::{ByteRange, HostOffset};
use futures_util::future::LocalBoxFuture;
use qcow2::Encryption;
use serde::Serialize;
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
    /// The format's name, as `info` has it.
    fn format(&self) -> &'static str;
    /// Whether reading needs zstd or encryption.
    fn needs_extras(&self) -> bool;
    /// The other files that it names.
    fn references(&self) -> References;
    /// How its data is encrypted, if it is.
    fn encryption(&self) -> Option<&Encryption>;
    /// Begins a pass over the extents of this layer alone.
    fn walk(self: Rc<Self>, setup: WalkSetup) -> Box<dyn ExtentWalk>;
}

/// The other files that an image names.
#[derive(Clone, Debug, Default)]
pub struct References {
    /// What is read where the image records nothing.
    pub backing_file: Option<Reference>,
    /// Where the data lies, if not in the image.
    pub data_file: Option<Reference>,
}

/// A file that an image names. It is never opened by that name.
#[derive(Clone, Debug, Serialize)]
pub struct Reference {
    /// As the image has it: a path, often of another machine.
    pub name: String,
    /// The format that the image states for it.
    pub format: Option<String>,
}

/// What a pass over one layer needs to know.
#[derive(Clone, Copy, Debug)]
pub struct WalkSetup {
    /// Which file the layer is.
    pub file: FileId,
    /// Its data file, if it has one, and the size of that.
    pub data: Option<(FileId, u64)>,
    /// Its cipher, if it is encrypted.
    pub cipher: Option<u16>,
    /// Its place in the chain.
    pub depth: u16,
    /// About how many bytes of its tables may be held.
    pub memory: u64,
    /// Whether damage becomes lost extents instead of an error.
    pub salvage: bool,
}

/// How to open one layer of a chain.
#[derive(Clone, Debug, Default)]
pub struct LayerOptions {
    /// ID or name of the internal snapshot to read instead of the active disk.
    pub snapshot: Option<String>,
    /// Whether damage that leaves something to read is tolerated.
    pub salvage: bool,
    /// Whether the layer is a backing file, of whose internal snapshots nobody asks.
    pub is_backing: bool,
}

/// Opens a source as one format.
pub type Open = fn(Rc<dyn Source>, LayerOptions) -> LocalBoxFuture<'static, Result<Rc<dyn Disk>>>;

/// A format that is recognised, and perhaps read.
pub struct Format {
    /// The name as `qemu-img -f` has it.
    pub name: &'static str,
    /// The name as people write it.
    pub label: &'static str,
    /// Whether QEMU reads disks in this format, and so takes a backing file of unstated format for one.
    pub of_qemu: bool,
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

/// The format that an image states for its backing file.
pub fn stated(name: &str) -> Result<&'static Format> {
    readable()
        .find(|format| format.name == name)
        .ok_or_else(|| Error::unsupported(format!("a backing file in the format '{name}'")))
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
