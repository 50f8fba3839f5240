//! A file of a container that may be its disk.

use crate::container::Member;
use crate::disk::info::MemberInfo;
use crate::error::place::Place;
use crate::error::{ErrorKind, Result};
use crate::format::{Disk, Format, HEAD, LayerOptions, RAW, is_descriptor};
use crate::io::source::read_exact;
use crate::io::table_cache::TableCache;
use crate::offsets::{ByteRange, HostOffset};
use crate::open::guess;
use crate::open::identify::{FileType, identify, identify_start};
use std::rc::Rc;

/// A file that may be the disk.
#[derive(Clone)]
pub(super) struct Candidate {
    pub(super) member: Member,
    pub(super) file_type: FileType,
}

impl Candidate {
    /// Identifies `member`, as [`type_of`] does.
    pub(super) async fn of(mut member: Member, is_only: bool, tables: &Rc<TableCache>) -> Result<Self> {
        let file_type = type_of(&mut member, is_only, tables).await?;
        Ok(Self { member, file_type })
    }
}

/// Describes the candidate for people who choose one.
pub(super) fn info(Candidate { member: image, file_type }: &Candidate) -> MemberInfo {
    let format = match file_type {
        FileType::Image(format) | FileType::Unsupported(format) => Some(format.name),
        FileType::HybridIso => Some(RAW.name),
        FileType::Container(_) | FileType::Ambiguous(_) | FileType::Unknown => None,
    };
    MemberInfo { name: image.name.clone(), size: image.source.size() + image.missing, format, missing: false }
}

/// Whether the first `len` bytes of `file` show that it is a disk.
pub(super) async fn stands_out(file: &Member, len: u64, tables: &Rc<TableCache>) -> Result<bool> {
    let start = head(file, len, tables).await?;
    Ok(guess::stands_out(&start))
}

/// Returns the first `len` bytes of `file`, or all of it if it is shorter.
pub(super) async fn head(file: &Member, len: u64, tables: &Rc<TableCache>) -> Result<Vec<u8>> {
    let range = ByteRange { start: HostOffset(0), len: len.min(file.source.size()) };
    let start = match &file.packed {
        Some(packed) => packed.head(len).await,
        None => read_exact(&*tables.over(file.source.clone()), range, "start of the file").await,
    };
    start.map_err(|error| error.within(Place::Member(file.name.clone())))
}

/// Identifies `member`; if it is packed, by its first bytes only. Unless it is the only file, a packed descriptor, as of a VMDK, is
/// read at any position: without the files that it names, it is useless.
async fn type_of(member: &mut Member, is_only: bool, tables: &Rc<TableCache>) -> Result<FileType> {
    let name = Some(&*member.name);
    if member.packed.is_none() {
        return identify(&*tables.over(member.source.clone()), name).await;
    }
    let head = head(member, HEAD, tables).await?;
    let file_type = identify_start(&head, name);
    let is_raw = matches!(file_type, FileType::Image(format) if format.is_raw());
    if !is_only && !is_raw && is_descriptor(&head) {
        member.packed = None;
    }
    Ok(file_type)
}

/// Opens `member` in `format`; `None` if that fails because of the file's content.
pub(super) async fn opened(format: &Format, member: &Member, tables: &Rc<TableCache>) -> Result<Option<Rc<dyn Disk>>> {
    match format
        .open(tables.over(member.source.clone()), LayerOptions { is_backing: true, ..LayerOptions::default() })
        .await
    {
        Err(error) if matches!(error.kind, ErrorKind::Source | ErrorKind::Internal) => Err(error),
        found => Ok(found.ok()),
    }
}
