//! VHDX (MS-VHDX 8.0): fixed, dynamic and differencing, with or without changes in the log.

mod guid;
mod log;
mod metadata;
mod parent_locator;
mod replay;
pub(crate) mod structures;
mod vhdx_blocks;
mod vhdx_header;

use super::{Disk, Format, FormatReader, LayerOptions, WalkSetup};
use crate::disk::extent::ExtentWalk;
use crate::disk::info::Details;
use crate::disk::info::{Info, Notice};
use crate::disk::reference::{Identity, Reference, guid_text};
use crate::disk::sector_sizes::SectorSizes;
use crate::error::damage::{Damage, damages, ensure_possible};
use crate::error::{Error, ErrorKind, Result};
use crate::io::source::Source;
use crate::offsets::{HostOffset, SECTOR};
use futures_util::FutureExt;
use metadata::Metadata;
use replay::{Replay, Replayed};
use std::rc::Rc;
use structures::{BlockTable, LARGEST_DISK, LARGEST_SECTOR, SIGNATURE, VERSION, VhdxHeader};
use vhdx_blocks::VhdxWalk;
use vhdx_header::Regions;

pub(crate) const FORMAT: Format = Format {
    name: "vhdx",
    extensions: &[".vhdx", ".avhdx"],
    label: "VHDX (Hyper-V disk)",
    probe: |sample| sample.head.starts_with(&SIGNATURE),
    reader: FormatReader::Open(|source, options| open(source, options).boxed_local()),
    ..Format::DEFAULT
};

damages! {
    /// The file ends before or inside the block allocation table.
    TABLE_TRUNCATED = "vhdx-table-truncated", "the file ends before the end of the block allocation table",
        lacks "an entry of the block allocation table", outside TABLE_OUTSIDE;
    /// The block allocation table is beyond any size that the complete file can have.
    TABLE_OUTSIDE = "vhdx-table-outside", "the block allocation table is far beyond the end of the file";
    /// An entry of the block allocation table has an invalid state or reserved bits.
    ENTRY_INVALID = "vhdx-entry-invalid", "an entry of the block allocation table is invalid";
    /// The file ends before or inside a block.
    BLOCK_TRUNCATED = "vhdx-block-truncated", "the file ends before the end of a block", lacks "a block", outside BLOCK_OUTSIDE;
    /// The log is damaged: the changes in it are not read. The disk is read as the rest of the file describes it.
    LOG_LOST = "vhdx-log-lost", "the log is damaged, so recent changes may be missing";
    /// A block is beyond any size that the complete file can have.
    BLOCK_OUTSIDE = "vhdx-block-outside", "a block is far beyond the end of the file";
    /// The file ends before or inside a sector bitmap.
    BITMAP_TRUNCATED = "vhdx-bitmap-truncated", "the file ends before the end of a sector bitmap", lacks "a sector bitmap", outside BITMAP_OUTSIDE;
    /// A sector bitmap is beyond any size that the complete file can have.
    BITMAP_OUTSIDE = "vhdx-bitmap-outside", "a sector bitmap is far beyond the end of the file";
}

async fn open(file: Rc<dyn Source>, options: LayerOptions) -> Result<Rc<dyn Disk>> {
    let (header, is_intact) = VhdxHeader::read(&*file, options.salvage).await?;
    let FoundLog { replay, doubt, notice } = match is_intact {
        true => FoundLog::of(&*file, &header, options.salvage).await?,
        false => FoundLog::of_damaged(&*file, &header).await?,
    };
    let header = if is_intact || replay.is_some() { header } else { header.without_log() };
    let source = match &replay {
        Some(replay) => Rc::new(Replayed::new(file, replay.clone())),
        None => file,
    };
    let regions = Regions::read(&*source, header.log(), options.salvage).await?;
    let metadata = Metadata::read(&*source, regions.metadata).await?;
    let table = BlockTable {
        place: regions.bat.start,
        block_size: metadata.block_size,
        sector_size: metadata.logical_sector_size,
        virtual_size: metadata.virtual_size,
        has_parent: metadata.parent.is_some(),
    };
    if table.len() > regions.bat.len {
        let what =
            format!("the block allocation table has {} bytes, but the disk needs {}", regions.bat.len, table.len());
        return Err(Error::corrupt(what, regions.bat.start));
    }
    let sector_size = metadata.logical_sector_size;
    let sectors = (sector_size != SECTOR).then(|| Notice::of_sectors(sector_size));
    let tables = regions.tables_differ.then(|| {
        let message = "The two region tables differ: the first one is read, other programs may read the second";
        Notice::new("vhdx-regions-differ", message)
    });
    Ok(Rc::new(Vhdx {
        source,
        identity: guid_text(&header.data_write_guid).map(Identity::of_disk),
        replay,
        doubt,
        regions,
        table,
        metadata,
        notices: notice.into_iter().chain(sectors).chain(tables).collect(),
    }))
}

/// The log of a file.
#[derive(Default)]
struct FoundLog {
    /// The changes in it, if there are any.
    replay: Option<Rc<Replay>>,
    /// In a salvage: why all of the disk may be out of date.
    doubt: Option<Damage>,
    notice: Option<Notice>,
}

impl FoundLog {
    /// Reads the log that `header` states. Fails with `corrupt` or `limit`, and as reading does. A salvage leaves out a
    /// damaged log.
    async fn of(file: &dyn Source, header: &VhdxHeader, salvage: bool) -> Result<Self> {
        if !header.has_log() {
            return Ok(Self::default());
        }
        let place = HostOffset(header.log_offset);
        let found = match header.log() {
            Some(range) => log::read(file, range, header.log_guid).await,
            None => Err(Error::corrupt("the log is not in whole MiB after the header section", place)),
        };
        let found = found.and_then(|replay| {
            if replay.flushed > file.size() && !salvage {
                let end = HostOffset(replay.flushed);
                ensure_possible("end of the file in its log", end, LARGEST_DISK, file.size())?;
                return Err(Error::truncated("the end of the file as its log describes it", end, file.size()));
            }
            Ok(replay)
        });
        match found {
            Err(error) if salvage && matches!(error.kind, ErrorKind::Corrupt | ErrorKind::Limit) => Ok(Self::lost()),
            found => {
                let replay = found?;
                let size = replay.changed();
                let message = format!(
                    "The image was not closed properly: {size} bytes of changes in its log are applied while it is read"
                );
                let notice = (size > 0).then(|| Notice::new("vhdx-log-replayed", message).field("size", size));
                Ok(Self { replay: Some(Rc::new(replay)), doubt: None, notice })
            }
        }
    }

    /// In a salvage: reads the log that `header`, whose checksum is wrong, states. The entries of the log have checksums. If the
    /// header states no log, this too may be damage: the log counts as lost if its place has entries.
    async fn of_damaged(file: &dyn Source, header: &VhdxHeader) -> Result<Self> {
        if header.has_log() {
            return Self::of(file, header, true).await;
        }
        let may_have_changes = match header.log() {
            Some(range) => log::has_entries(file, range).await?,
            None => header.log_length > 0,
        };
        Ok(if may_have_changes { Self::lost() } else { Self::default() })
    }

    fn lost() -> Self {
        let message = "The log is damaged: the disk is read without the changes in it";
        Self { doubt: Some(LOG_LOST), notice: Some(Notice::new("vhdx-log-damaged", message)), replay: None }
    }
}

struct Vhdx {
    /// The file, with the changes of its log.
    source: Rc<dyn Source>,
    replay: Option<Rc<Replay>>,
    /// In a salvage: why all of the disk may be out of date.
    doubt: Option<Damage>,
    identity: Option<Identity>,
    regions: Regions,
    table: BlockTable,
    metadata: Metadata,
    notices: Vec<Notice>,
}

impl Disk for Vhdx {
    fn virtual_size(&self) -> u64 {
        self.table.virtual_size
    }

    fn info(&self) -> Info {
        let Metadata { logical_sector_size, physical_sector_size, disk_id, is_fixed, parent, .. } = &self.metadata;
        let subformat = match parent {
            Some(_) => "differencing",
            None if *is_fixed => "fixed",
            None => "dynamic",
        };
        let mut specific = vec![
            ("subformat", subformat.into()),
            ("logical-sector-size", (*logical_sector_size).into()),
            ("physical-sector-size", (*physical_sector_size).into()),
        ];
        specific.extend(disk_id.as_ref().map(|id| ("disk-id", id[..].into())));
        Info {
            cluster_size: Some(self.table.block_size),
            version: Some(VERSION.into()),
            specific: Details(specific),
            safety: self.notices.clone(),
            ..Info::default()
        }
    }

    fn sectors(&self) -> Option<SectorSizes> {
        let Metadata { logical_sector_size: logical, physical_sector_size: physical, .. } = self.metadata;
        // Not checked when it is read: nothing of the disk depends on it.
        let physical = if physical == LARGEST_SECTOR { physical.into() } else { logical };
        Some(SectorSizes { logical, physical })
    }

    fn references(&self) -> &[Reference] {
        self.metadata.parent.as_slice()
    }

    fn identities(&self) -> Vec<Identity> {
        self.identity.iter().cloned().collect()
    }

    fn data_source(&self, file: Rc<dyn Source>) -> Rc<dyn Source> {
        match &self.replay {
            Some(replay) if replay.changes_more_than(&self.regions.all) => Rc::new(Replayed::new(file, replay.clone())),
            _ => file,
        }
    }

    fn walk(self: Rc<Self>, setup: WalkSetup) -> Box<dyn ExtentWalk> {
        Box::new(VhdxWalk::new(self, &setup))
    }
}
