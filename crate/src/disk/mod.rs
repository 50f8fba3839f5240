//! What a format says of a disk: its extents, what is damaged, what its headers tell, and the other files that it names.

pub mod damage;
pub mod details;
mod encryption_info;
pub mod extent;
pub(crate) mod file_name;
pub mod info;
mod json;
pub mod reference;

pub use encryption_info::EncryptionInfo;
