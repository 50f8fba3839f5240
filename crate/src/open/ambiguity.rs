//! Files that begin as one format, or as a container, and end as another.

use crate::container::Container;
use crate::disk::info::ContainerInfo;
use crate::error::shown::shown;
use crate::error::{Error, ErrorKind};
use crate::format::{Format, vhd};

/// The start of a file that ends as a fixed VHD. A guest may have written either: its disk is the start of a fixed VHD, and
/// may be the end of another image.
#[derive(Clone, Copy)]
pub(crate) enum Ambiguity {
    Image(&'static Format),
    Container(&'static Container),
}

impl Ambiguity {
    /// Whether a file of `size` bytes with this start, which ends with `tail`, is ambiguous: only if `tail` is an intact
    /// footer that states this size. A VHD inside an image or an archive ends the same, but is smaller.
    pub(super) fn is_real(self, tail: &[u8], size: u64) -> bool {
        // A copy of the footer: a VHD in both readings.
        let is_vhd = matches!(self, Self::Image(format) if format.name == vhd::FORMAT.name);
        let states_size = |(len, disk): (usize, u64)| disk.checked_add(len as u64) == Some(size);
        !is_vhd && vhd::fixed_footer(tail).is_some_and(states_size)
    }

    /// Creates the error, of kind `usage`, for the image in `containers`.
    pub(crate) fn of_image(self, containers: &[ContainerInfo]) -> Error {
        let subject =
            containers.last().map_or_else(|| "The file".to_owned(), |container| container.place().to_string());
        let vpc = vhd::FORMAT.name;
        let advice = match (self, containers.is_empty()) {
            (Self::Image(format), true) => format!("state its format, {} or {vpc}", format.name),
            (Self::Image(format), false) => format!("extract it and state its format, {} or {vpc}", format.name),
            (Self::Container(_), true) => format!("state the format {vpc}, or unpack it"),
            (Self::Container(_), false) => format!("extract it, and state the format {vpc} or unpack it"),
        };
        self.error(&subject, &advice)
    }

    /// Creates the error, of kind `usage`, for the companion called `name`, whose format no image states.
    pub(crate) fn of_companion(self, name: &str) -> Error {
        let error = self.error(&format!("'{}'", shown(name)), "the image that needs it does not state its format");
        error.field("file", name)
    }

    fn error(self, subject: &str, advice: &str) -> Error {
        let (label, vpc) = (vhd::FORMAT.short_label(), vhd::FORMAT.name);
        let start = match self {
            Self::Image(format) => format.short_label(),
            Self::Container(container) => container.label,
        };
        let message =
            format!("{subject} begins as {start} and ends as a fixed {label}, so it can be read as both; {advice}");
        let error = Error::new(ErrorKind::Usage, message).coded("ambiguous-format");
        match self {
            Self::Image(format) => error.field("format", format.name).field("otherFormat", vpc),
            Self::Container(container) => error.field("format", vpc).field("container", container.name),
        }
    }
}
