//! References from an image to other files.

use crate::disk::file_name;
use crate::error::Result;
use crate::error::shown::shown;
use serde::Serialize;
use std::fmt;

/// A reference to another file. Its name is compared with the files handed over, and never used to open one.
#[derive(Clone, Debug, Serialize)]
pub struct Reference {
    pub(crate) role: Role,
    /// The name as recorded in the image: often a path on another machine; if the file has no name, its identity.
    pub(crate) name: String,
    /// The last component of the path: the file's name without folders.
    #[serde(rename = "fileName")]
    pub file_name: String,
    /// Possible paths of the file, likeliest first.
    #[serde(skip)]
    pub(crate) candidates: Vec<String>,
    /// The format that the image states for the file.
    pub format: Option<String>,
    /// The identity that a parent must have, if the image records it. Parents without a name are found by it.
    pub(crate) identity: Option<Identity>,
    /// How a file for which the image records no identity is treated.
    #[serde(skip)]
    pub(crate) unidentified: Unidentified,
    /// Whether the configuration of a machine makes it, not an image.
    #[serde(skip)]
    pub(crate) is_of_machine: bool,
    /// Whether the disk begins with the first byte of the file: the image reads it as raw.
    #[serde(skip)]
    pub(crate) begins_disk: bool,
}

/// How a file is treated if the image that refers to it records no identity to check.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Unidentified {
    /// The file is read: the format has no identities.
    #[default]
    Accepted,
    /// The file is read, with a notice.
    Noticed,
    /// The file is refused: the format requires an identity.
    Refused,
}

impl Reference {
    /// Creates a reference to a file by path.
    pub(crate) fn new(role: Role, name: String, format: Option<String>) -> Self {
        Self::named(role, name.clone(), vec![name], format)
    }

    /// Creates a reference from a QEMU file name. Fails with `unsupported` if the name describes anything but the bytes
    /// of one file, or cannot be understood.
    pub(crate) fn by_qemu(role: Role, name: String, format: Option<String>) -> Result<Self> {
        let meaning = file_name::meaning(&name)?;
        // A format that the image states separately takes precedence over the name's.
        Ok(Self::named(role, name, meaning.candidates, format.or(meaning.format)))
    }

    /// Creates a reference to a file called `name`, with its possible paths.
    pub(crate) fn named(role: Role, name: String, candidates: Vec<String>, format: Option<String>) -> Self {
        let file_name = candidates.last().map_or("", |path| base_name(path)).to_owned();
        Self {
            role,
            name,
            file_name,
            candidates,
            format,
            identity: None,
            unidentified: Unidentified::Accepted,
            is_of_machine: false,
            begins_disk: false,
        }
    }
}

/// The role of another file. The serialized names are those of the public API.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Role {
    /// The layer below, read where the image has nothing allocated.
    #[serde(rename = "backing file")]
    BackingFile,
    /// A backing file, in formats that call it a parent.
    #[serde(rename = "parent")]
    Parent,
    /// Holds the image's data.
    #[serde(rename = "data file")]
    DataFile,
    /// Holds a range of the image's disk.
    #[serde(rename = "extent")]
    Extent,
}

impl Role {
    /// Whether the file is a separate layer of the chain.
    pub(crate) fn is_layer(self) -> bool {
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

/// The identity of a disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Identity {
    /// The disk's identifier, as text.
    pub(crate) id: String,
    /// The identifier of the state of its content, as text, if the format records one.
    pub(crate) state: Option<String>,
    /// Another identifier that is accepted for a parent.
    #[serde(skip)]
    pub(crate) alternative: Option<String>,
}

impl Identity {
    /// The identity of a disk without a recorded state.
    pub(crate) fn of_disk(id: String) -> Self {
        Self { id, state: None, alternative: None }
    }

    /// Whether one of `found` is this disk in this state. States are compared only if both are recorded.
    pub(crate) fn is_one_of(&self, found: &[Self]) -> bool {
        found.iter().any(|found| {
            let states = self.state.as_ref().zip(found.state.as_ref());
            self.is_named(&found.id) && states.is_none_or(|(wanted, found)| wanted == found)
        })
    }

    /// Whether one of `found` is this disk, in any state.
    pub(crate) fn is_of_disk(&self, found: &[Self]) -> bool {
        found.iter().any(|found| self.is_named(&found.id))
    }

    /// Names the identity for a message.
    pub(crate) fn described(&self) -> String {
        let state = self.state.as_ref().map(|state| format!(" in state {}", shown(state)));
        shown(&self.id) + &state.unwrap_or_default()
    }

    fn is_named(&self, id: &str) -> bool {
        self.id == id || self.alternative.as_deref() == Some(id)
    }
}

/// Returns a UUID as text (RFC 9562, 4), from its bytes in the order of the text; `None` if it is null.
pub(crate) fn uuid_text(bytes: &[u8; 16]) -> Option<String> {
    let digits = hexadecimal(bytes);
    let parts = [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]];
    (*bytes != [0; 16]).then(|| parts.join("-"))
}

/// Returns the digits of `bytes` in base 16, in lower case.
pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns a GUID as text; `None` if it is null. The first three parts of `bytes` are little-endian.
pub(crate) fn guid_text(bytes: &[u8; 16]) -> Option<String> {
    uuid_text(&guid_of(bytes))
}

/// Converts the bytes of a UUID in the order of its text to those of a GUID, whose first three parts are little-endian, and the other
/// way round.
pub(crate) fn guid_of(uuid: &[u8; 16]) -> [u8; 16] {
    [3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15].map(|at| uuid[at])
}

/// Returns the last component of `path`, separated by `/` or `\`.
pub(crate) fn base_name(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

/// Returns `path` up to its last separator; empty if it has none.
pub(crate) fn folder_of(path: &str) -> &str {
    &path[..path.len() - base_name(path).len()]
}

/// Resolves `path`, relative to the folder of the file `of` unless it starts with a separator: `.` and `..` as far as
/// possible from the names alone. Returns the components, joined by `/`.
pub(crate) fn resolved(path: &str, of: &str) -> String {
    const SEPARATORS: [char; 2] = ['/', '\\'];
    let mut parts: Vec<&str> = Vec::new();
    if !path.starts_with(SEPARATORS) {
        parts.extend(of.split(SEPARATORS));
        // Drop the file's own name.
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
    plain.join("/")
}
