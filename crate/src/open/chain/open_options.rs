//! Options for opening an image.

use crate::container::blocks::InPlace;
use crate::io::source::Source;
use crate::offsets::Capacity;
use crate::open::disk_choice::{Choosing, DiskChoice};
use serde::Serialize;
use std::rc::Rc;

/// How to open an image.
#[derive(Clone, Default)]
pub struct OpenOptions {
    /// The name of the format; `None` recognises it by content.
    pub format: Option<String>,
    /// The name of the file, for messages and for hints about unrecognised files.
    pub name: Option<String>,
    /// The name of the file, if it may be a part of a split file: the others are found by it among the `companions`.
    pub file: Option<String>,
    /// The disk to open, of those in a container.
    pub disk: Option<DiskChoice>,
    /// Whether the file was itself chosen from an archive, so that no disk can be chosen in it.
    pub is_chosen: bool,
    /// The files that the image may refer to.
    pub companions: Vec<Companion>,
    /// The ID or name of the internal snapshot to read instead of the active disk. An ID takes precedence.
    pub snapshot: Option<String>,
    /// Whether damaged ranges are read as zeros and listed. Otherwise damage is an error.
    pub salvage: bool,
    /// Whether a parent is read although it does not have the identity that its child records, or its child should record
    /// one and does not.
    pub force_parent: bool,
    /// Whether a conversion compares the files of an archive with its manifest. `None`: if the archive is a local file
    /// and this is not a salvage.
    pub check_manifest: Option<bool>,
    /// Whether the caller has room to unpack a file that must be read at any position, but comes in order. If not, it is read in place,
    /// if possible.
    pub spool: bool,
    /// The statements of a machine's configuration about the image.
    pub stated: StatedDisk,
    /// Whether the stated format, which must be raw, is that of the content of the file's containers.
    pub unpack: bool,
    /// The number of containers around the disk, if it is known: the content of the last one is the disk, even if it begins like a
    /// container. `None`: all that are recognised.
    pub containers: Option<usize>,
    /// Decodes a compressed file in place, for reading at any position. `None`: the file has to be unpacked first.
    pub in_place: Option<InPlace>,
}

impl OpenOptions {
    /// The choice of the caller among the disks in the file.
    pub(crate) fn choosing(&self) -> Choosing<'_> {
        match &self.disk {
            Some(choice) => Choosing::Stated(choice),
            None if self.is_chosen => Choosing::Impossible,
            None => Choosing::Possible,
        }
    }
}

/// A file that the caller handed over with the image.
#[derive(Clone)]
pub struct Companion {
    /// The file's bytes.
    pub source: Rc<dyn Source>,
    /// The file's name or path; may be empty.
    pub name: String,
    /// The name by which images refer to the file, if the caller states it.
    pub stands_for: Option<String>,
    /// Whether it is the same file as the image, or a part of it.
    pub is_image: bool,
}

impl Companion {
    /// The name by which an image or a configuration may refer to the file.
    pub(crate) fn stated_name(&self) -> &str {
        self.stands_for.as_deref().unwrap_or(&self.name)
    }
}

/// The statements of a machine's configuration about one of its disks.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StatedDisk {
    /// The files of the layers below it, from the nearest one on: a disk that names no parent is read over them.
    pub parents: Vec<StatedParent>,
    /// Whether it is a raw disk.
    pub is_raw: bool,
    /// Its capacity.
    pub capacity: Option<Capacity>,
}

/// The file of a layer below a disk, as a machine's configuration states it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StatedParent {
    /// Its name or path.
    pub name: String,
    /// Whether it is a raw disk. Otherwise its format is known by its content.
    pub is_raw: bool,
}
