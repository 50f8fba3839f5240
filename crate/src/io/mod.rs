//! Where bytes come from and where they go: files, streams, and what stands between them and their readers.

pub(crate) mod pieces;
pub(crate) mod read_budget;
pub mod source;
pub mod stream;
pub(crate) mod table_cache;
pub mod target;
