//! The errors for files that are empty, in no known format, or read only in order.

use crate::container::NOT_IN_ORDER;
use crate::error::shown::shown;
use crate::error::{Error, ErrorKind, Result};
use crate::format::{self, Format, HEAD, RAW, STATE_FORMAT, STATE_RAW, Sample, TEXT_FILE};
use crate::io::source::{Source, read_start};
use crate::open::chain::open_options::OpenOptions;
use crate::open::guess::is_whole_sectors;

/// The error for a file without bytes, called `name`.
pub(crate) fn empty_file(name: Option<&str>) -> Error {
    let file = name.map_or_else(|| "The file".to_owned(), |name| format!("'{}'", shown(name)));
    Error::new(ErrorKind::NotRecognised, format!("{file} is empty")).coded("empty")
}

/// The error for an empty stream: most likely the program that should have written it failed.
pub(crate) fn empty_stream() -> Error {
    Error::new(ErrorKind::NotRecognised, "The stream is empty").coded("empty")
}

/// The error for an image of `size` bytes in an unknown format.
pub(crate) fn not_recognised(options: &OpenOptions, size: u64) -> Error {
    if size == 0 {
        return empty_file(options.name.as_deref());
    }
    let not_recognised = |what: &str| {
        let message = format!("The file is not in a known disk image format; {what}");
        Error::new(ErrorKind::NotRecognised, message)
    };
    if let Some((format, hint)) = options.name.as_deref().and_then(format::hint) {
        return not_recognised(hint.text).coded(hint.code).field("format", format.name);
    }
    let formats = format::readable().filter(|format| !format.is_raw());
    let formats: Vec<_> = formats.map(Format::short_label).collect();
    let formats = formats.join(", ");
    let known = format!("Decant reads {formats}, and archives with one");
    if is_whole_sectors(size) {
        let advice = format!("{known}; {}", STATE_RAW);
        return not_recognised(&advice).coded(STATE_FORMAT).field("format", RAW.name);
    }
    not_recognised(&known)
}

/// The error for the image `source` in an unknown format, which may be a text. Fails as reading does.
pub(crate) async fn not_recognised_at(source: &dyn Source, options: &OpenOptions) -> Result<Error> {
    let head = read_start(source, HEAD).await?;
    let is_text = (TEXT_FILE.probe)(&Sample { head: &head, tail: &[] });
    Ok(if is_text { TEXT_FILE.refusal("The file is") } else { not_recognised(options, source.size()) })
}

/// The error for the end of a stream that shows that it is in `format`, not a raw disk: of the container `outer` or the
/// caller's.
pub(crate) fn not_in_order(format: &Format, outer: Option<&str>) -> Error {
    let subject = match outer {
        Some(outer) => format!("The {outer} file holds"),
        None => "The stream is".to_owned(),
    };
    if !format.is_supported() {
        return format.refusal(&subject);
    }
    not_read_in_order(must_be_unpacked(format.label, outer), outer)
}

/// The error for something that needs random access, read in order out of `container`, or from a stream.
pub(crate) fn not_read_in_order(message: String, container: Option<&str>) -> Error {
    let error = Error::new(ErrorKind::Unsupported, message).coded(NOT_IN_ORDER);
    match container {
        Some(container) => error.field("container", container),
        None => error,
    }
}

/// Says that the content of the container `outer`, or a stream, must be unpacked first: `label` is its format for people.
pub(super) fn must_be_unpacked(label: &str, outer: Option<&str>) -> String {
    match outer {
        Some(outer) => format!("The {outer} file holds {label}, which cannot be read inside it; unpack it first"),
        None => format!("The stream is {label}, which must be read at any position; save it as a file first"),
    }
}
