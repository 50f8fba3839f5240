//! Why a file is read as a raw disk, and the notice about it.

use crate::disk::info::{ContainerInfo, Notice};
use crate::error::Result;
use crate::error::shown::shown;
use crate::format::Format;
use crate::open::ambiguity::{Ambiguity, Start};
use crate::open::guess::{is_whole_sectors, no_disk};
use crate::open::identify::FileType;

/// Why a file is read as a raw disk.
#[derive(Clone, Copy, Default)]
pub(crate) enum RawReason {
    /// The caller or the name of the file states the format, or the file is not read as raw.
    #[default]
    Stated,
    /// The file is in a container, and its format is not known. Its size has to look like that of a disk.
    Guessed,
    /// In addition, the caller has chosen the file, or its start looks like a disk.
    Likely,
    /// It is an ISO 9660 image with a partition table.
    HybridIso,
    /// The caller states the format, but the content shows another one.
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
    /// The reason for a file of `file_type` whose format the caller states as raw.
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
            Self::Despite(Recognised::Format(format)) => {
                let advice = match format.is_supported() {
                    true => format!("; to read the disk in it, state the format {}", format.name),
                    false => String::new(),
                };
                Some(packed_as_raw(&subject, format.label, &advice).field("format", format.name))
            }
            Self::Despite(Recognised::Container(name, label)) => {
                let advice = "; to read its content, add unpack (--unpack), or state no format";
                Some(packed_as_raw(&subject, label, advice).field("container", name))
            }
        }
    }
}

fn packed_as_raw(subject: &str, label: &str, advice: &str) -> Notice {
    let message =
        format!("{subject} is {label}, but its own bytes are read as a raw disk, as the stated format says{advice}");
    Notice::new("packed-as-raw", message)
}
