//! An image whose file is named as a part of a split file: its notices, and what its errors say about the other parts.

use crate::disk::info::Notice;
use crate::error::shown::shown;
use crate::error::{Error, ErrorKind};
use crate::format::Format;

/// An image whose file has the name of a part of a split file.
pub(crate) struct SplitFile {
    /// The names of the parts that the image is read from: of one unless they are joined.
    pub(super) parts: Vec<String>,
    /// The indices of the parts after the first among the companions.
    pub(in crate::open) next: Vec<usize>,
    /// If it is a later part: the name of the first, which may be a guess.
    pub(super) first: Option<String>,
    /// Whether the part after it is an image by itself.
    pub(super) is_one_of_images: bool,
}

impl SplitFile {
    /// Whether the image is read from several parts.
    pub(crate) fn is_joined(&self) -> bool {
        self.parts.len() > 1
    }

    /// The notice about the image, if it is a disk in `format`, in no container.
    pub(crate) fn notice(&self, format: &Format) -> Option<Notice> {
        // The end of others shows whether a part is missing.
        let has_any_end = format.is_raw() || format.on_disks;
        has_any_end.then(|| if self.is_joined() { self.unchecked() } else { self.alone() })
    }

    fn alone(&self) -> Notice {
        let file = &self.parts[0];
        let message = format!("By its name, '{}' is a part of a split file; it is read as the whole disk", shown(file));
        Notice::new("part-alone", message).field("first", &**file)
    }

    fn unchecked(&self) -> Notice {
        let (first, last, count) = self.ends();
        let message = format!(
            "The disk is read from {count} files, '{}' to '{}', as the parts of one; nothing in them shows that they belong \
             together, or whether the last one is there",
            shown(first),
            shown(last)
        );
        Notice::new("parts-unchecked", message).field("first", first).field("last", last).field("count", count)
    }

    /// The names of the first and the last part, and their number.
    fn ends(&self) -> (&str, &str, u64) {
        let (first, last) = (&self.parts[0], &self.parts[self.parts.len() - 1]);
        (first, last, self.parts.len() as u64)
    }

    /// Names the first part in the `error` for an image that is not recognised, or asks for all parts if the image is truncated.
    pub(crate) fn explain(&self, error: Error) -> Error {
        if error.fields.get("file").is_some() {
            // Of a companion.
            return error;
        }
        match &self.first {
            Some(first) if error.kind == ErrorKind::NotRecognised => {
                later_part(error.kind, "The file is not in a format that Decant recognises", first)
            }
            None if error.code == "truncated" && !self.is_one_of_images => self.incomplete(error),
            _ => error,
        }
    }

    /// The error for the first parts of a split file, joined or a single one, which end too early: `truncated`.
    fn incomplete(&self, truncated: Error) -> Error {
        let (first, last, count) = self.ends();
        let (names, parts) = match count {
            1 => ("its name", format!("'{}' is the first part", shown(first))),
            _ => ("their names", format!("'{}' to '{}' are the first parts", shown(first), shown(last))),
        };
        let message = format!("The image is truncated; by {names}, {parts} of a split file: open all parts together");
        let mut error = Error::new(ErrorKind::Corrupt, message).coded("parts-needed");
        error.fields = truncated.fields.clone();
        error.field("first", first).field("last", last).field("count", count)
    }
}

/// Returns `error` as [`SplitFile::explain`] changes it, if the image is a part.
pub(crate) fn explained(part: Option<&SplitFile>, error: Error) -> Error {
    match part {
        Some(part) => part.explain(error),
        None => error,
    }
}

/// The error, which begins with `message`, for a later part of the split file that begins with `first`.
pub(super) fn later_part(kind: ErrorKind, message: &str, first: &str) -> Error {
    let message = format!(
        "{message}; by its name, it is a later part of a split file: open the first part, '{}', with the others",
        shown(first)
    );
    Error::new(kind, message).coded("later-part").field("first", first)
}
