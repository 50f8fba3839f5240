//! Which file of a container is the disk image.

use crate::chunks;
use crate::container::{self, Contents, Member};
use crate::error::{Error, ErrorKind, Result};
use crate::format;
use crate::info::{ContainerInfo, is_raw_disk};
use crate::shown::shown;
use crate::units::HostOffset;

/// Names that an error lists.
const LISTED: usize = 3;

/// Ends of the names of files that describe a machine, list digests, or sign such a list (DSP0243): never a disk.
const BESIDE_A_DISK: [&str; 3] = [".ovf", ".mf", ".cert"];

/// Whether a file called `name` is no disk, whatever it holds.
pub fn is_never_a_disk(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    BESIDE_A_DISK.iter().any(|end| name.ends_with(end))
}

/// The member of a file of `size` bytes, a `container`, that is a disk image: the only one, or the only one that is
/// recognised. Fails with `unsupported` where there is none or more than one, and with `corrupt` where the container was cut
/// off before it.
pub async fn image_in(container: &str, contents: Contents, size: u64) -> Result<Member> {
    let is_ended = contents.is_ended;
    let members = chunks::joined(&contents.members)?;
    let (count, first) = (members.len(), members.first().map(|member| member.name.clone()));
    let may_be: Vec<_> = members.into_iter().filter(|member| !is_never_a_disk(&member.name)).collect();
    if let Some(name) = first.filter(|_| may_be.is_empty() && is_ended) {
        return Err(no_disk(container, &name));
    }
    let mut images = if count > 1 { images(may_be).await? } else { may_be };
    match (images.pop(), &images[..]) {
        (Some(image), []) => Ok(image),
        (Some(last), others) => Err(several(container, others.iter().chain([&last]))),
        (None, _) if count > 0 && !is_ended => Err(Error::truncated("the rest of the archive", HostOffset(size), size)),
        (None, _) if count == 0 => Err(refused(format!("The {container} archive holds no file"))),
        (None, _) => Err(refused(format!(
            "The {container} archive holds {count} files, none of which is in a disk image format that Decant recognises; \
             extract the one that is the disk"
        ))),
    }
}

/// Fails with `unsupported` where what comes in order out of `containers` is in no format that is recognised, and no raw
/// disk either.
pub fn ensure_guess(containers: &[ContainerInfo]) -> Result<()> {
    let Some(ContainerInfo { name, member: Some(member) }) = containers.last() else { return Ok(()) };
    if is_never_a_disk(member) {
        return Err(no_disk(name, member));
    }
    Ok(())
}

fn no_disk(container: &str, name: &str) -> Error {
    refused(format!(
        "The {container} archive holds no disk, only '{}' or files like it, which go with one",
        shown(name)
    ))
}

/// The error for what lies in `containers`, is read as a raw disk because no format recognises it, and may be cut off.
pub fn unmarked(containers: &[ContainerInfo]) -> Error {
    let name = containers.last().map_or("container", |container| container.name);
    let message = format!(
        "The image is truncated, or may be: the {name} archive has no end mark, and nothing else tells whether the disk in it \
         is whole; download or copy it again"
    );
    Error::new(ErrorKind::Corrupt, message)
}

fn several<'a>(container: &str, images: impl Iterator<Item = &'a Member> + Clone) -> Error {
    let names: Vec<_> = images.clone().take(LISTED).map(|image| format!("'{}'", shown(&image.name))).collect();
    let count = images.count();
    let more = if count > LISTED { " and others" } else { "" };
    refused(format!(
        "The {container} archive holds {count} disk images, {}{more}; extract the one that is wanted",
        names.join(", ")
    ))
}

fn refused(message: String) -> Error {
    Error::new(ErrorKind::Unsupported, message)
}

/// Those of `members` that are disk images which are read, or containers, by content or by the one name that says it. If
/// there are none, those that are recognised otherwise: an archive may have a CD image beside its disk.
async fn images(members: Vec<Member>) -> Result<Vec<Member>> {
    let (mut read, mut known) = (Vec::new(), Vec::new());
    for member in members {
        if is_raw_disk(&member.name) {
            read.push(member);
            continue;
        }
        let mut sample = format::head(&*member.source).await?;
        let is_container = container::probe(&sample).is_some();
        let format = format::complete(&mut sample, &*member.source).await?;
        if is_container || format.is_some_and(|format| format.is_read()) {
            read.push(member);
        } else if format.is_some() {
            known.push(member);
        }
    }
    Ok(if read.is_empty() { known } else { read })
}
