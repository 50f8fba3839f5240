//! Tables of changes to an image, for all formats.

use super::Case;
use super::small::{Patch, changed};
use decant::{Error, ErrorKind};
use std::fmt::Write as _;

/// The result of a changed image.
pub enum Reads<'a> {
    /// The bytes of the image that was changed.
    Same,
    /// These bytes.
    Bytes(Vec<u8>),
    /// An error of this kind, whose message contains this text; not empty.
    Fails(ErrorKind, &'a str),
}

/// Description, changes, and result.
pub type Row<'a> = (&'a str, Patch<'a>, Reads<'a>);

/// Converts `base` with the changes of each row, and asserts the results. Returns the errors with their descriptions.
pub fn check_changes<'a>(base: &Case, disk: &[u8], rows: &[Row<'a>]) -> Vec<(&'a str, Error)> {
    check_changed_files(&base.image, &|image| Case { image, ..base.clone() }, disk, rows)
}

/// As `check_changes`, for a file that `case` makes a case of.
pub fn check_changed_files<'a>(
    file: &[u8],
    case: &dyn Fn(Vec<u8>) -> Case,
    disk: &[u8],
    rows: &[Row<'a>],
) -> Vec<(&'a str, Error)> {
    let (mut errors, mut wrong) = (Vec::new(), String::new());
    for (what, patches, reads) in rows {
        let result = case(changed(file.to_vec(), patches)).bytes();
        let right = match (&result, reads) {
            (Ok(bytes), Reads::Same) => bytes == disk,
            (Ok(bytes), Reads::Bytes(expected)) => bytes == expected && bytes != disk,
            (Err(error), Reads::Fails(kind, part)) => {
                error.kind == *kind && !part.is_empty() && error.message().contains(part)
            }
            _ => false,
        };
        if !right {
            writeln!(wrong, "{what}: {:?}", result.as_ref().map(Vec::len)).unwrap();
        }
        errors.extend(result.err().map(|error| (*what, error)));
    }
    assert!(wrong.is_empty(), "\n{wrong}");
    errors
}
