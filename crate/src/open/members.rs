//! Finds the disk image among the files of a container.

use crate::container::{Contents, Member};
use crate::disk::info::{ContainerInfo, DiskList, MemberInfo};
use crate::disk::reference::{base_name, resolved};
use crate::error::place::Place;
use crate::error::shown::shown;
use crate::error::{COPY_AGAIN, Error, ErrorKind, Result};
use crate::format::{Disk, Format, HEAD, LayerOptions, raw_disk, vmdk};
use crate::io::table_cache::TableCache;
use crate::offsets::HostOffset;
use crate::open::disk_choice::Choosing;
use crate::open::identify::{FileType, identify, identify_start};
use crate::open::{encryption_marks, ovf, split_files};
use std::rc::Rc;

/// Suffixes of files that describe a machine, list digests, or sign such a list (DSP0243). They are never disks.
const BESIDE_A_DISK: [&str; 3] = [".ovf", ".mf", ".cert"];

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

/// Finds the disk image in a `container` of `size` bytes: the only file, the only recognised one that no other
/// refers to, or the one of several that `choosing` states. Heads and headers are read through `tables`. Fails with
/// `unsupported` if there are none, with `corrupt` if the container ends before the image, and as
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
    if let Some(first) = files.first().filter(|_| may_be.is_empty() && is_ended) {
        return Err(no_disk(container, &first.name));
    }
    let images = images(may_be, files.len() == 1, tables).await?;
    if images.is_empty() {
        return Err(match files.len() {
            0 => refused(format!("The {container} archive holds no file"), "no-image"),
            _ if !is_ended => Error::truncated("the rest of the archive", HostOffset(size), size),
            count => refused(
                format!(
                    "The {container} archive holds {count} files, but none is in a disk image format that Decant \
                     recognises; extract the disk"
                ),
                "no-image",
            ),
        });
    }
    let names: Vec<_> = images.iter().map(|(image, _)| &*image.name).collect();
    let (order, machine) = ovf::described(&names, &files).await?;
    let list = DiskList { disks: order.iter().map(|&at| info(&images[at])).collect(), machine };
    let (image, file_type) = images[order[choosing.choose(container, &list)?]].clone();
    encryption_marks::require_plain(&image, &files).await?;
    // Names need not be unique; sources are.
    let is_image = |file: &&Member| Rc::ptr_eq(&file.source, &image.source);
    let beside = files.iter().filter(|file| !is_image(file)).cloned().collect();
    Ok(Found { image, file_type, list, beside, members: members.into(), is_ended })
}

fn info((image, file_type): &(Member, FileType)) -> MemberInfo {
    let format = match file_type {
        FileType::Image(format) | FileType::Unsupported(format) => Some(format.name),
        FileType::HybridIso => Some(raw_disk::NAME),
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

/// Returns those of `members` that are supported disk images or containers, by content or by name, and that no other
/// one refers to. If there are none, returns the known but unsupported images: an archive may have a CD image beside
/// its disk. The only file of an archive is returned whatever it is.
async fn images(members: Vec<Member>, is_only: bool, tables: &Rc<TableCache>) -> Result<Vec<(Member, FileType)>> {
    let (mut read, mut known) = (Vec::new(), Vec::new());
    for mut member in members {
        let file_type = type_of(&mut member, is_only, tables).await?;
        match file_type {
            FileType::Image(_) | FileType::Container(_) | FileType::Ambiguous(_) => read.push((member, file_type)),
            FileType::Unsupported(format) if is_only || !format.is_no_image() => known.push((member, file_type)),
            FileType::HybridIso => known.push((member, file_type)),
            FileType::Unknown if is_only => known.push((member, file_type)),
            FileType::Unsupported(_) | FileType::Unknown => {}
        }
    }
    match read.len() {
        0 => Ok(known),
        1 => Ok(read),
        _ => unreferred(read, tables).await,
    }
}

/// Identifies `member`; if it is deflated, by its first bytes only. Unless it is the only file, the deflated descriptor of a VMDK is
/// read at any position: without the files that it names, it is useless.
async fn type_of(member: &mut Member, is_only: bool, tables: &Rc<TableCache>) -> Result<FileType> {
    let name = Some(&*member.name);
    let Some(deflated) = &member.deflated else { return identify(&*tables.over(member.source.clone()), name).await };
    let head = deflated.head(HEAD).await.map_err(|error| error.within(Place::Member(member.name.clone())))?;
    let file_type = identify_start(&head, name);
    let is_raw = matches!(file_type, FileType::Image(format) if format.name == raw_disk::NAME);
    if !is_only && !is_raw && vmdk::is_descriptor(&head) {
        member.deflated = None;
    }
    Ok(file_type)
}

/// Returns the `images` that no other one refers to: the top of a chain, or the descriptor of extents.
async fn unreferred(images: Vec<(Member, FileType)>, tables: &Rc<TableCache>) -> Result<Vec<(Member, FileType)>> {
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
