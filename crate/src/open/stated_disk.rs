//! The statements of a machine's configuration about a disk, apart from its file.

use crate::offsets::Capacity;
use serde::Serialize;

/// The statements of a machine's configuration about one of its disks.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StatedDisk {
    /// The names of the files of the layers below it, from the nearest one on: a disk that names no parent is read over them.
    pub parents: Vec<String>,
    /// Whether it is a raw disk.
    pub is_raw: bool,
    /// Its capacity.
    pub capacity: Option<Capacity>,
}
