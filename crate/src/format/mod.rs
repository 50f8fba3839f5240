//! The registry of formats. Each format has a file or a folder, which knows its own on-disk structures only.

mod entry_table;
mod foreign;
mod listing;
pub mod qcow2;
pub mod qed;
pub mod raw;
mod slices;
mod strangers;
pub mod vdi;
pub mod vmdk;

use crate::crypt::Encryption;
use crate::disk::extent::ExtentWalk;
use crate::disk::file_name;
use crate::disk::info::Info;
use crate::disk::reference::{Identity, Reference};
use crate::error::shown::shown;
use crate::error::{Error, ErrorKind, Result};
use crate::io::source::{FileId, Source, read_exact};
use crate::offsets::{ByteRange, HostOffset};
use futures_util::FutureExt;
use futures_util::future::{LocalBoxFuture, ready};
use std::rc::Rc;

/// The bytes of a file by which its format is recognised.
pub struct Sample {
    /// The first bytes, up to [`HEAD`].
    pub head: Vec<u8>,
    /// The last 512 bytes: the footer of some formats. Empty at first, while the head alone is probed.
    pub tail: Vec<u8>,
}

/// Length of the head, in bytes: up to the primary volume descriptor of ISO 9660 (sector 16 of 2,048 bytes).
pub const HEAD: u64 = 36 << 10;
/// Length of the tail, in bytes: a VHD footer.
pub const TAIL: u64 = 512;

/// An opened image of one format: one layer of a chain.
pub trait Disk {
    /// The format's name, as `qemu-img -f` has it.
    fn format(&self) -> &'static str;

    /// The size of the disk that the guest sees, in bytes.
    fn virtual_size(&self) -> u64;

    /// What is known from the headers: the fields of [`Info`] that only the format knows. The others are filled in.
    fn info(&self) -> Info;

    /// Upper bound, in bytes, on one indivisible encoded unit; 0 if there is none.
    fn largest_unit(&self) -> u64 {
        0
    }

    /// The other files that the image names.
    fn references(&self) -> &[Reference] {
        &[]
    }

    /// What children may record of this image as their parent. Each program has a way of its own.
    fn identities(&self) -> Vec<Identity> {
        Vec::new()
    }

    /// Reads the headers of the files that hold parts of this layer. `files` are in the order of [`Disk::references`]; layers
    /// and files that were not handed over are `None`. Fails with `corrupt` if a file cannot be the one that is named, or as
    /// reading its header does.
    fn attach<'a>(&'a self, _files: &'a [Option<PartFile>]) -> LocalBoxFuture<'a, Result<()>> {
        ready(Ok(())).boxed_local()
    }

    /// How the data is encrypted, if it is.
    fn encryption(&self) -> Option<&Encryption> {
        None
    }

    /// Begins a pass over the extents of this layer alone.
    fn walk(self: Rc<Self>, setup: WalkSetup) -> Box<dyn ExtentWalk>;
}

/// A file that holds a part of a layer beside the image's own file.
#[derive(Clone)]
pub struct PartFile {
    /// Which file.
    pub id: FileId,
    /// Its name, for messages.
    pub name: Rc<str>,
    /// Its bytes, for what is no data.
    pub source: Rc<dyn Source>,
}

/// What a pass over one layer needs.
#[derive(Clone)]
pub struct WalkSetup {
    /// The layer's own file.
    pub file: FileId,
    /// The files that hold parts of the layer, in the order of [`Disk::references`].
    pub parts: Rc<[Option<PartFile>]>,
    /// The number of the layer's cipher; `None` if it is not encrypted.
    pub cipher: Option<u16>,
    /// The layer's place in the chain, from 0 for the image.
    pub layer: u16,
    /// About how many bytes the tables in memory may take.
    pub memory: u64,
    /// Whether damage becomes lost extents. Otherwise it is an error.
    pub salvage: bool,
}

/// Options for opening one layer of a chain.
#[derive(Clone, Debug, Default)]
pub struct LayerOptions {
    /// The ID or the name of the internal snapshot to read instead of the active disk.
    pub snapshot: Option<String>,
    /// Whether damage is tolerated that leaves something to read.
    pub salvage: bool,
    /// Backing layer: its snapshot table is not read.
    pub is_backing: bool,
    /// Salvage: how many bytes are missing at the end of the file by the size that its container states. A format that
    /// tells by itself where its data lies has no use for it.
    pub missing: u64,
}

/// Opens a source as one format.
pub type Open = fn(Rc<dyn Source>, LayerOptions) -> LocalBoxFuture<'static, Result<Rc<dyn Disk>>>;

/// A format that is recognised by content, and perhaps read.
pub struct Format {
    /// The name as `qemu-img -f` has it.
    pub name: &'static str,
    /// The name as people write it.
    pub label: &'static str,
    /// Whether QEMU knows disks of this format, so that a backing file whose format is not stated may be one.
    pub of_qemu: bool,
    /// Whether a file is of this format, by its content.
    pub probe: fn(&Sample) -> bool,
    /// What to do with a file that has a name of this format and is in no format that is recognised.
    pub hint: Option<NameHint>,
    /// What reads it.
    pub reader: Reader,
}

impl Format {
    /// Whether some build reads it, rather than knowing it by name only.
    pub fn is_supported(&self) -> bool {
        !matches!(self.reader, Reader::Nothing { .. })
    }

    /// Whether it is no disk image, but something that is taken for one.
    pub fn is_no_image(&self) -> bool {
        matches!(self.reader, Reader::Nothing { is_image: false, .. })
    }

    /// The error for a file of this format, which is not read. `subject` begins the sentence, with its verb.
    pub fn refusal(&self, subject: &str) -> Error {
        let label = self.label;
        let (kind, code, advice) = match self.reader {
            Reader::Nothing { is_image: false, advice } => (ErrorKind::NotRecognised, "not-an-image", advice),
            Reader::Nothing { advice, .. } => (ErrorKind::Unsupported, "format-not-read", advice),
            _ => (ErrorKind::Unsupported, "format-not-read", None),
        };
        let message = match advice {
            Some(advice) => format!("{subject} {label}, which Decant does not read; {advice}"),
            None => format!("{subject} {label}, which Decant does not read yet"),
        };
        Error::new(kind, message).coded(code).field("format", self.name)
    }

    /// Opens `source` as one layer. Fails with `unsupported` if nothing reads the format, and as the format does.
    pub(crate) async fn open(&self, source: Rc<dyn Source>, options: LayerOptions) -> Result<Rc<dyn Disk>> {
        match self.reader {
            Reader::Open(open) => open(source, options).await,
            Reader::Nothing { .. } => Err(self.refusal("The file is")),
        }
    }
}

/// What reads a format.
#[derive(Clone, Copy)]
pub enum Reader {
    /// This function.
    Open(Open),
    /// Nothing: the format is only known by name.
    Nothing {
        /// Whether it is a disk image, or holds one.
        is_image: bool,
        /// What to do with it, as the second half of a sentence.
        advice: Option<&'static str>,
    },
}

/// What to do with a file that is not recognised by its content.
pub struct NameHint {
    /// The ends of the names for which it holds, in lower case.
    pub extensions: &'static [&'static str],
    /// The second half of a sentence.
    pub text: &'static str,
}

/// The format and its hint for a file called `name`, if there is one.
pub fn hint(name: &str) -> Option<(&'static Format, &'static str)> {
    let name = name.to_ascii_lowercase();
    formats().find_map(|format| {
        let hint = format.hint.as_ref()?;
        let is_for = hint.extensions.iter().any(|extension| name.ends_with(extension));
        is_for.then_some((format, hint.text))
    })
}

/// All formats, in the order in which they are probed.
pub const FORMATS: &[&[Format]] = &[
    &[qcow2::FORMAT],
    &[vdi::FORMAT],
    &[vmdk::FORMAT],
    &[qed::FORMAT],
    &[raw::FORMAT],
    foreign::FORMATS,
    strangers::FORMATS,
];

fn formats() -> impl Iterator<Item = &'static Format> {
    FORMATS.iter().copied().flatten()
}

/// The formats that are read, in the order of the registry.
pub fn readable() -> impl Iterator<Item = &'static Format> {
    formats().filter(|format| format.is_supported())
}

/// The format called `name`. Fails with `usage` unless it is one that is read.
pub fn by_name(name: &str) -> Result<&'static Format> {
    readable().find(|format| format.name == name).ok_or_else(|| {
        let names: Vec<_> = readable().map(|format| format.name).collect();
        let message = format!("There is no input format '{}'; choose one of {}", shown(name), names.join(", "));
        Error::new(ErrorKind::Usage, message)
    })
}

/// The format that an image states for its backing file: a protocol of QEMU's is raw. Fails with `unsupported` unless it is
/// one that is read.
pub fn stated(name: &str) -> Result<&'static Format> {
    let name = if file_name::is_protocol(name) { raw::NAME } else { name };
    readable()
        .find(|format| format.name == name)
        .ok_or_else(|| Error::unsupported(format!("a backing file in the format '{}'", shown(name))))
}

/// The format of `source`, by its content; `None` if it is not recognised. Fails with `source`, or with `internal` if memory
/// runs out.
pub async fn probe(source: &dyn Source) -> Result<Option<&'static Format>> {
    complete(&mut head(source).await?, source).await
}

/// The same, where `sample` has the head of `source` already. The tail is added to it if it is needed.
pub async fn complete(sample: &mut Sample, source: &dyn Source) -> Result<Option<&'static Format>> {
    if let Some(found) = recognise(sample) {
        return Ok(Some(found));
    }
    let size = source.size();
    let tail = ByteRange { start: HostOffset(size - size.min(TAIL)), len: size.min(TAIL) };
    sample.tail = read_exact(source, tail, "end of the file").await?;
    Ok(recognise(sample))
}

/// The first bytes of `source`.
pub async fn head(source: &dyn Source) -> Result<Sample> {
    let head = ByteRange { start: HostOffset(0), len: source.size().min(HEAD) };
    Ok(Sample { head: read_exact(source, head, "start of the file").await?, tail: Vec::new() })
}

/// The format of a file that has such bytes.
pub fn recognise(sample: &Sample) -> Option<&'static Format> {
    formats().find(|format| (format.probe)(sample))
}
