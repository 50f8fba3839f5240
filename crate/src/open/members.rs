//! Finds the disk image among the files of a container.

use crate::container::{Contents, Member};
use crate::disk::info::{ContainerInfo, DiskList, MemberInfo};
use crate::disk::reference::{base_name, resolved};
use crate::error::place::Place;
use crate::error::shown::shown;
use crate::error::{COPY_AGAIN, Error, ErrorKind, Result};
use crate::format::{Disk, Format, HEAD, LayerOptions, RAW, is_descriptor};
use crate::io::source::read_exact;
use crate::io::table_cache::TableCache;
use crate::offsets::{ByteRange, HostOffset};
use crate::open::disk_choice::{self, Choosing, named};
use crate::open::guess::{self, REACH};
use crate::open::identify::{FileType, identify, identify_start};
use crate::open::split_files::may_be_parts;
use crate::open::{encryption_marks, ovf, split_files};
use std::rc::Rc;

/// Suffixes of files that describe a machine, list digests, or sign such a list (DSP0243). They are never disks.
const BESIDE_A_DISK: [&str; 3] = [".ovf", ".mf", ".cert"];

/// Maximum number of files that are searched for a signature of a disk beyond their heads.
const MOST_SEARCHED: usize = 16;

/// Whether `name` is that of a file that is never a disk, whatever its content.
pub(crate) fn is_never_a_disk(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    BESIDE_A_DISK.iter().any(|end| name.ends_with(end))
}

/// A container with its image identified.
pub(crate) struct Found {
    pub(crate) image: Member,
    pub(crate) file_type: FileType,
    /// The disks that the image was chosen from.
    pub(crate) list: DiskList,
    /// The other files; split files are joined.
    pub(crate) beside: Vec<Member>,
    /// All files, as stored in the container.
    pub(crate) members: Rc<[Member]>,
    /// See [`Contents::is_ended`].
    pub(crate) is_ended: bool,
}

/// Finds the disk image in a `container` of `size` bytes: the file that `choosing` names, the only file, or the only recognised one that
/// no other refers to, or else the only one with the sign of a raw disk, or the one of several that `choosing` states. Heads and headers
/// are read through `tables`. Fails with `unsupported` if there are none, with `corrupt` if the container ends before the image, and as
/// [`Choosing::choose`] and opening an image do.
pub(crate) async fn image_in(
    container: &str,
    contents: Contents,
    size: u64,
    choosing: Choosing<'_>,
    tables: &Rc<TableCache>,
) -> Result<Found> {
    let Contents { members, is_ended } = contents;
    let files = split_files::joined(&members)?;
    let may_be: Vec<_> = files.iter().filter(|file| !is_never_a_disk(&file.name)).cloned().collect();
    let Images { found: mut images, unknown } = images(may_be, files.len() == 1, tables).await?;
    let named = named_beside(&images, &files, choosing, tables).await?;
    let is_known = !images.is_empty() || !named.is_empty();
    if !is_known && !files.is_empty() && !is_ended {
        return Err(Error::truncated("the rest of the archive", HostOffset(size), size));
    }
    if !is_known && unknown.is_empty() {
        return Err(no_image(container, &files));
    }
    if !is_known {
        images = unknown.into_iter().map(|file| (file, FileType::Unknown)).collect();
    }
    let names: Vec<_> = images.iter().map(|(image, _)| &*image.name).collect();
    let ovf::Described { order, machine, capacities, missing } = ovf::described(&names, &files).await?;
    let capacities: Vec<_> = order.iter().map(|&at| capacities[at]).collect();
    let images: Vec<_> = order.into_iter().map(|at| images[at].clone()).chain(named).collect();
    let mut list = DiskList { disks: images.iter().map(info).collect(), machine, capacity: None };
    if let Some(missing) = missing.filter(|_| is_known && list.disks.len() == 1 && choosing.is_open()) {
        return Err(disk_choice::missing(&missing.path, &missing.descriptor, &list));
    }
    let at = if is_known { choosing.choose(container, &list)? } else { choosing.choose_unknown(container, &list)? };
    list.capacity = capacities.get(at).copied().flatten();
    let (image, mut file_type) = images[at].clone();
    let is_stated = list.disks.len() > 1 || choosing.names(&image.name) || !is_known;
    if is_stated && matches!(file_type, FileType::Unknown) {
        // The caller has chosen it, so it needs no sign of a disk.
        file_type = FileType::Image(RAW);
    }
    encryption_marks::require_plain(&image, &files).await?;
    // Names need not be unique; sources are.
    let is_image = |file: &&Member| Rc::ptr_eq(&file.source, &image.source);
    let beside = files.iter().filter(|file| !is_image(file)).cloned().collect();
    Ok(Found { image, file_type, list, beside, members: members.into(), is_ended })
}

/// The error for a container whose `files` are known not to be disks.
fn no_image(container: &str, files: &[Member]) -> Error {
    match files.first() {
        None => refused(format!("The {container} archive holds no file"), "no-image"),
        Some(first) if files.iter().all(|file| is_never_a_disk(&file.name)) => no_disk(container, &first.name),
        Some(_) => {
            let count = files.len();
            let message = format!(
                "The {container} archive holds {count} files, but none is in a disk image format that Decant recognises; \
                 extract the disk"
            );
            refused(message, "no-image")
        }
    }
}

/// Returns those of `files` that `choosing` names, unless one of `images` has that name.
async fn named_beside(
    images: &[Candidate],
    files: &[Member],
    choosing: Choosing<'_>,
    tables: &Rc<TableCache>,
) -> Result<Vec<Candidate>> {
    let Some(name) = choosing.name() else { return Ok(Vec::new()) };
    let whole = |file: &&Member| file.name == *name;
    let is_image = |file: &Member| images.iter().any(|(image, _)| Rc::ptr_eq(&image.source, &file.source));
    let among_images = named(name, images.iter().map(|(image, _)| &*image.name));
    let found: Vec<_> = match files.iter().find(whole) {
        None if !among_images.is_empty() => Vec::new(),
        _ => named(name, files.iter().map(|file| &*file.name)),
    };
    let mut named = Vec::new();
    for at in found.into_iter().filter(|&at| !is_image(&files[at])) {
        let mut file = files[at].clone();
        let file_type = type_of(&mut file, false, tables).await?;
        named.push((file, file_type));
    }
    Ok(named)
}

/// A file that may be the disk.
type Candidate = (Member, FileType);

fn info((image, file_type): &Candidate) -> MemberInfo {
    let format = match file_type {
        FileType::Image(format) | FileType::Unsupported(format) => Some(format.name),
        FileType::HybridIso => Some(RAW.name),
        FileType::Container(_) | FileType::Ambiguous(_) | FileType::Unknown => None,
    };
    MemberInfo { name: image.name.clone(), size: image.source.size() + image.missing, format }
}

/// Fails with `unsupported` if the innermost member of `containers`, which no format recognises, is named like a file
/// that is never a disk.
pub(crate) fn ensure_guess(containers: &[ContainerInfo]) -> Result<()> {
    let Some(ContainerInfo { name, member: Some(member) }) = containers.last() else { return Ok(()) };
    if is_never_a_disk(member) {
        return Err(no_disk(name, member));
    }
    Ok(())
}

fn no_disk(container: &str, name: &str) -> Error {
    let message =
        format!("The {container} archive holds no disk, only files that accompany a disk, such as '{}'", shown(name));
    refused(message, "no-image")
}

/// The error for unrecognised content of `containers` that would be read as raw but may be truncated.
pub(crate) fn unmarked(containers: &[ContainerInfo]) -> Error {
    let name = containers.last().map_or("container", |container| container.name);
    let message = format!(
        "The image is truncated, or appears to be: the {name} archive has no end mark, and nothing else shows whether its \
         disk is complete"
    );
    let error = Error::new(ErrorKind::Corrupt, message).coded("container-unmarked").advised(COPY_AGAIN);
    error.field("container", name)
}

fn refused(message: String, code: &'static str) -> Error {
    Error::new(ErrorKind::Unsupported, message).coded(code)
}

/// The files of a container that may be its disk.
struct Images {
    found: Vec<Candidate>,
    /// The files in no known format. They may be raw disks.
    unknown: Vec<Member>,
}

/// Finds those of `members` that are supported disk images or containers, by content or by name, and that no other one refers to. Unless
/// there is an image, files with the sign of a raw disk count, too. If there are none, finds the known but unsupported images: an
/// archive may have a CD image beside its disk. The only file of an archive is found whatever it is.
async fn images(members: Vec<Member>, is_only: bool, tables: &Rc<TableCache>) -> Result<Images> {
    let mut files = Vec::new();
    for mut member in members {
        let file_type = type_of(&mut member, is_only, tables).await?;
        files.push((member, file_type));
    }
    if is_only {
        return Ok(Images { found: files, unknown: Vec::new() });
    }
    let of =
        |is_it: &dyn Fn(FileType) -> bool| files.iter().map(|(_, file_type)| is_it(*file_type)).collect::<Vec<_>>();
    let is_unknown = of(&|file_type| matches!(file_type, FileType::Unknown));
    let mut is_found = of(&|file_type| matches!(file_type, FileType::Container(_)));
    let is_image = of(&|file_type| matches!(file_type, FileType::Image(_) | FileType::Ambiguous(_)));
    if is_image.contains(&true) {
        is_found.iter_mut().zip(is_image).for_each(|(is_found, is_image)| *is_found |= is_image);
    } else {
        let numbers: Vec<_> = (0..files.len()).filter(|&at| is_unknown[at]).collect();
        let unknown: Vec<_> = numbers.iter().map(|&at| &files[at].0).collect();
        for at in raw_disks(&unknown, tables).await? {
            is_found[numbers[at]] = true;
        }
    }
    if !is_found.contains(&true) {
        is_found = of(&|file_type| match file_type {
            FileType::Unsupported(format) => !format.is_no_image(),
            file_type => matches!(file_type, FileType::HybridIso),
        });
    }
    let selected = |is_selected: &[bool]| {
        let selected = files.iter().zip(is_selected).filter(|(_, is_selected)| **is_selected);
        selected.map(|(file, _)| file.clone()).collect::<Vec<_>>()
    };
    let unknown = selected(&is_unknown).into_iter().map(|(member, _)| member);
    let unknown = unknown.filter(|member| member.source.size() > 0 || member.deflated.is_some()).collect();
    Ok(Images { found: unreferred(selected(&is_found), tables).await?, unknown })
}

/// Returns the indices of those of `files` that have the sign of a raw disk. If another file may be a part of one, returns none: the
/// disk would be incomplete.
async fn raw_disks(files: &[&Member], tables: &Rc<TableCache>) -> Result<Vec<usize>> {
    let mut found = Vec::new();
    for (at, file) in files.iter().enumerate() {
        if stands_out(file, HEAD, tables).await? {
            found.push(at);
        }
    }
    if found.is_empty() {
        // Few signatures are beyond the head: those of volumes without a partition table.
        let mut largest: Vec<_> = (0..files.len()).filter(|&at| files[at].source.size() >= REACH).collect();
        largest.sort_by_key(|&at| std::cmp::Reverse(files[at].source.size()));
        for at in largest.into_iter().take(MOST_SEARCHED) {
            if stands_out(files[at], REACH, tables).await? {
                found.push(at);
            }
        }
        found.sort_unstable();
    }
    let is_part =
        |disk: usize| (0..files.len()).any(|at| at != disk && may_be_parts(&files[disk].name, &files[at].name));
    Ok(if found.len() == 1 && is_part(found[0]) { Vec::new() } else { found })
}

/// Whether the first `len` bytes of `file` show that it is a disk.
async fn stands_out(file: &Member, len: u64, tables: &Rc<TableCache>) -> Result<bool> {
    let start = head(file, len, tables).await?;
    Ok(guess::stands_out(&start))
}

/// Returns the first `len` bytes of `file`, or all of it if it is shorter.
async fn head(file: &Member, len: u64, tables: &Rc<TableCache>) -> Result<Vec<u8>> {
    let range = ByteRange { start: HostOffset(0), len: len.min(file.source.size()) };
    let start = match &file.deflated {
        Some(deflated) => deflated.head(len).await,
        None => read_exact(&*tables.over(file.source.clone()), range, "start of the file").await,
    };
    start.map_err(|error| error.within(Place::Member(file.name.clone())))
}

/// Identifies `member`; if it is deflated, by its first bytes only. Unless it is the only file, a deflated descriptor, as of a VMDK, is
/// read at any position: without the files that it names, it is useless.
async fn type_of(member: &mut Member, is_only: bool, tables: &Rc<TableCache>) -> Result<FileType> {
    let name = Some(&*member.name);
    if member.deflated.is_none() {
        return identify(&*tables.over(member.source.clone()), name).await;
    }
    let head = head(member, HEAD, tables).await?;
    let file_type = identify_start(&head, name);
    let is_raw = matches!(file_type, FileType::Image(format) if format.is_raw());
    if !is_only && !is_raw && is_descriptor(&head) {
        member.deflated = None;
    }
    Ok(file_type)
}

/// Returns the `images` that no other one refers to: the top of a chain, or the descriptor of extents.
async fn unreferred(images: Vec<Candidate>, tables: &Rc<TableCache>) -> Result<Vec<Candidate>> {
    if images.len() == 1 {
        return Ok(images);
    }
    let (mut references, mut identities) = (Vec::new(), Vec::new());
    for (member, file_type) in &images {
        let disk = match file_type {
            FileType::Image(format) => opened(format, member, tables).await?,
            _ => None,
        };
        references.push(disk.as_ref().map_or_else(Vec::new, |disk| disk.references().to_vec()));
        identities.push(disk.map_or_else(Vec::new, |disk| disk.identities()));
    }
    let mut is_referred = vec![false; images.len()];
    for (from, references) in references.iter().enumerate() {
        for reference in references {
            let by = |test: &dyn Fn(usize) -> bool| {
                (0..images.len()).filter(|&at| at != from && test(at)).collect::<Vec<_>>()
            };
            let name = reference.name.strip_prefix("file:").unwrap_or(&reference.name);
            let path = resolved(name, &images[from].0.name);
            let mut found = by(&|at| resolved(&images[at].0.name, "") == path);
            if found.is_empty() {
                found = by(&|at| base_name(&images[at].0.name) == base_name(name));
            }
            if found.is_empty()
                && let Some(wanted) = &reference.identity
            {
                found = by(&|at| wanted.is_of_disk(&identities[at]));
            }
            found.into_iter().for_each(|at| is_referred[at] = true);
        }
    }
    // Files that all refer to one another are not a chain.
    if is_referred.iter().all(|&is_referred| is_referred) {
        return Ok(images);
    }
    Ok(images.into_iter().zip(is_referred).filter_map(|(image, is_referred)| (!is_referred).then_some(image)).collect())
}

/// Opens `member` in `format`; `None` if that fails because of the file's content.
async fn opened(format: &Format, member: &Member, tables: &Rc<TableCache>) -> Result<Option<Rc<dyn Disk>>> {
    match format
        .open(tables.over(member.source.clone()), LayerOptions { is_backing: true, ..LayerOptions::default() })
        .await
    {
        Err(error) if matches!(error.kind, ErrorKind::Source | ErrorKind::Internal) => Err(error),
        found => Ok(found.ok()),
    }
}
