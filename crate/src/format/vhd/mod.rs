//! VHD ("Virtual Hard Disk Image Format Specification" 1.0, Microsoft 2006): fixed, dynamic and differencing.

mod dynamic_header;
mod footers;
pub(crate) mod structures;
mod vhd_blocks;

use super::{Disk, DiskFooter, FileChecking, Format, FormatReader, LayerOptions, WalkSetup, WalkedCheck, raw_disk};
use crate::disk::extent::ExtentWalk;
use crate::disk::file_check::CheckProgress;
use crate::disk::info::{Info, Notice};
use crate::disk::reference::{Identity, Reference, uuid_text};
use crate::error::damage::{Damage, damages};
use crate::error::{Error, ErrorKind, Result, checked_virtual_size};
use crate::io::source::Source;
use crate::offsets::HostOffset;
use footers::{FoundFooter, find_footer, fixed_footer, footer_start};
use futures_util::FutureExt;
use std::rc::Rc;
use structures::{DIFFERENCING, DYNAMIC, DynamicVhdHeader, FIXED, FOOTER_COOKIE, MAJOR_VERSION, VhdFooter};
use vhd_blocks::BlockTable;

pub(crate) const FORMAT: Format = Format {
    name: "vpc",
    aliases: &["vhd"],
    extensions: &[".vhd", ".avhd"],
    label: "VHD (Virtual PC and Hyper-V disk)",
    probe: |sample| sample.head.starts_with(&FOOTER_COOKIE) || footer_start(sample.tail).is_some(),
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

/// Programs whose VHDs have the stated size for all readers: Windows, XenServer, Disk2vhd, and QEMU with `force_size`.
const SIZED_ALIKE: [[u8; 4]; 5] = [*b"win ", *b"tap\0", *b"CTXS", *b"d2v ", *b"qem2"];

async fn open(source: Rc<dyn Source>, options: LayerOptions) -> Result<Rc<dyn Disk>> {
    let FoundFooter { mut footer, end, copy, are_intact } = find_footer(&*source, options.salvage).await?;
    let mut notices = Vec::new();
    if let Some(copy) = copy.as_ref().filter(|_| are_intact) {
        notices.extend(footers::compare(&footer, copy, end, options.salvage)?);
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
    let (virtual_size, size_notice) = virtual_size(&footer, &content, &source).await?;
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

/// Returns the virtual size, in bytes, and a notice if other programs may read another size: some take the size that the footer
/// states, others that of the geometry. It is never less than the
/// disk for which data is stored. Fails with `corrupt` if the blocks cannot hold the disk, and as reading does.
async fn virtual_size(footer: &VhdFooter, content: &Content, source: &Rc<dyn Source>) -> Result<(u64, Option<Notice>)> {
    let stated = footer.current_size;
    let geometry = footer.geometry_size().filter(|&size| size != stated);
    let wanted = footer.wanted_size();
    let size = match content {
        Content::Fixed { present } => footer.fixed_size(*present),
        Content::Blocks(table) => {
            let room = table.room();
            if stated > room {
                let message = format!("the virtual size is {stated}, but {} blocks have {room} bytes", table.blocks);
                return Err(Error::corrupt(message, table.entries_place));
            }
            let loses_data = wanted < stated && table.has_data_from(source, wanted, stated).await?;
            if wanted > room || loses_data { stated } else { wanted }
        }
    };
    let other = [Some(stated), geometry].into_iter().flatten().find(|&other| other != size);
    let notice = other.filter(|_| !SIZED_ALIKE.contains(&footer.creator_application)).map(|other| {
        let message = format!(
            "Programs disagree on the size of this disk: it is read with {size} bytes; others may read {other}"
        );
        Notice::new("vhd-size", message).field("size", size).field("otherSize", other)
    });
    Ok((size, notice))
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
    /// In a salvage: why all of the disk is in doubt.
    doubt: Option<Damage>,
}

impl Disk for Vhd {
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
            Content::Blocks(table) => {
                Box::new(vhd_blocks::tables(table.clone(), self.source.clone(), &setup, self.doubt))
            }
        }
    }

    fn check(self: Rc<Self>, _progress: CheckProgress) -> FileChecking {
        match &self.content {
            Content::Fixed { .. } => FileChecking::NoTables,
            Content::Blocks(table) => {
                let leaked_unit = Some(structures::bitmap_len(table.block_size) + table.block_size);
                FileChecking::ByWalk(WalkedCheck { leaked_unit, ..WalkedCheck::default() })
            }
        }
    }
}
