//! VHD ("Virtual Hard Disk Image Format Specification" 1.0, Microsoft 2006): fixed, dynamic and differencing.

pub(crate) mod dynamic_header;
mod two_footers;
mod vhd_blocks;
pub(crate) mod vhd_footer;
mod vhd_size;

use super::{Disk, DiskFooter, Format, FormatReader, LayerOptions, WalkSetup, raw_disk};
use crate::disk::extent::ExtentWalk;
use crate::disk::info::{Info, Notice};
use crate::disk::reference::{Identity, Reference, uuid_text};
use crate::error::damage::{Damage, damages};
use crate::error::{Error, ErrorKind, Result, checked_virtual_size};
use crate::io::source::{Source, read_exact};
use crate::offsets::{ByteRange, HostOffset};
use dynamic_header::DynamicVhdHeader;
use futures_util::FutureExt;
use std::rc::Rc;
use vhd_blocks::{BlockTable, VhdWalk};
use vhd_footer::{COOKIE, DIFFERENCING, DYNAMIC, FIXED, VhdFooter};

pub(crate) const FORMAT: Format = Format {
    name: "vpc",
    aliases: &["vhd"],
    extensions: &[".vhd", ".avhd"],
    label: "VHD (Virtual PC and Hyper-V disk)",
    probe: |sample| sample.head.starts_with(&COOKIE) || footer_start(sample.tail).is_some(),
    footer: Some(DiskFooter {
        label: "a fixed VHD",
        find: fixed_footer,
        notice: "vhd-footer",
        other_size: "vhd-other-size",
    }),
    reader: FormatReader::Open(|source, options| open(source, options).boxed_local()),
    ..Format::DEFAULT
};

damages! {
    /// The footer at the end is wrong: the disk is read as the copy at the start of the file describes it.
    FOOTER_WRONG = "vhd-footer-wrong", "the footer at the end of the file leads to no header, so its copy at the start is read";
    /// The file ends before or inside the block allocation table.
    TABLE_TRUNCATED = "vhd-table-truncated", "the file ends before the end of the block allocation table",
        lacks "an entry of the block allocation table", outside TABLE_OUTSIDE;
    /// The block allocation table is beyond any size that the complete file can have.
    TABLE_OUTSIDE = "vhd-table-outside", "the block allocation table is far beyond the end of the file";
    /// An entry of the block allocation table refers to the header.
    BLOCK_IN_HEADER = "vhd-block-in-header", "a block is in the header";
    /// The file ends before or inside the sector bitmap of a block.
    BITMAP_TRUNCATED = "vhd-bitmap-truncated", "the file ends before the end of a sector bitmap", lacks "a sector bitmap";
    /// The file ends before or inside a block.
    BLOCK_TRUNCATED = "vhd-block-truncated", "the file ends before the end of a block", lacks "a block", outside BLOCK_OUTSIDE;
    /// A block is beyond any size that the complete file can have.
    BLOCK_OUTSIDE = "vhd-block-outside", "a block is far beyond the end of the file";
}

/// Versions of the format differ in the low 16 bits.
const MAJOR_VERSION: u32 = 1;
/// Length of a footer, in bytes. Old versions of Virtual PC wrote a byte less.
const FOOTER: u64 = VhdFooter::LEN as u64;

/// The position of the footer in `tail`, the last bytes of a file.
fn footer_start(tail: &[u8]) -> Option<usize> {
    (0..=1).find(|&start| tail.get(start..).is_some_and(|bytes| bytes.starts_with(&COOKIE)))
}

/// The footer of a fixed disk, at the end of `tail`, the last bytes of a stream: its length and the size of the disk, in
/// bytes. `None` if there is none, or if it is damaged.
fn fixed_footer(tail: &[u8]) -> Option<(usize, u64)> {
    let bytes = &tail[footer_start(tail)?..];
    let footer = VhdFooter::parse_start(bytes);
    (VhdFooter::is_intact(bytes) && footer.disk_type == FIXED).then_some((bytes.len(), footer.current_size))
}

/// The footer of a file.
struct FoundFooter {
    footer: VhdFooter,
    /// The end of what it describes, in bytes.
    end: u64,
    /// The copy at the start of the file, if it is another one. Only a salvage needs it if one of them is not intact.
    copy: Option<VhdFooter>,
    /// Whether both are intact.
    are_intact: bool,
}

/// Finds the footer at the end of the file, or the copy at its start if that is the only intact one. Fails with
/// `not-recognised` or `corrupt`, and as reading does. A salvage accepts a wrong checksum.
async fn find_footer(source: &dyn Source, salvage: bool) -> Result<FoundFooter> {
    let size = source.size();
    let len = size.min(FOOTER);
    let tail = read_exact(source, ByteRange { start: HostOffset(size - len), len }, "footer").await?;
    let at_end = footer_start(&tail);
    let end = size - len + at_end.unwrap_or_default() as u64;
    let at_end = at_end.map(|start| &tail[start..]);
    let found =
        |bytes: &[u8], end| FoundFooter { footer: VhdFooter::parse_start(bytes), end, copy: None, are_intact: false };
    let head = read_exact(source, ByteRange { start: HostOffset(0), len }, "header").await?;
    let copy = Some(&head[..]).filter(|head| head.starts_with(&COOKIE));
    // A fixed disk has no copy: this is data.
    let other = copy.map(VhdFooter::parse_start).filter(|copy| copy.disk_type != FIXED);
    let is_copy_intact = copy.is_some_and(VhdFooter::is_intact);
    if let Some(bytes) = at_end.filter(|bytes| VhdFooter::is_intact(bytes)) {
        let are_intact = is_copy_intact && other.is_some();
        return Ok(FoundFooter { copy: other, are_intact, ..found(bytes, end) });
    }
    if let Some(bytes) = copy.filter(|_| is_copy_intact) {
        let copy = found(bytes, size);
        // A fixed disk has no copy: this is data, and the footer is missing.
        let is_fixed = copy.footer.disk_type == FIXED;
        return if is_fixed { Err(Error::truncated("the footer", HostOffset(size), size)) } else { Ok(copy) };
    }
    match (at_end, copy) {
        (None, None) => Err(Error::other_format("The file is not a VHD image", FORMAT.name)),
        _ if size < FOOTER => Err(Error::truncated("the end of the header", HostOffset(FOOTER), size)),
        (Some(bytes), _) if salvage => Ok(FoundFooter { copy: other, ..found(bytes, end) }),
        (None, Some(bytes)) if salvage => Ok(found(bytes, size)),
        (at_end, _) => {
            let place = if at_end.is_some() { end } else { 0 };
            let what = "the checksum of the footer does not match";
            Err(Error::corrupt(what, HostOffset(place + VhdFooter::checksum)))
        }
    }
}

async fn open(source: Rc<dyn Source>, options: LayerOptions) -> Result<Rc<dyn Disk>> {
    let FoundFooter { mut footer, end, copy, are_intact } = find_footer(&*source, options.salvage).await?;
    let mut notices = Vec::new();
    if let Some(copy) = copy.as_ref().filter(|_| are_intact) {
        notices.extend(two_footers::compare(&footer, copy, end, options.salvage)?);
    }
    let mut doubt = None;
    let (content, references) = match (read_content(&*source, &footer, end, options.salvage).await, copy) {
        (Err(error), Some(copy))
            if options.salvage && matches!(error.kind, ErrorKind::Corrupt | ErrorKind::Unsupported) =>
        {
            let found = read_content(&*source, &copy, end, true).await;
            // A failure to read the file is not about the copy.
            let found = found.map_err(|other| if other.kind == ErrorKind::Source { other } else { error })?;
            (footer, doubt) = (copy, Some(FOOTER_WRONG));
            // The notice about two footers says that the one at the end is read.
            notices.clear();
            found
        }
        (found, _) => found?,
    };
    let (virtual_size, size_notice) = vhd_size::virtual_size(&footer, &content, &source).await?;
    let virtual_size = checked_virtual_size(virtual_size)?;
    if let Content::Fixed { present } = content
        && present < virtual_size
        && !options.salvage
    {
        let message = format!("the disk has {virtual_size} bytes, but there are {present} before the footer");
        return Err(Error::corrupt(message, HostOffset(end + VhdFooter::current_size)));
    }
    notices.extend(size_notice);
    Ok(Rc::new(Vhd { source, footer, content, references, virtual_size, notices, doubt }))
}

/// Reads the content that `footer` describes, before `end`, and the references to a parent. Fails with `corrupt` or `unsupported`,
/// and as reading does.
async fn read_content(
    source: &dyn Source,
    footer: &VhdFooter,
    end: u64,
    salvage: bool,
) -> Result<(Content, Vec<Reference>)> {
    if footer.file_format_version >> 16 != MAJOR_VERSION {
        return Err(Error::unknown_version(format_args!("{:#x}", footer.file_format_version), "VHD"));
    }
    match footer.disk_type {
        FIXED => Ok((Content::Fixed { present: end }, Vec::new())),
        DYNAMIC | DIFFERENCING => {
            let place = HostOffset(footer.data_offset);
            let header = DynamicVhdHeader::read(source, place, footer.current_size, salvage).await?;
            let has_parent = footer.disk_type == DIFFERENCING;
            let table = BlockTable::new(&header, place, has_parent, end..source.size())?;
            let references = if has_parent { vec![header.parent(source).await?] } else { Vec::new() };
            Ok((Content::Blocks(table), references))
        }
        other => Err(Error::unsupported(format!("disk type {other} of VHD"))),
    }
}

/// How a VHD stores the disk.
enum Content {
    /// The disk is the first `present` bytes of the file.
    Fixed { present: u64 },
    /// In blocks: a dynamic or differencing VHD.
    Blocks(BlockTable),
}

struct Vhd {
    source: Rc<dyn Source>,
    footer: VhdFooter,
    content: Content,
    references: Vec<Reference>,
    virtual_size: u64,
    notices: Vec<Notice>,
    /// In a salvage: why all of the disk may be another one.
    doubt: Option<Damage>,
}

impl Disk for Vhd {
    fn format(&self) -> &'static str {
        FORMAT.name
    }

    fn virtual_size(&self) -> u64 {
        self.virtual_size
    }

    fn info(&self) -> Info {
        let cluster_size = match &self.content {
            Content::Fixed { .. } => None,
            Content::Blocks(table) => Some(table.block_size),
        };
        Info { cluster_size, version: Some(MAJOR_VERSION), safety: self.notices.clone(), ..Info::default() }
    }

    fn references(&self) -> &[Reference] {
        &self.references
    }

    fn identities(&self) -> Vec<Identity> {
        uuid_text(&self.footer.unique_id).map(Identity::of_disk).into_iter().collect()
    }

    fn walk(self: Rc<Self>, setup: WalkSetup) -> Box<dyn ExtentWalk> {
        match &self.content {
            Content::Fixed { present } => raw_disk::walk_start(self.source.clone(), *present, self.virtual_size, setup),
            Content::Blocks(table) => Box::new(VhdWalk::new(table.clone(), self.source.clone(), &setup, self.doubt)),
        }
    }
}
