//! The other files that an image names.

use crate::disk::file_name;
use crate::error::Result;
use serde::Serialize;
use std::fmt;

/// A file that an image names. It is never opened by that name.
#[derive(Clone, Debug, Serialize)]
pub struct Reference {
    /// What the image needs it for.
    pub role: Role,
    /// As the image has it: a path, often of another machine; what identifies the file where it has no name.
    pub name: String,
    /// The last part of the path that the name means: what the file is called without folders.
    #[serde(rename = "fileName")]
    pub file_name: String,
    /// The paths that the name may mean, the likeliest first.
    #[serde(skip)]
    pub candidates: Vec<String>,
    /// The format that the image states for it.
    pub format: Option<String>,
    /// What a parent must be, where the image records that. A parent without a name is found by it.
    pub identity: Option<Identity>,
}

impl Reference {
    /// A reference to a file by its path.
    pub fn new(role: Role, name: String, format: Option<String>) -> Self {
        Self::meaning(role, name.clone(), vec![name], format)
    }

    /// A reference to a file as QEMU names it. Fails with `unsupported` where it describes other bytes than a file has.
    pub fn by_qemu(role: Role, name: String, format: Option<String>) -> Result<Self> {
        let meaning = file_name::meaning(&name)?;
        // What the image states beside the name takes precedence.
        Ok(Self::meaning(role, name, meaning.candidates, format.or(meaning.format)))
    }

    fn meaning(role: Role, name: String, candidates: Vec<String>, format: Option<String>) -> Self {
        let file_name = candidates.last().map_or("", |path| base_name(path)).to_owned();
        Self { role, name, file_name, candidates, format, identity: None }
    }
}

/// What an image needs another file for. The public API has the same word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Role {
    /// The layer below: it is read where the image records nothing.
    #[serde(rename = "backing file")]
    BackingFile,
    /// The same, in formats that call it so.
    #[serde(rename = "parent")]
    Parent,
    /// It holds the image's data.
    #[serde(rename = "data file")]
    DataFile,
    /// It holds a stretch of the image's disk.
    #[serde(rename = "extent")]
    Extent,
}

impl Role {
    /// Whether the file is a layer of its own.
    pub fn is_layer(self) -> bool {
        matches!(self, Self::BackingFile | Self::Parent)
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::BackingFile => "backing file",
            Self::Parent => "parent",
            Self::DataFile => "data file",
            Self::Extent => "extent",
        })
    }
}

/// What tells one disk from another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Identity {
    /// Which disk it is, as text.
    pub id: String,
    /// Which state of its content, as text, where the format records that separately.
    pub state: Option<String>,
}

impl Identity {
    /// Whether one of `found` is the wanted disk in the wanted state. States are compared only where both are recorded.
    pub fn is_met_by(&self, found: &[Self]) -> bool {
        found.iter().any(|found| {
            let states = self.state.as_ref().zip(found.state.as_ref());
            self.id == found.id && states.is_none_or(|(wanted, found)| wanted == found)
        })
    }

    /// Whether one of `found` is the wanted disk, whatever its state.
    pub fn is_of_disk(&self, found: &[Self]) -> bool {
        found.iter().any(|found| self.id == found.id)
    }
}

/// The part of a path behind its last separator, whether `/` or `\`.
pub(crate) fn base_name(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

/// The parts of `path`, which is relative to the folder of the file `of`, without `.` and `..` as far as the names alone
/// tell.
pub(crate) fn resolved<'p>(path: &'p str, of: &'p str) -> Vec<&'p str> {
    const SEPARATORS: [char; 2] = ['/', '\\'];
    let mut parts: Vec<&str> = Vec::new();
    if !path.starts_with(SEPARATORS) {
        parts.extend(of.split(SEPARATORS));
        // The last part is the name of the file itself.
        parts.pop();
    }
    parts.extend(path.split(SEPARATORS));
    let mut plain: Vec<&str> = Vec::new();
    for part in parts {
        match part {
            "." => {}
            ".." if plain.last().is_some_and(|&last| last != ".." && !last.is_empty()) => {
                plain.pop();
            }
            _ => plain.push(part),
        }
    }
    plain
}
