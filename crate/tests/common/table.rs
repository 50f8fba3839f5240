//! Tables of changes to an image, for formats of any kind.

use super::Case;
use super::small::{Patch, changed};
use decant::ErrorKind;
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

/// Converts `base` with each of the changes, of which every one must come out as its row says.
pub fn check_changes(base: &Case, disk: &[u8], rows: &[Row]) {
    let mut wrong = String::new();
    for (what, patches, reads) in rows {
        let result = Case { image: changed(base.image.clone(), patches), ..base.clone() }.bytes();
        let right = match (&result, reads) {
            (Ok(bytes), Reads::Same) => bytes == disk,
            (Ok(bytes), Reads::Bytes(expected)) => bytes == expected && bytes != disk,
            (Err(error), Reads::Fails(kind, part)) => {
                error.kind == *kind && !part.is_empty() && error.message.contains(part)
            }
            _ => false,
        };
        if !right {
            writeln!(wrong, "{what}: {:?}", result.map(|disk| disk.len())).unwrap();
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}
