//! A member of a tar archive: as a part of its file, or in order. After POSIX.1-2017, pax, "ustar Interchange Format" and "pax Header
//! Block", and "Basic Tar Format" and "GNU Extensions to the Archive Format" in the manual of GNU tar.

mod header;
mod in_order;

use super::{Container, Member};
use crate::error::{Error, ErrorKind, Result};
use crate::format;
use crate::info::is_raw_disk;
use crate::shown::shown;
use crate::source::{Slice, Source, read_exact};
use crate::units::{ByteRange, HostOffset};
use futures_util::FutureExt;
use header::{BLOCK, Extensions, Header, MAX_HEADERS};
use std::rc::Rc;

/// The registry's entry.
pub(super) const CONTAINER: Container = Container {
    name: "tar",
    label: "a tar archive",
    probe: |sample| sample.head.get(..BLOCK as usize).is_some_and(header::begins_archive),
    open: Some(|source, salvage| async move { image_in(source, salvage).await }.boxed_local()),
    decode: Some(|stream| Ok(Box::new(in_order::OnlyFile::new(stream)))),
}
.in_full_build();

/// Names that an error lists.
const LISTED: usize = 3;

/// A regular file in an archive.
#[derive(Debug)]
struct File {
    name: String,
    /// Where it lies in the archive, as far as that has it.
    range: ByteRange,
    /// How many of its bytes are missing at the end.
    missing: u64,
}

/// The member that is a disk image: the only regular file, or the only one that is recognised.
async fn image_in(source: Rc<dyn Source>, salvage: bool) -> Result<Member> {
    let files = list(&*source, salvage).await?;
    let count = files.len();
    let mut images = if count > 1 { images(&source, files).await? } else { files };
    match (images.pop(), &images[..]) {
        (Some(file), []) => {
            let File { name, range, missing } = file;
            Ok(Member { name, source: Rc::new(Slice::new(source, range)), missing })
        }
        (None, _) if count == 0 => Err(refused("The tar archive holds no file".to_owned())),
        (None, _) => Err(refused(format!(
            "The tar archive holds {count} files, none of which is in a disk image format that Decant recognises; extract \
             the one that is the disk"
        ))),
        (Some(last), others) => Err(several(others.iter().chain([&last]))),
    }
}

fn several<'a>(images: impl Iterator<Item = &'a File> + Clone) -> Error {
    let names: Vec<_> = images.clone().take(LISTED).map(|file| format!("'{}'", shown(&file.name))).collect();
    let count = images.count();
    let more = if count > LISTED { " and others" } else { "" };
    refused(format!(
        "The tar archive holds {count} disk images, {}{more}; extract the one that is wanted",
        names.join(", ")
    ))
}

fn refused(message: String) -> Error {
    Error::new(ErrorKind::Unsupported, message)
}

/// Those of `files` that are disk images which are read, or containers, by content or by the one name that says it. If
/// there are none, those that are recognised otherwise: an archive may have a CD image beside its disk.
async fn images(source: &Rc<dyn Source>, files: Vec<File>) -> Result<Vec<File>> {
    let (mut read, mut known) = (Vec::new(), Vec::new());
    for file in files {
        let slice = Slice::new(source.clone(), file.range);
        if is_raw_disk(&file.name) {
            read.push(file);
            continue;
        }
        let mut sample = format::head(&slice).await?;
        let is_container = super::probe(&sample).is_some();
        let format = format::complete(&mut sample, &slice).await?;
        if is_container || format.is_some_and(|format| format.is_read()) {
            read.push(file);
        } else if format.is_some() {
            known.push(file);
        }
    }
    Ok(if read.is_empty() { known } else { read })
}

/// The regular files of an archive, in its order. In a `salvage` the archive may end inside the last one.
async fn list(source: &dyn Source, salvage: bool) -> Result<Vec<File>> {
    let mut files = Vec::new();
    let mut next = Extensions::default();
    let (mut at, mut headers) = (0, 0);
    loop {
        // An archive that ends between two members lacks nothing that could be read.
        if at == source.size() && !next.is_given {
            return Ok(files);
        }
        let block = ByteRange { start: HostOffset(at), len: BLOCK };
        let bytes = read_exact(source, block, "header of a tar member").await?;
        let Some(header) = Header::parse(&bytes, at, next.size)? else { return Ok(files) };
        if headers == MAX_HEADERS {
            return Err(too_many_headers());
        }
        let data = header.data;
        let missing = data.end().saturating_sub(source.size());
        let describes = header.describes()?;
        if missing > 0 && (describes || !salvage) {
            return Err(Error::truncated("the end of a tar member", HostOffset(data.end()), source.size()));
        }
        if describes {
            next.describe(&header, &read_exact(source, data, "header of a tar member").await?)?;
        } else if let Some(name) = next.file(&header)? {
            files.push(File { name, range: ByteRange { len: data.len - missing, ..data }, missing });
        }
        // The last member may lack what fills its block.
        at = data.end().next_multiple_of(BLOCK).min(source.size());
        headers += 1;
    }
}

fn too_many_headers() -> Error {
    Error::new(ErrorKind::Limit, format!("The tar archive has more than {MAX_HEADERS} headers"))
}
