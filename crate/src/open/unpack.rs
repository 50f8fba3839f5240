//! Unwraps the containers of a file.

use crate::container::{Deflated, List, MAX_NESTED, Member, StatedCrc};
use crate::disk::info::{ContainerInfo, DiskList};
use crate::error::place::Place;
use crate::error::{Error, ErrorKind, Result};
use crate::io::source::Source;
use crate::io::table_cache::TableCache;
use crate::open::disk_choice::{self, Choosing};
use crate::open::identify::{FileType, identify};
use crate::open::members::{self, Found};
use crate::open::not_read_in_order;
use crate::open::stated_disk::StatedDisk;
use std::rc::Rc;

/// A file inside all containers that allow random access.
#[derive(Clone)]
pub(crate) struct InnerFile {
    /// Its bytes: the file, or a member of a container.
    pub(crate) source: Rc<dyn Source>,
    /// Its type. A container is one that is decoded in order, or deflated.
    pub(crate) file_type: FileType,
    /// The containers around it, outermost first.
    pub(crate) containers: Vec<ContainerInfo>,
    /// See [`Member::missing`].
    pub(crate) missing: u64,
    /// See [`Member::deflated`].
    pub(crate) deflated: Option<Deflated>,
    pub(crate) checksum: Option<Checksum>,
}

/// A checksum that a container states for a stored file.
#[derive(Clone)]
pub(crate) enum Checksum {
    /// Of the file itself.
    Of(StatedCrc),
    /// Of a file around it, or of one whose parts are read in another order.
    Around(StatedCrc),
}

/// A file without its containers.
pub(crate) struct Unpacked {
    pub(crate) inner: InnerFile,
    /// See [`crate::container::Contents::is_ended`], of the innermost container; true without a container.
    pub(crate) is_ended: bool,
    /// The disks that the caller can choose from: those of the outermost container with several, or else of the
    /// innermost one. Empty for a companion.
    pub(crate) list: DiskList,
    /// The other files of the innermost container; split files are joined.
    pub(crate) beside: Vec<Member>,
    /// All files of the innermost container.
    pub(crate) members: Rc<[Member]>,
    /// What the configuration of a machine in the innermost container states for it.
    pub(crate) stated: StatedDisk,
    /// See [`Found::needs_all`].
    pub(crate) needs_all: bool,
}

/// Unwraps the containers of `source`, which is in `containers` and whose head is read through `tables`. With `salvage`, the file may end inside its
/// last member. `snapshot` states one of a machine. Fails with `source`, with `limit` if containers are nested too deeply, with `usage` if `choosing` states
/// no disk of them, unless the disks may be inside a container that is decoded in order, or the file cannot be read, and
/// as [`crate::container::List`] and [`members::image_in`] do.
pub(crate) async fn unpack(
    mut source: Rc<dyn Source>,
    mut containers: Vec<ContainerInfo>,
    salvage: bool,
    mut choosing: Choosing<'_>,
    mut snapshot: Option<&str>,
    tables: &Rc<TableCache>,
) -> Result<Unpacked> {
    let (mut missing, mut is_ended, mut disk_list) = (0, true, DiskList::default());
    let (mut beside, mut members): (_, Rc<[Member]>) = (Vec::new(), Rc::default());
    let mut file_type = identify(&*tables.over(source.clone()), None).await?;
    let (mut deflated, mut checksum, mut stated) = (None, None, StatedDisk::default());
    let mut needs_all = false;
    while deflated.is_none()
        && let FileType::Container(container) = file_type
    {
        let Some(list) = container.list else { break };
        ensure_room(&containers)?;
        let found = image_in(container.name, list, source, salvage, choosing, snapshot, tables).await;
        let found = found.map_err(|error| error.within(place_in(&containers)))?;
        if !matches!(choosing, Choosing::Impossible) {
            if found.list.disks.len() > 1 {
                choosing = Choosing::Impossible;
            }
            disk_list = found.list;
        }
        if disk_list.is_in_snapshot {
            snapshot = None;
        }
        let image = found.image;
        checksum = match (image.stated_crc, checksum) {
            (Some(stated), _) => Some(Checksum::Of(stated)),
            (None, Some(Checksum::Of(around) | Checksum::Around(around))) if image.deflated.is_none() => {
                Some(Checksum::Around(around))
            }
            _ => None,
        };
        (source, missing, deflated, is_ended) = (image.source, image.missing, image.deflated, found.is_ended);
        (file_type, beside, members) = (found.file_type, found.beside, found.members);
        (stated, needs_all) = (found.stated, found.needs_all);
        containers.push(ContainerInfo { name: container.name, member: Some(image.name) });
        if !needs_all
            && !stated.parents.is_empty()
            && (deflated.is_some() || matches!(file_type, FileType::Container(_)))
        {
            return Err(packed_delta(container.name).within(place_in(&containers)));
        }
    }
    let may_be_inside = match file_type {
        FileType::Unsupported(_) => disk_list.disks.is_empty(),
        FileType::Container(_) => disk_list.disks.len() <= 1,
        _ => false,
    };
    if let Choosing::Stated(choice) = choosing
        && !may_be_inside
    {
        disk_choice::find(choice, &disk_list)?;
    }
    let inner = InnerFile { source, file_type, containers, missing, deflated, checksum };
    Ok(Unpacked { inner, is_ended, list: disk_list, beside, members, stated, needs_all })
}

/// The error for a disk in `container` that is compressed, and of which another file has a part.
pub(super) fn packed_delta(container: &str) -> Error {
    let message = "The virtual machine's description states a parent for this disk, which must be read together with it, but it is \
                   compressed; unpack the files of the disk first";
    not_read_in_order(message.to_owned(), Some(container))
}

async fn image_in(
    container: &str,
    list: List,
    source: Rc<dyn Source>,
    salvage: bool,
    choosing: Choosing<'_>,
    snapshot: Option<&str>,
    tables: &Rc<TableCache>,
) -> Result<Found> {
    let size = source.size();
    members::image_in(container, list(source, salvage).await?, size, choosing, snapshot, tables).await
}

/// Fails with `limit` if no further container may be opened.
pub(crate) fn ensure_room(containers: &[ContainerInfo]) -> Result<()> {
    if containers.len() == MAX_NESTED {
        let message = format!("The image is packed in more than {MAX_NESTED} containers; unpack it first");
        return Err(Error::new(ErrorKind::Limit, message));
    }
    Ok(())
}

/// The file in `containers`, for errors; `None` without a container.
pub(crate) fn place_in(containers: &[ContainerInfo]) -> Option<Place> {
    containers.last().map(ContainerInfo::place)
}
