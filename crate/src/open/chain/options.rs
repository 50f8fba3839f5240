//! The choices of a caller who opens an image.

use crate::io::source::Source;
use std::rc::Rc;

/// How to open an image.
#[derive(Clone, Default)]
pub struct OpenOptions {
    /// The name of the format. `None`: it is recognised by content.
    pub format: Option<String>,
    /// The name of the file. Messages use it, and hints for files that are not recognised.
    pub name: Option<String>,
    /// The files that the image may refer to.
    pub companions: Vec<Companion>,
    /// The ID or the name of the internal snapshot to read instead of the active disk. An ID takes precedence.
    pub snapshot: Option<String>,
    /// Whether damaged ranges become zeros and are listed. Otherwise damage is an error.
    pub salvage: bool,
    /// Whether the files of an archive are compared with its manifest when the image is converted. `None`: where the archive
    /// is a file of this system, and no damage is tolerated.
    pub check_manifest: Option<bool>,
}

/// A file that the caller handed over beside the image.
#[derive(Clone)]
pub struct Companion {
    /// Its bytes.
    pub source: Rc<dyn Source>,
    /// Its name or path; may be empty.
    pub name: String,
    /// The name by which an image refers to it, if the caller states that.
    pub stands_for: Option<String>,
    /// Whether it is the same file as the image.
    pub is_image: bool,
}
