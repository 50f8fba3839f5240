//! Finds the disk image among the files of a container.

use crate::container::{Contents, Member};
use crate::disk::info::{ContainerInfo, DiskList, MemberInfo};
use crate::disk::reference::{Reference, base_name};
use crate::error::shown::shown;
use crate::error::{COPY_AGAIN, Error, ErrorKind, Result};
use crate::format::{HEAD, RAW};
use crate::io::table_cache::TableCache;
use crate::offsets::HostOffset;
use crate::open::candidates::{Candidate, info, needs_others, opened, stands_out, unreferred};
use crate::open::chain::open_options::StatedDisk;
use crate::open::disk_choice::{Choice, Choosing, Chosen, Holder, named};
use crate::open::guess::REACH;
use crate::open::identify::FileType;
use crate::open::machine::{FoundDisk, Machines};
use crate::open::split::finding::may_be_parts;
use crate::open::split::pieces;
use decant_text::may_mean;
use std::rc::Rc;

/// Suffixes of files that describe a machine, list digests, or sign such a list (DSP0243). They are never disks.
const BESIDE_A_DISK: [&str; 3] = [".ovf", ".mf", ".cert"];

/// Maximum number of files whose first [`REACH`] bytes, not only their heads, are searched for the signature of a disk.
const MOST_SEARCHED: usize = 16;

/// Whether a file called `name` is never a disk, whatever its content.
pub(crate) fn is_never_a_disk(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    BESIDE_A_DISK.iter().any(|end| name.ends_with(end))
}

/// The image in a container, or the images that the caller must choose from.
#[allow(clippy::large_enum_variant, reason = "it is moved once or twice")]
pub(crate) enum ImageIn {
    Found(Found),
    ToChoose(Choice),
}

/// A container with its image identified.
pub(crate) struct Found {
    pub(crate) image: Member,
    pub(crate) file_type: FileType,
    /// Facts about the image from the configuration of its machine.
    pub(crate) stated: StatedDisk,
    /// Whether it must be read together with other files, and one of these is compressed.
    pub(crate) needs_all: bool,
    /// Whether it is stored in pieces, and one of these is compressed.
    pub(crate) is_in_packed_pieces: bool,
    /// The disks that the image was chosen from.
    pub(crate) list: DiskList,
    /// The other files; split files are joined.
    pub(crate) beside: Vec<Member>,
    /// All files, as stored in the container.
    pub(crate) members: Rc<[Member]>,
    /// See [`Contents::is_ended`].
    pub(crate) is_ended: bool,
}

/// A disk that can be chosen.
#[allow(clippy::large_enum_variant, reason = "most disks are there, and there are few")]
enum Listed {
    /// A file, and what a configuration states of it.
    There(Candidate, Option<FoundDisk>),
    Missing(FoundDisk),
}

impl Listed {
    fn image(&self) -> Option<&Candidate> {
        match self {
            Self::There(image, _) => Some(image),
            Self::Missing(_) => None,
        }
    }

    fn described(&self) -> Option<&FoundDisk> {
        match self {
            Self::There(_, described) => described.as_ref(),
            Self::Missing(disk) => Some(disk),
        }
    }

    fn info(&self, machines: &Machines) -> MemberInfo {
        match self {
            Self::There(image, described) => {
                let stated = described.as_ref().and_then(|FoundDisk { disk, .. }| disk.virtual_size());
                MemberInfo { virtual_size: stated, ..info(image) }
            }
            Self::Missing(disk) => machines.info_of_missing(disk),
        }
    }
}

/// Finds the disk image in a `container` of `size` bytes. Takes the first of these that there is:
///
/// - the disk that a machine's configuration names, as of `snapshot`, if given;
/// - the file that `choosing` names;
/// - the only file;
/// - the only recognised file to which no other file refers;
/// - the only file with the signature of a raw disk;
/// - of several, the one that `choosing` states.
///
/// Reads heads and headers through `tables`. Fails with `unsupported` if there is no disk, with `corrupt` if the container ends
/// before the image, and as [`Choosing::choose`], [`Machines::among`] and opening an image do.
pub(crate) async fn image_in(
    container: &str,
    contents: Contents,
    size: u64,
    choosing: Choosing<'_>,
    snapshot: Option<&str>,
    tables: &Rc<TableCache>,
) -> Result<ImageIn> {
    let Contents { members, is_ended } = contents;
    let files = pieces::joined(&members)?;
    let machines = Machines::among(&files, snapshot).await?;
    let cut_at = (!is_ended).then_some(size);
    let Offered { mut disks, is_known, mut list } =
        offered(container, &files, &machines, choosing, cut_at, tables).await?;
    let chosen = if is_known {
        choosing.choose(Holder::Archive(container), &list)?
    } else {
        choosing.choose_unknown(container, &list)?
    };
    let at = match chosen {
        Chosen::Disk(at) => at,
        Chosen::ToChoose(choice) => return Ok(ImageIn::ToChoose(choice)),
    };
    let (Candidate { member: image, mut file_type }, described) = match disks.swap_remove(at) {
        Listed::There(image, described) => (image, described),
        Listed::Missing(disk) => return Err(machines.missing(container, &disk, &list)),
    };
    let mut stated = StatedDisk::default();
    if let Some(FoundDisk { disk, machine, .. }) = described {
        list.machine = machines.get(machine).name().map(str::to_owned);
        list.hardware = machines.get(machine).hardware_with(&disk);
        list.snapshots = machines.get(machine).snapshots();
        pieces::require_all(&image.name, disk.pieces, &members)?;
        stated = disk.stated();
        list.capacity = stated.capacity;
    }
    let is_stated = list.disks.len() > 1 || choosing.names(&image.name) || !is_known;
    if is_stated && matches!(file_type, FileType::Unknown) {
        // The caller has chosen the file, so it needs no signature of a disk.
        file_type = FileType::Image(RAW);
    }
    machines.require_plain(&image, &files)?;
    let needs_all = needs_others(&image, file_type, &stated.parents, &files, tables).await?;
    let is_packed_piece = |file: &Member| pieces::is_piece_of(&file.name, &image.name) && file.is_read_in_order();
    let is_in_packed_pieces = members.iter().any(is_packed_piece);
    // Compares sources, since several files may have the same name.
    let is_image = |file: &&Member| Rc::ptr_eq(&file.source, &image.source);
    let beside = files.iter().filter(|file| !is_image(file)).cloned().collect();
    let members = members.into();
    Ok(ImageIn::Found(Found {
        image,
        file_type,
        stated,
        needs_all,
        is_in_packed_pieces,
        list,
        beside,
        members,
        is_ended,
    }))
}

/// The disks of a container from which one is chosen.
struct Offered {
    disks: Vec<Listed>,
    /// Whether a disk's content, a configuration or the caller identifies it. If not, `disks` are all files that may be raw disks.
    is_known: bool,
    list: DiskList,
}

/// Lists the disks among the `files` of a `container`. `cut_at`: the offset at which the container ends too early, if it does.
/// Fails with `unsupported` if there is no disk, with `corrupt` if the container ends before the first disk, and with
/// `missing-file` if the file of the only disk, or of every disk, is missing.
async fn offered(
    container: &str,
    files: &[Member],
    machines: &Machines,
    choosing: Choosing<'_>,
    cut_at: Option<u64>,
    tables: &Rc<TableCache>,
) -> Result<Offered> {
    let (mut disks, unknown) = disks_among(files, machines, tables).await?;
    let images: Vec<_> = disks.iter().filter_map(Listed::image).collect();
    let named = named_beside(&images, files, choosing, tables).await?;
    let missing = disks.iter().find_map(|disk| match disk {
        Listed::Missing(disk) => Some(disk.clone()),
        Listed::There(..) => None,
    });
    let is_known = !images.is_empty() || !named.is_empty() || missing.is_some();
    if !is_known {
        if let Some(size) = cut_at.filter(|_| !files.is_empty()) {
            return Err(Error::truncated("the rest of the archive", HostOffset(size), size));
        }
        if unknown.is_empty() {
            return Err(no_image(container, files));
        }
    }
    let raw_beside = match &disks[..] {
        [Listed::There(image, None)] if choosing.is_open() => raw_beside(image, &unknown, tables).await?,
        _ => None,
    };
    let others = if is_known { named } else { unknown };
    disks.extend(others.into_iter().map(|image| Listed::There(image, None)));
    let described = disks.iter().filter(|disk| matches!(disk, Listed::There(_, Some(_)))).count();
    if !machines.are_folders() && described < 2 {
        // The error for a missing disk of an OVF package names it. A descriptor without a disk is that of another package.
        disks.retain(|disk| disk.image().is_some());
    }
    let several = machines.several(disks.iter().filter_map(Listed::described));
    let list = DiskList {
        disks: disks.iter().map(|disk| disk.info(machines)).collect(),
        machine: machines.name().filter(|_| several.is_empty()).map(str::to_owned),
        machines: several,
        hardware: None,
        snapshots: machines.snapshots(),
        is_in_snapshot: machines.are_in_snapshot,
        raw_beside,
        capacity: None,
    };
    let is_any_there = disks.iter().any(|disk| disk.image().is_some());
    if let Some(missing) = missing
        && choosing.is_open()
        && (disks.len() < 2 || !is_any_there)
    {
        return Err(machines.missing(container, &missing, &list));
    }
    Ok(Offered { disks, is_known, list })
}

/// Finds the disks among `files`: first those of `machines`, in the order of their configurations, then the other images, unless
/// the configurations name all disks. Returns, second, the files in no known format, which may be raw disks.
async fn disks_among(
    files: &[Member],
    machines: &Machines,
    tables: &Rc<TableCache>,
) -> Result<(Vec<Listed>, Vec<Candidate>)> {
    let described = machines.disks_among(files)?;
    let is_described = |file: &Member| {
        let is_it = |disk: &FoundDisk| disk.file.is_some_and(|at| Rc::ptr_eq(&files[at].source, &file.source));
        file.may_have_bytes() && described.iter().any(is_it)
    };
    let mut disks = Vec::new();
    if machines.are_folders() {
        for disk in described {
            disks.push(match disk.file {
                Some(at) => {
                    Listed::There(Candidate::of(files[at].clone(), files.len() == 1, tables).await?, Some(disk))
                }
                None => Listed::Missing(disk),
            });
        }
        return Ok((disks, Vec::new()));
    }
    let own = files.iter().filter(|file| !file.is_link);
    let may_be: Vec<_> = own.clone().filter(|file| !is_never_a_disk(&file.name)).cloned().collect();
    let Images { mut found, unknown } = images(may_be, own.count() == 1, &is_described, tables).await?;
    for disk in described {
        let Some(file) = disk.file else {
            disks.push(Listed::Missing(disk));
            continue;
        };
        // If the file is not in `found`, another disk refers to it, so it is not listed.
        if let Some(at) = found.iter().position(|image| Rc::ptr_eq(&image.member.source, &files[file].source)) {
            disks.push(Listed::There(found.remove(at), Some(disk)));
        }
    }
    let is_parent = |image: &Candidate| {
        let described = disks.iter().filter_map(Listed::described);
        described.flat_map(|found| &found.disk.parents).any(|parent| parent.name == image.member.name)
    };
    found.retain(|image| !is_parent(image));
    disks.extend(found.into_iter().map(|image| Listed::There(image, None)));
    Ok((disks, unknown))
}

/// The error for a container none of whose `files` can be a disk.
fn no_image(container: &str, files: &[Member]) -> Error {
    match files.first() {
        None => refused(format!("The {container} archive holds no file"), "no-image"),
        Some(first) if files.iter().all(|file| is_never_a_disk(&file.name)) => no_disk(container, &first.name),
        Some(_) => {
            let count = files.iter().filter(|file| !file.is_link).count();
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
    images: &[&Candidate],
    files: &[Member],
    choosing: Choosing<'_>,
    tables: &Rc<TableCache>,
) -> Result<Vec<Candidate>> {
    let Some(name) = choosing.name() else { return Ok(Vec::new()) };
    let whole = |file: &&Member| file.name == *name;
    let is_image = |file: &Member| images.iter().any(|image| Rc::ptr_eq(&image.member.source, &file.source));
    let among_images = named(name, images.iter().map(|image| &*image.member.name));
    let found: Vec<_> = match files.iter().find(whole) {
        None if !among_images.is_empty() => Vec::new(),
        _ => named(name, files.iter().map(|file| &*file.name)),
    };
    let mut named = Vec::new();
    for at in found.into_iter().filter(|&at| !is_image(&files[at])) {
        named.push(Candidate::of(files[at].clone(), false, tables).await?);
    }
    Ok(named)
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
        "The image may be truncated: the {name} archive has no end mark, and nothing else shows whether its \
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
    unknown: Vec<Candidate>,
}

/// Finds the disks among `members`. If `is_only`, that is the only file, whatever it is. Otherwise, these are candidates:
///
/// - supported images and containers, by content or by name, and all files that `is_described`;
/// - if there is no image, files with the signature of a raw disk;
/// - if there is nothing else, images in known but unsupported formats: a CD image beside a disk is not chosen.
///
/// Leaves out candidates to which another one refers.
async fn images(
    members: Vec<Member>,
    is_only: bool,
    is_described: &dyn Fn(&Member) -> bool,
    tables: &Rc<TableCache>,
) -> Result<Images> {
    let mut files = Vec::new();
    for member in members {
        files.push(Candidate::of(member, is_only, tables).await?);
    }
    if is_only {
        return Ok(Images { found: files, unknown: Vec::new() });
    }
    let of = |is_it: &dyn Fn(FileType) -> bool| files.iter().map(|file| is_it(file.file_type)).collect::<Vec<_>>();
    let is_described: Vec<_> = files.iter().map(|file| is_described(&file.member)).collect();
    let is_unknown = of(&|file_type| matches!(file_type, FileType::Unknown));
    let is_image = of(&|file_type| matches!(file_type, FileType::Image(_) | FileType::Ambiguous(_)));
    let mut is_found: Vec<_> = of(&|file_type| matches!(file_type, FileType::Container(_)));
    let is_sure: Vec<_> =
        is_image.iter().zip(&is_described).map(|(is_image, is_described)| is_image | is_described).collect();
    is_found.iter_mut().zip(&is_sure).for_each(|(is_found, is_sure)| *is_found |= is_sure);
    if !is_sure.contains(&true) {
        let numbers: Vec<_> = (0..files.len()).filter(|&at| is_unknown[at]).collect();
        let unknown: Vec<_> = numbers.iter().map(|&at| &files[at].member).collect();
        for at in raw_disks(&unknown, tables).await? {
            is_found[numbers[at]] = true;
        }
    }
    if !is_found.contains(&true) {
        is_found = of(&|file_type| match file_type {
            FileType::Unsupported(format) => format.is_image(),
            file_type => matches!(file_type, FileType::HybridIso),
        });
    }
    let unknown =
        files.iter().zip(&is_unknown).filter(|(file, is_unknown)| **is_unknown && file.member.may_have_bytes());
    let unknown = unknown.map(|(file, _)| file.clone()).collect();
    let found =
        files.into_iter().zip(is_described).zip(is_found).filter_map(|(file, is_found)| is_found.then_some(file));
    Ok(Images { found: unreferred(found.collect(), tables).await?, unknown })
}

/// Returns the name of the first of `unknown` that looks like a raw disk and is not a part of `image`.
async fn raw_beside(image: &Candidate, unknown: &[Candidate], tables: &Rc<TableCache>) -> Result<Option<String>> {
    let FileType::Image(format) = image.file_type else { return Ok(None) };
    let mut parts = None;
    for Candidate { member, .. } in unknown {
        if !stands_out(member, HEAD, tables).await? {
            continue;
        }
        if parts.is_none() {
            let disk = opened(format, &image.member, tables).await?;
            parts = Some(disk.map_or_else(Vec::new, |disk| disk.references().to_vec()));
        }
        let is_it = |part: &Reference| may_mean(base_name(&part.name), base_name(&member.name));
        if !parts.as_ref().is_some_and(|parts| parts.iter().any(is_it)) {
            return Ok(Some(member.name.clone()));
        }
    }
    Ok(None)
}

/// Returns the indices of the `files` that have the signature of a raw disk. If there is only one, and another file may be a
/// further part of the same disk, returns none: the disk would be incomplete.
async fn raw_disks(files: &[&Member], tables: &Rc<TableCache>) -> Result<Vec<usize>> {
    let mut found = Vec::new();
    for (at, file) in files.iter().enumerate() {
        if stands_out(file, HEAD, tables).await? {
            found.push(at);
        }
    }
    if found.is_empty() {
        // Only volumes without a partition table have their signature beyond the head.
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
