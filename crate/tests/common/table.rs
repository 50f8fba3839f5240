//! Tables of changes to an image, for formats of any kind.

use super::Case;
use super::small::{Patch, changed};
use decant::{Error, ErrorKind};
use std::fmt::Write as _;

/// What comes of a changed image.
pub enum Reads<'a> {
    /// The bytes of the image that was changed.
    Same,
    /// These bytes.
    Bytes(Vec<u8>),
    /// An error of this kind, with this in its message; not empty.
    Fails(ErrorKind, &'a str),
}

/// What is changed, the changes, and what comes of it.
pub type Row<'a> = (&'a str, Patch<'a>, Reads<'a>);

/// Converts `base` with each of the changes, of which every one must come out as its row says. Returns the errors, with
/// what was changed.
pub fn check_changes<'a>(base: &Case, disk: &[u8], rows: &[Row<'a>]) -> Vec<(&'a str, Error)> {
    check_changed_files(&base.image, &|image| Case { image, ..base.clone() }, disk, rows)
}

/// Does the same with a file of which `case` makes a case.
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
