//! A format-independent description of a disk: extents, damage, metadata, and references to other files.

pub mod extent;
pub mod file_check;
pub(crate) mod file_name;
pub(crate) mod guest_os;
pub mod hardware;
pub mod host_ranges;
pub mod info;
pub mod losses;
pub(crate) mod name_index;
pub(crate) mod reference;
pub mod sector_sizes;
pub(crate) mod unit_counts;

pub(crate) use info::EncryptionInfo;
