//! The registry of formats. Each format has its own file or folder, which knows only that format's structures.

mod entry_table;
mod foreign;
mod listing;
pub mod luks;
pub mod parallels;
pub mod qcow2;
pub mod qed;
pub mod raw_disk;
mod sector_runs;
mod slices;
mod strangers;
mod two_level;
pub mod vdi;
pub mod vhd;
pub mod vhdx;
pub mod vmdk;

pub(crate) use raw_disk::{STATE_FORMAT, STATE_RAW};
pub(crate) use strangers::TEXT_FILE;

use crate::crypt::Encryption;
use crate::disk::extent::ExtentWalk;
use crate::disk::file_check::{CheckProgress, FileCheck};
use crate::disk::file_name;
use crate::disk::host_ranges::HostReports;
use crate::disk::info::Info;
use crate::disk::reference::{Identity, Reference};
use crate::disk::sector_sizes::SectorSizes;
use crate::error::shown::shown;
use crate::error::{Error, ErrorKind, Result};
use crate::io::source::{FileId, Source};
use crate::offsets::ByteRange;
use futures_util::FutureExt;
use futures_util::future::{LocalBoxFuture, ready};
use std::rc::Rc;

/// The bytes of a file that identify its format.
pub(crate) struct Sample<'a> {
    /// The first bytes, up to [`HEAD`].
    pub(crate) head: &'a [u8],
    /// The last [`TAIL`] bytes, which are the footer of some formats. Empty until the head alone has been probed.
    pub(crate) tail: &'a [u8],
}

/// Length of the head, in bytes: covers the primary volume descriptor of ISO 9660 (sector 16 of 2,048 bytes).
pub const HEAD: u64 = 36 << 10;
/// Length of the tail, in bytes: a VHD footer.
pub(crate) const TAIL: u64 = 512;

/// An open image: one layer of a chain.
pub(crate) trait Disk {
    /// The virtual size, in bytes.
    fn virtual_size(&self) -> u64;

    /// The metadata in the headers: the format-specific fields of [`Info`]. The caller fills in the others.
    fn info(&self) -> Info;

    /// The largest indivisible encoded unit, in bytes; 0 if there is none.
    fn largest_unit(&self) -> u64 {
        0
    }

    /// The other files that the image refers to.
    fn references(&self) -> &[Reference] {
        &[]
    }

    /// The identities by which a child may refer to this image as its parent. Programs differ in the one they record.
    fn identities(&self) -> Vec<Identity> {
        Vec::new()
    }

    /// Reads the headers of the files with parts of this layer. `files` are in the order of [`Disk::references`];
    /// layers and files that were not handed over are `None`. Fails with `corrupt` if a file cannot be the one referred
    /// to, and as reading its header does.
    fn attach<'a>(&'a self, _files: &'a [Option<PartFile>]) -> LocalBoxFuture<'a, Result<()>> {
        ready(Ok(())).boxed_local()
    }

    /// The sizes of sectors that the image states.
    fn sectors(&self) -> Option<SectorSizes> {
        None
    }

    fn encryption(&self) -> Option<&Encryption> {
        None
    }

    /// Returns the source that extents in `file`, the layer's own file, refer to.
    fn data_source(&self, file: Rc<dyn Source>) -> Rc<dyn Source> {
        file
    }

    /// Starts a pass over the extents of this layer alone.
    fn walk(self: Rc<Self>, setup: WalkSetup) -> Box<dyn ExtentWalk>;

    /// How the structures of the image's file are checked.
    fn check(self: Rc<Self>, _progress: CheckProgress) -> FileChecking {
        FileChecking::ByWalk(WalkedCheck::default())
    }
}

/// How the structures of a file are checked.
pub(crate) enum FileChecking {
    /// By the format: it has structures that a walk does not read, such as reference counts.
    Own(LocalBoxFuture<'static, Result<FileCheck>>),
    /// By a walk, which reads all tables, and reports where structures and data are.
    ByWalk(WalkedCheck),
    /// The file has no tables: it is the disk, or an encrypted form of it.
    NoTables,
}

/// Data for a check by a walk, besides the walk.
#[derive(Default)]
pub(crate) struct WalkedCheck {
    /// Structures that the walk does not report.
    pub(crate) structures: Vec<ByteRange>,
    /// The space that one unit takes in the file, if the format writes its file without gaps, so that a gap with room for
    /// a unit is leaked.
    pub(crate) leaked_unit: Option<u64>,
    /// Whether the file was not closed properly, which the format's own programs count as a corruption.
    pub(crate) is_unclean: bool,
}

/// A file with a part of a layer, besides the image's own file.
#[derive(Clone)]
pub(crate) struct PartFile {
    pub(crate) id: FileId,
    /// Its name, for messages.
    pub(crate) name: Rc<str>,
    /// Its bytes, for reading headers and tables.
    pub(crate) source: Rc<dyn Source>,
}

/// The parameters of a pass over one layer.
#[derive(Clone)]
pub(crate) struct WalkSetup {
    pub(crate) file: FileId,
    /// The layer's virtual size.
    pub(crate) disk_size: u64,
    /// The files with parts of the layer, in the order of [`Disk::references`].
    pub(crate) parts: Rc<[Option<PartFile>]>,
    /// The number of the layer's cipher; `None` if it is not encrypted.
    pub(crate) cipher: Option<u16>,
    /// The layer's position in the chain; 0 is the image.
    pub(crate) layer: u16,
    /// Approximate limit on the memory for tables, in bytes.
    pub(crate) memory: u64,
    /// Whether damage is listed as lost extents. Otherwise it is an error.
    pub(crate) salvage: bool,
    /// Where the walk reports the structures of its files, so that they are compared with the extents.
    pub(crate) reports: HostReports,
}

/// Options for opening one layer of a chain.
#[derive(Clone, Debug, Default)]
pub(crate) struct LayerOptions {
    /// The ID or name of the internal snapshot to read instead of the active disk.
    pub(crate) snapshot: Option<String>,
    /// Whether to tolerate damage that leaves parts readable.
    pub(crate) salvage: bool,
    /// Whether this is a backing layer, whose snapshot table is not read.
    pub(crate) is_backing: bool,
    /// In a salvage: the number of bytes missing at the end of the file from the size that its container states.
    /// Ignored by formats that record the positions of their data.
    pub(crate) missing: u64,
}

/// Opens a source as an image of a format.
pub(crate) type Open = fn(Rc<dyn Source>, LayerOptions) -> LocalBoxFuture<'static, Result<Rc<dyn Disk>>>;

/// A format that is recognised by content, and possibly supported.
pub struct Format {
    /// The name, as for `qemu-img -f`.
    pub name: &'static str,
    /// Other names that callers may use, in lower case.
    pub aliases: &'static [&'static str],
    /// The extensions of its files, with the dot, in lower case; the most common one first.
    pub extensions: &'static [&'static str],
    /// The name for people.
    pub(crate) label: &'static str,
    /// Whether QEMU knows this format, so that a backing file of unstated format may have it.
    pub(crate) of_qemu: bool,
    /// Whether a file has this format, by its content.
    pub(crate) probe: fn(&Sample<'_>) -> bool,
    /// Advice for unrecognised files with a name of this format.
    pub(crate) hint: Option<NameHint>,
    /// Whether guests write it to their disks, so that a raw disk may begin with it.
    pub(crate) on_disks: bool,
    /// For a format that may be a raw disk with a footer: how to recognise the footer.
    pub(crate) footer: Option<DiskFooter>,
    /// The name of the file that describes a disk in its folder.
    pub folder_file: Option<&'static str>,
    /// For a format that may be a description of other files: whether a file that starts with these bytes is one.
    pub(crate) is_descriptor: Option<fn(&[u8]) -> bool>,
    pub(crate) reader: FormatReader,
}

/// Advice for a file that is not related to a disk image.
const INSTEAD: &str = "open one instead, such as a .qcow2, .vmdk, .vdi or .vhdx file";

impl Format {
    /// The abilities that few formats have.
    const DEFAULT: Self = Self {
        name: "",
        aliases: &[],
        extensions: &[],
        label: "",
        of_qemu: true,
        probe: |_| false,
        hint: None,
        on_disks: false,
        footer: None,
        folder_file: None,
        is_descriptor: None,
        reader: FormatReader::Nothing { content: Content::Other, advice: None },
    };

    /// The name for people in a list of formats.
    pub fn short_label(&self) -> &'static str {
        self.label.split_once(" (").map_or(self.label, |(name, _)| name)
    }

    /// Whether the file is the disk.
    pub fn is_raw(&self) -> bool {
        self.name == raw_disk::NAME
    }

    /// Whether the file is an image of an optical disc, which is also a disk if it has a partition table.
    pub(crate) fn is_disc(&self) -> bool {
        matches!(self.reader, FormatReader::Nothing { content: Content::Disc, .. })
    }

    /// Whether Decant can read the format.
    pub fn is_supported(&self) -> bool {
        !matches!(self.reader, FormatReader::Nothing { .. })
    }

    /// Whether the file is a disk image, or contains one: other files are often mistaken for one.
    pub fn is_image(&self) -> bool {
        !matches!(self.reader, FormatReader::Nothing { content: Content::Other | Content::Machine, .. })
    }

    /// Whether the file is the configuration of a virtual machine.
    pub fn is_machine(&self) -> bool {
        matches!(self.reader, FormatReader::Nothing { content: Content::Machine, .. })
    }

    /// Creates the error for a file of this unsupported format: `not-recognised` if it is not a disk image,
    /// `unsupported` otherwise. `subject` begins the sentence and includes its verb.
    pub(crate) fn refusal(&self, subject: &str) -> Error {
        let label = self.label;
        let (kind, code, state) = match self.is_image() {
            true => (ErrorKind::Unsupported, "format-not-read", "which Decant does not read"),
            false => (ErrorKind::NotRecognised, "not-an-image", "not a disk image"),
        };
        let advice = match self.reader {
            FormatReader::Nothing { advice: None, content: Content::Other } => Some(INSTEAD),
            FormatReader::Nothing { advice, .. } => advice,
            FormatReader::Open(_) => None,
        };
        let (mark, advice) = advice.map_or(("", ""), |advice| ("; ", advice));
        let message = format!("{subject} {label}, {state}{mark}{advice}");
        Error::new(kind, message).coded(code).field("format", self.name)
    }

    /// Opens `source` as one layer. Fails with [`Format::refusal`] if the format is not supported, and as the format's
    /// reader does.
    pub(crate) async fn open(&self, source: Rc<dyn Source>, options: LayerOptions) -> Result<Rc<dyn Disk>> {
        match self.reader {
            FormatReader::Open(open) => open(source, options).await,
            FormatReader::Nothing { .. } => Err(self.refusal("The file is")),
        }
    }
}

/// The reader of a format.
#[derive(Clone, Copy)]
pub(crate) enum FormatReader {
    Open(Open),
    /// Known, but not supported.
    Nothing {
        content: Content,
        /// Advice, as the second half of a sentence.
        advice: Option<&'static str>,
    },
}

/// The content of a file in a known, but unsupported format.
#[derive(Clone, Copy)]
pub(crate) enum Content {
    /// A disk image, or a file that contains one.
    Image,
    /// An image of an optical disc.
    Disc,
    /// The configuration of a virtual machine.
    Machine,
    /// Something else that is mistaken for a disk image.
    Other,
}

/// Finds the intact footer at the end of these bytes, the last ones of a file of this size. Returns its length and the size of the
/// disk, in bytes: more than there is before the footer if the file lacks some.
type FindFooter = fn(&[u8], u64) -> Option<(usize, u64)>;

/// The footer of a raw disk in another format.
#[derive(Clone, Copy)]
pub(crate) struct DiskFooter {
    /// The name for people of a disk with the footer, with an article.
    pub(crate) label: &'static str,
    pub(crate) find: FindFooter,
    /// The code of the notice for a raw disk that turns out to have this footer.
    pub(crate) notice: &'static str,
    /// The code of the error if the disk before the footer has another size.
    pub(crate) other_size: &'static str,
}

/// A footer that was found after a raw disk.
#[derive(Clone, Copy)]
pub(crate) struct FoundFooter {
    pub(crate) format: &'static Format,
    pub(crate) kind: DiskFooter,
    /// In bytes.
    pub(crate) len: usize,
    /// The size of the disk, in bytes.
    pub(crate) disk_size: u64,
}

/// Finds the footer of a format at the end of `tail`, the last [`TAIL`] bytes of a file of `size` bytes.
pub(crate) fn disk_footer(tail: &[u8], size: u64) -> Option<FoundFooter> {
    formats().find_map(|format| {
        let kind = format.footer?;
        let (len, disk_size) = (kind.find)(tail, size)?;
        Some(FoundFooter { format, kind, len, disk_size })
    })
}

/// Whether a file that starts with `head` describes a disk in other files, without which it is useless.
pub(crate) fn is_descriptor(head: &[u8]) -> bool {
    formats().filter_map(|format| format.is_descriptor).any(|is_descriptor| is_descriptor(head))
}

/// The format of a file that is the disk.
pub(crate) const RAW: &Format = &raw_disk::FORMAT;

/// Advice for a file that is not recognised by content.
pub(crate) struct NameHint {
    /// The file name endings that it applies to, in lower case.
    pub(crate) extensions: &'static [&'static str],
    pub(crate) code: &'static str,
    /// The advice, as the second half of a sentence.
    pub(crate) text: &'static str,
}

/// Finds the first format with a hint for files named `name`. Returns the format and the hint.
pub(crate) fn hint(name: &str) -> Option<(&'static Format, &'static NameHint)> {
    let name = name.to_ascii_lowercase();
    formats().find_map(|format| {
        let hint = format.hint.as_ref()?;
        let is_for = hint.extensions.iter().any(|extension| name.ends_with(extension));
        is_for.then_some((format, hint))
    })
}

/// All formats, in probe order.
pub(crate) const FORMATS: &[&[Format]] = &[
    &[qcow2::FORMAT],
    &[vdi::FORMAT],
    &[vmdk::FORMAT],
    &[qed::FORMAT],
    &[vhd::FORMAT],
    &[vhdx::FORMAT],
    &[parallels::FORMAT],
    &[luks::FORMAT],
    &[raw_disk::FORMAT],
    foreign::FORMATS,
    strangers::FORMATS,
];

/// All formats, one by one.
pub fn formats() -> impl Iterator<Item = &'static Format> {
    FORMATS.iter().copied().flatten()
}

/// The supported formats, in registry order.
pub fn readable() -> impl Iterator<Item = &'static Format> {
    formats().filter(|format| format.is_supported())
}

/// Returns the supported format called `name`. Fails with `usage` if there is none.
pub(crate) fn by_name(name: &str) -> Result<&'static Format> {
    readable().find(|format| format.name == name).ok_or_else(|| {
        let names: Vec<_> = readable().map(|format| format.name).collect();
        let message = format!("There is no input format '{}'; choose one of {}", shown(name), names.join(", "));
        Error::new(ErrorKind::Usage, message)
    })
}

/// Returns the supported format `name` that an image states for its backing file. A QEMU protocol stands for raw. Fails
/// with `unsupported` if the format is not supported.
pub(crate) fn of_backing_file(name: &str) -> Result<&'static Format> {
    let name = if file_name::is_protocol(name) { RAW.name } else { name };
    readable()
        .find(|format| format.name == name)
        .ok_or_else(|| Error::unsupported(format!("a backing file in the format '{}'", shown(name))))
}
