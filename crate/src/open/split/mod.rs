//! Split files: a file in parts, which are companions of the first one, or pieces of a file in an archive.

mod counting;
pub(super) mod finding;
pub(super) mod pieces;
pub(super) mod split_file;

pub use finding::{FirstPart, PartOfFile, part_among, split_files};
pub use split_file::wrong_size;
