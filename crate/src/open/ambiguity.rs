//! Files that begin as one format, or as a container, and end as another.

use crate::container::Container;
use crate::disk::info::ContainerInfo;
use crate::error::shown::shown;
use crate::error::{Error, ErrorKind};
use crate::format::{Format, FoundFooter, disk_footer};

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
        let footer = disk_footer(tail)?;
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
