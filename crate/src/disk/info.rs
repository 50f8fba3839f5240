//! What is known of an image from its headers.

use super::encryption_info::EncryptionInfo;
use crate::disk::details::Details;
use crate::disk::reference::{Identity, Reference, Role};
use crate::error::fields::{Field, Fields};
use crate::error::shown::shown;
use serde::Serialize;

/// What is known of an image from its headers. Sizes are in bytes. A field that the format does not have is `None` or
/// empty.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Info {
    /// The format's name, as `qemu-img -f` has it.
    pub format: &'static str,
    /// What the image was found in, the outermost container first.
    pub containers: Vec<ContainerInfo>,
    /// The size of the disk that the guest sees; `None` if only its end tells.
    pub virtual_size: Option<u64>,
    /// The size of the image's file, or of the member of a container that is the image; `None` for a stream.
    pub file_size: Option<u64>,
    /// The size of a cluster, grain or block.
    pub cluster_size: Option<u64>,
    /// The version of the format.
    pub version: Option<u32>,
    /// The compression of compressed clusters: "zlib" or "zstd".
    pub compression: Option<&'static str>,
    /// The feature bits that are set, by name.
    pub features: Vec<String>,
    /// The internal snapshots, in the order of the image's table.
    pub snapshots: Vec<Snapshot>,
    /// The other files that the image names.
    pub references: Vec<Reference>,
    /// What children may record of this image as their parent.
    pub identities: Vec<Identity>,
    /// How the image is encrypted, if it is.
    pub encryption: Option<EncryptionInfo>,
    /// What only this format has, under the keys of `qemu-img info`.
    pub specific: Details,
    /// The image and the layers below it, as far as they were handed over.
    pub layers: Vec<LayerInfo>,
    /// What is missing for reading.
    pub needs: Vec<Need>,
    /// The names of companions that nothing refers to.
    pub unused_companions: Vec<String>,
    /// What a person should look at before converting the image.
    pub safety: Vec<Notice>,
}

/// What Google Compute Engine calls the disk.
const RAW_DISK: &str = "disk.raw";

/// Whether a member called `name` is a raw disk, whatever its content looks like: the guest may write any there.
pub fn is_raw_disk(name: &str) -> bool {
    name.rsplit('/').next() == Some(RAW_DISK)
}

/// A container that an image was found in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ContainerInfo {
    /// Which one.
    pub name: &'static str,
    /// The name of the member that is the image, where members have names.
    pub member: Option<String>,
}

impl ContainerInfo {
    /// Whether the name of the member says that it is a raw disk.
    pub fn has_raw_disk(&self) -> bool {
        self.member.as_deref().is_some_and(is_raw_disk)
    }

    /// What it holds, for messages.
    pub fn content(&self) -> String {
        match &self.member {
            Some(member) => format!("'{}'", shown(member)),
            None => format!("what the {} file holds", self.name),
        }
    }
}

/// One image of a chain.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LayerInfo {
    /// The name of its file.
    pub name: String,
    /// Its format.
    pub format: &'static str,
    /// Whether the format was guessed.
    pub guessed: bool,
    /// The size of its disk.
    pub virtual_size: u64,
    /// How it is encrypted: "luks" or "aes", if it is.
    pub encryption: Option<&'static str>,
}

/// Something that is missing for reading an image.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Need {
    /// Another file.
    MissingFile {
        /// What it is needed for.
        role: Role,
        /// The name that the image has for it.
        name: String,
        /// See [`Reference::file_name`].
        #[serde(rename = "fileName")]
        file_name: String,
        /// The name of the image that refers to it.
        of: String,
    },
    /// The password of an encrypted image.
    Password {
        /// The name of that image.
        of: String,
    },
}

/// Something that a person should look at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Notice {
    /// The code for programs.
    pub code: &'static str,
    /// What the sentence is about, for programs.
    pub fields: Fields,
    /// The sentence for people, without a full stop at its end.
    pub message: String,
}

impl Notice {
    /// A notice without fields.
    pub fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self { code, fields: Fields::default(), message: message.into() }
    }

    /// The same notice; its field `name` is `value`.
    #[must_use]
    pub fn field(mut self, name: &'static str, value: impl Into<Field>) -> Self {
        self.fields.set(name, value.into());
        self
    }
}

/// An internal snapshot as the image's table lists it.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Snapshot {
    /// Its unique ID.
    pub id: String,
    /// Its name.
    pub name: String,
    /// When it was taken, in seconds since 1970.
    pub date_seconds: u32,
    /// The part of a second of that time, in nanoseconds.
    pub date_nanoseconds: u32,
    /// How long the guest had run, in nanoseconds. A float, since JavaScript shows it.
    pub vm_clock_nanoseconds: f64,
    /// The size of the saved machine state, in bytes. A float, since JavaScript shows it.
    pub vm_state_size: f64,
    /// The guest's instruction count at that time, where recorded. A float, since JavaScript shows it.
    pub icount: Option<f64>,
    /// The size of the disk at that time, in bytes, where recorded. A float, since JavaScript shows it.
    pub virtual_size: Option<f64>,
}
