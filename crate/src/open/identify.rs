//! Identifies a file by its first and last bytes, and the one name that decides.

use crate::container::{CONTAINERS, Container};
use crate::error::Result;
use crate::format::{Format, HEAD, RAW, Sample, TAIL, formats};
use crate::io::source::{Source, read_exact};
use crate::offsets::{ByteRange, HostOffset};
use crate::open::ambiguity::{Ambiguity, Start};
use crate::open::guess::has_partition;

/// The type of a file.
#[derive(Clone, Copy)]
pub(crate) enum FileType {
    /// An image in a supported format.
    Image(&'static Format),
    Container(&'static Container),
    /// A file in a known format that is not supported.
    Unsupported(&'static Format),
    /// An ISO 9660 image with a partition table: written to a disk, it is one.
    HybridIso,
    /// A file that can be read in two ways.
    Ambiguous(Ambiguity),
    /// A file in no known format. It may be a raw disk.
    Unknown,
}

/// The file name that Google Compute Engine requires for a disk.
const RAW_DISK: &str = "disk.raw";

/// Whether `member`, the name of a file in its container, makes it a raw disk regardless of its content, which the
/// guest controls.
pub(super) fn is_raw_disk(member: Option<&str>) -> bool {
    member.and_then(|name| name.rsplit('/').next()) == Some(RAW_DISK)
}

/// Identifies `source`; `member` is its name in its container, if any. Reads nothing if the name decides, and otherwise
/// the end of the file, too: a fixed VHD begins as its disk does. Fails with `source`, or with `internal` if memory runs
/// out.
pub(crate) async fn identify(source: &dyn Source, member: Option<&str>) -> Result<FileType> {
    if is_raw_disk(member) {
        return Ok(FileType::Image(RAW));
    }
    let size = source.size();
    let by_head = identify_as_qemu(source).await?;
    let end = ByteRange { start: HostOffset(size - size.min(TAIL)), len: size.min(TAIL) };
    let tail = read_exact(source, end, "end of the file").await?;
    let start = match by_head {
        // As with a raw disk: a fixed VHD may have a LUKS volume as its disk.
        FileType::Image(format) if format.on_disks => None,
        FileType::Image(format) => Some(Start::Image(format)),
        FileType::Container(container) => Some(Start::Container(container)),
        _ => None,
    };
    Ok(match (start, identify_end(&tail)) {
        (Some(start), _) => Ambiguity::found(start, &tail, size).map_or(by_head, FileType::Ambiguous),
        (None, FileType::Unknown) => by_head,
        (None, by_tail) => by_tail,
    })
}

/// Identifies `source` by its first bytes only, as QEMU does: to QEMU, a fixed VHD is a raw disk. Fails as [`identify`]
/// does.
pub(crate) async fn identify_as_qemu(source: &dyn Source) -> Result<FileType> {
    let start = ByteRange { start: HostOffset(0), len: source.size().min(HEAD) };
    let head = read_exact(source, start, "start of the file").await?;
    Ok(by_content(&Sample { head: &head, tail: &[] }))
}

/// Identifies a stream by its first [`HEAD`] bytes; `member` is its name in its container, if any.
pub(crate) fn identify_start(head: &[u8], member: Option<&str>) -> FileType {
    if is_raw_disk(member) {
        return FileType::Image(RAW);
    }
    by_content(&Sample { head, tail: &[] })
}

/// Identifies a stream of unknown start by its last [`TAIL`] bytes.
pub(crate) fn identify_end(tail: &[u8]) -> FileType {
    by_content(&Sample { head: &[], tail })
}

/// Identifies the file of `sample`. Supported formats win over containers, and so do files that are mistaken for
/// images: some are archives. Containers win over other formats, whose signature may be in a member.
fn by_content(sample: &Sample<'_>) -> FileType {
    let format = formats().find(|format| (format.probe)(sample));
    match format {
        Some(format) if format.is_supported() => return FileType::Image(format),
        Some(format) if !format.is_image() => return FileType::Unsupported(format),
        _ => {}
    }
    let container = CONTAINERS.iter().find(|container| (container.probe)(sample));
    match (container, format) {
        (Some(container), _) => FileType::Container(container),
        (None, Some(format)) if format.is_disc() && has_partition(sample.head) => FileType::HybridIso,
        (None, Some(format)) => FileType::Unsupported(format),
        (None, None) => FileType::Unknown,
    }
}
