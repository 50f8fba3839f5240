//! From the bytes of a file to the bytes of a disk: decompression and the search for zeros.

mod deflate;
mod zeros;

pub use deflate::{InflateError, Inflater};
pub use zeros::data_runs;
