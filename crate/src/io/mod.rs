//! Input and output: sources, streams and targets, and the layers between them and their users.

pub(crate) mod pieces;
pub(crate) mod read_budget;
pub mod source;
pub mod stream;
pub(crate) mod table_cache;
pub mod target;
