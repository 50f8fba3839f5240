//! What the fuzz targets do with an input; the tests do the same with the corpus that is kept.

pub mod bases;
pub mod changes;
pub mod examine;
pub mod memory;
pub mod reference;
#[path = "../../tests/common/small.rs"]
pub mod small;

use examine::{Files, Seen, examine};

/// Takes `input` for an image. It is its own companion too, so that chains of it are tried.
pub fn file(input: &[u8]) -> Seen {
    let itself = input.to_vec();
    let companions = vec![("base".to_owned(), itself.clone()), ("raw".to_owned(), vec![0x77; 3000])];
    examine(&Files { image: itself, companions, password: Some(bases::PASSWORD.to_vec()) })
}

/// Takes `input` for changes to one of the valid images.
pub fn changed_image(input: &[u8]) -> Seen {
    let Some((&base, changes)) = input.split_first() else { return Seen::default() };
    let mut files = bases::base(base);
    files.image = changes::apply(files.image, changes);
    examine(&files)
}
