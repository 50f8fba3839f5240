//! Identifies a file by its first and last bytes, and the one name that decides; says why a file is read as a raw disk.

use crate::container::{CONTAINERS, Container, EMPTY_FRAME, NOT_IN_ORDER, long_skippable};
use crate::disk::info::{ContainerInfo, Notice};
use crate::error::shown::shown;
use crate::error::{Error, ErrorKind, Result};
use crate::format::{Format, FoundFooter, HEAD, RAW, Sample, TAIL, disk_footer, formats};
use crate::io::source::{Source, read_exact, read_start};
use crate::offsets::{ByteRange, HostOffset};
use crate::open::guess::{has_partition, is_whole_sectors, no_disk};

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

/// How many times a file is read again, behind skippable frames of zstd or lz4 that end beyond what was read.
const MOST_SKIPPED: usize = 64;

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
    let (mut head, mut start) = (read_start(source, HEAD).await?, 0);
    for _ in 0..MOST_SKIPPED {
        let Some(end) = long_skippable(&head).map(|end| start + end).filter(|&end| end < source.size()) else { break };
        let range = ByteRange { start: HostOffset(end), len: HEAD.min(source.size() - end) };
        head = [&EMPTY_FRAME[..], &read_exact(source, range, "start of the file").await?].concat();
        start = end - EMPTY_FRAME.len() as u64;
    }
    Ok(by_content(&Sample { head: &head, tail: &[] }))
}

/// Identifies a stream by its first [`HEAD`] bytes or more; `member` is its name in its container, if any.
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

/// A file with two formats: a guest may have written either. Its disk is the start of a raw disk with a footer, such as a fixed
/// VHD, and may be the end of another image.
#[derive(Clone, Copy)]
pub(crate) struct Ambiguity {
    pub(super) start: Start,
    footer: FoundFooter,
}

/// The format or container that the start of a file shows.
#[derive(Clone, Copy)]
pub(super) enum Start {
    Image(&'static Format),
    Container(&'static Container),
}

impl Ambiguity {
    /// The ambiguity of a file of `size` bytes that begins as `start` and ends with `tail`; `None` unless `tail` is an intact
    /// footer that states this size. A disk with a footer inside an image or an archive ends the same, but is smaller.
    pub(super) fn found(start: Start, tail: &[u8], size: u64) -> Option<Self> {
        let footer = disk_footer(tail, size)?;
        // A copy of the footer at the start: one format in both readings.
        let is_same = matches!(start, Start::Image(format) if format.name == footer.format.name);
        let states_size = footer.disk_size.checked_add(footer.len as u64) == Some(size);
        (!is_same && states_size).then_some(Self { start, footer })
    }

    /// Creates the error, of kind `usage`, for the image in `containers`.
    pub(crate) fn of_image(self, containers: &[ContainerInfo]) -> Error {
        let subject =
            containers.last().map_or_else(|| "The file".to_owned(), |container| container.place().to_string());
        let other = self.footer.format.name;
        let advice = match (self.start, containers.is_empty()) {
            (Start::Image(format), true) => format!("state its format, {} or {other}", format.name),
            (Start::Image(format), false) => format!("extract it and state its format, {} or {other}", format.name),
            (Start::Container(_), true) => format!("state the format {other}, or unpack it"),
            (Start::Container(_), false) => format!("extract it, and state the format {other} or unpack it"),
        };
        self.error(&subject, &advice)
    }

    /// Creates the error, of kind `usage`, for the companion called `name`, whose format no image states.
    pub(crate) fn of_companion(self, name: &str) -> Error {
        let error = self.error(&format!("'{}'", shown(name)), "the image that needs it does not state its format");
        error.field("file", name)
    }

    fn error(self, subject: &str, advice: &str) -> Error {
        let (label, other) = (self.footer.kind.label, self.footer.format.name);
        let start = match self.start {
            Start::Image(format) => format.short_label(),
            Start::Container(container) => container.label,
        };
        let message = format!("{subject} begins as {start} and ends as {label}, so it can be read as both; {advice}");
        let error = Error::new(ErrorKind::Usage, message).coded("ambiguous-format");
        match self.start {
            Start::Image(format) => error.field("format", format.name).field("otherFormat", other),
            Start::Container(container) => error.field("format", other).field("container", container.name),
        }
    }
}

/// Why a file is read as a raw disk.
#[derive(Clone, Copy, Default)]
pub(crate) enum RawReason {
    /// The caller or the name of the file states the format, or the file is not read as raw.
    #[default]
    Stated,
    /// The file is in a container, and its format is not known. Its size has to look like that of a disk.
    Guessed,
    /// As `Guessed`, and the caller has chosen the file, or its start looks like a disk.
    Likely,
    /// The file is an ISO 9660 image with a partition table.
    HybridIso,
    /// The caller or the name of the file states the format, but the content shows another one.
    Despite(Recognised),
}

/// The format or the container that is recognised by the content of a file.
#[derive(Clone, Copy)]
pub(crate) enum Recognised {
    Format(&'static Format),
    /// Its name, and its label with an article.
    Container(&'static str, &'static str),
}

impl Recognised {
    /// Returns `None` if a raw disk may look like `file_type`.
    fn of(file_type: FileType) -> Option<Self> {
        match file_type {
            FileType::Image(format) if format.is_raw() => None,
            FileType::Image(format)
            | FileType::Unsupported(format)
            | FileType::Ambiguous(Ambiguity { start: Start::Image(format), .. }) => Some(Self::Format(format)),
            FileType::Container(container)
            | FileType::Ambiguous(Ambiguity { start: Start::Container(container), .. }) => {
                Some(Self::Container(container.name, container.label))
            }
            FileType::HybridIso | FileType::Unknown => None,
        }
    }
}

impl RawReason {
    /// The reason for a file of `file_type` whose format the caller, or its name, states as raw.
    pub(crate) fn stated(file_type: FileType) -> Self {
        Recognised::of(file_type).map_or(Self::Stated, Self::Despite)
    }

    /// Whether the format is neither stated nor known by a name.
    pub(crate) fn is_guess(self) -> bool {
        matches!(self, Self::Guessed | Self::Likely | Self::HybridIso)
    }

    /// Fails with `not-recognised` if the content of `containers`, which has `size` bytes, is not a disk.
    pub(crate) fn check_size(self, size: u64, containers: &[ContainerInfo]) -> Result<()> {
        match self {
            Self::Guessed if !is_whole_sectors(size) => Err(no_disk().within(ContainerInfo::place_in(containers))),
            _ => Ok(()),
        }
    }

    /// Returns the notice on a file in `containers`.
    pub(crate) fn notice(self, containers: &[ContainerInfo]) -> Option<Notice> {
        let subject = match containers.last() {
            None => "The file".to_owned(),
            Some(ContainerInfo { member: Some(member), .. }) => format!("'{}'", shown(member)),
            Some(ContainerInfo { name, member: None }) => format!("The content of the {name} file"),
        };
        match self {
            Self::Stated => None,
            Self::Guessed | Self::Likely => containers.last().map(|ContainerInfo { name, .. }| {
                let message =
                    format!("The content of the {name} file is not in a recognised format; it is read as raw");
                Notice::new("guessed-raw", message).field("container", *name)
            }),
            Self::HybridIso => {
                let message = format!(
                    "{subject} is a hybrid ISO image, an ISO 9660 file system with a partition table; it is read as a \
                     raw disk"
                );
                Some(Notice::new("hybrid-iso", message))
            }
            Self::Despite(recognised) => {
                let member = containers.last().and_then(|container| container.member.as_deref());
                let by = if is_raw_disk(member) { StatedBy::Name } else { StatedBy::Caller };
                Some(packed_as_raw(&subject, recognised, by))
            }
        }
    }
}

/// Returns the notice on the file `source`, called `name`, which the image that needs it states to be a raw disk; `None` if a raw disk may
/// look like it, as one that a guest has encrypted, or if the disk cannot be read from it. Fails with `source` or `internal`.
pub(super) async fn needed_as_raw(source: &dyn Source, name: &str) -> Result<Option<Notice>> {
    let file_type = match identify(source, None).await {
        Err(error) if error.code == NOT_IN_ORDER => return Ok(None),
        file_type => file_type?,
    };
    let recognised = match Recognised::of(file_type) {
        Some(Recognised::Format(format)) if format.on_disks => None,
        recognised => recognised,
    };
    Ok(recognised.map(|recognised| packed_as_raw("The file", recognised, StatedBy::Image).of_file(name)))
}

/// What states that a file is a raw disk.
#[derive(Clone, Copy)]
enum StatedBy {
    Caller,
    Name,
    /// The image that needs the file.
    Image,
}

/// The notice on `subject`, a file in another format than raw.
fn packed_as_raw(subject: &str, recognised: Recognised, by: StatedBy) -> Notice {
    let (label, field, name) = match recognised {
        Recognised::Format(format) => (format.label, "format", format.name),
        Recognised::Container(name, label) => (label, "container", name),
    };
    let stated = match by {
        StatedBy::Caller => "the stated format",
        StatedBy::Name => "its name",
        StatedBy::Image => "the image that needs it",
    };
    let advice = match (by, recognised) {
        (StatedBy::Name, _) => "; to read the disk in it, extract the file".to_owned(),
        (StatedBy::Caller, Recognised::Format(format)) if format.is_supported() => {
            format!("; to read the disk in it, state the format {}", format.name)
        }
        (StatedBy::Image, Recognised::Format(format)) if format.is_supported() => {
            "; to read the disk in it, convert it to raw first".to_owned()
        }
        (_, Recognised::Format(_)) => String::new(),
        (StatedBy::Caller, Recognised::Container(..)) => {
            "; to read its content, add unpack (--unpack), or state no format".to_owned()
        }
        (StatedBy::Image, Recognised::Container(..)) => "; to read its content, unpack it first".to_owned(),
    };
    let message = format!("{subject} is {label}, but its own bytes are read as a raw disk, as {stated} says{advice}");
    Notice::new("packed-as-raw", message).field(field, name)
}
