//! Metadata of an image, read from its headers.

use crate::crypt::Encryption;
use crate::disk::hardware::Hardware;
use crate::disk::reference::{Identity, Reference, Role};
use crate::error::fields::{Field, Fields};
use crate::error::place::Place;
use crate::error::shown::shown;
pub use crate::offsets::Capacity;
use crate::offsets::SECTOR;
use decant_crypt::{LuksInfo, Slot};
use serde::{Serialize, Serializer};

/// An image's metadata. Sizes are in bytes. Fields that the format does not have are `None` or empty.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Info {
    /// The format's name, as for `qemu-img -f`.
    pub format: &'static str,
    /// The containers around the image, outermost first.
    pub containers: Vec<ContainerInfo>,
    /// The name of the virtual machine, if its configuration in a container has it.
    pub machine: Option<String>,
    /// The hardware of the virtual machine, if its configuration in a container names the disk.
    pub hardware: Option<Hardware>,
    /// The size of the guest disk; `None` if it is unknown until the end of the stream.
    pub virtual_size: Option<u64>,
    /// The size of the image's file, or of the container member that is the image; `None` for a stream.
    pub file_size: Option<u64>,
    /// The cluster, grain or block size.
    pub cluster_size: Option<u64>,
    /// The format version.
    pub version: Option<u32>,
    /// The compression method of clusters: "zlib" or "zstd".
    pub compression: Option<&'static str>,
    /// The names of the set feature bits.
    pub features: Vec<String>,
    /// The internal snapshots, in table order.
    pub snapshots: Vec<Snapshot>,
    /// The other files that the image refers to.
    pub references: Vec<Reference>,
    /// The identities by which a child may refer to this image as its parent.
    pub(crate) identities: Vec<Identity>,
    /// Its encryption, if any.
    pub encryption: Option<EncryptionInfo>,
    /// Format-specific fields, with the keys of `qemu-img info`.
    pub specific: Details,
    /// The image and the layers below it, as far as their files were handed over.
    pub layers: Vec<LayerInfo>,
    /// The files and passwords that are missing to read the image.
    pub needs: Vec<Need>,
    /// Names of companions that no image refers to.
    pub unused_companions: Vec<String>,
    /// Notices that a user should read before converting the image.
    pub safety: Vec<Notice>,
}

/// A container around an image.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ContainerInfo {
    /// The container's name.
    pub name: &'static str,
    /// The name of the image's member, if members have names.
    pub member: Option<String>,
}

impl ContainerInfo {
    /// The image in this container, for errors.
    pub(crate) fn place(&self) -> Place {
        match &self.member {
            Some(member) => Place::Member(member.clone()),
            None => Place::Content(self.name.to_owned()),
        }
    }

    /// The file in `containers`, outermost first, for errors; `None` without a container.
    pub(crate) fn place_in(containers: &[Self]) -> Option<Place> {
        containers.last().map(Self::place)
    }
}

/// A disk in a container, one of those from which a caller can choose.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MemberInfo {
    /// Its name in the container.
    pub name: String,
    /// Its size in the container, in bytes.
    pub size: u64,
    /// Its format, if recognised.
    pub format: Option<&'static str>,
    /// The virtual size that the configuration of its machine states, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub virtual_size: Option<u64>,
    /// Whether a configuration names it, but its file is missing.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub missing: bool,
}

/// The disks in a container from which a caller can choose.
#[derive(Clone, Debug, Default)]
pub(crate) struct DiskList {
    /// The disks of virtual machines in the order of the machines, then the others. Empty without a container.
    pub(crate) disks: Vec<MemberInfo>,
    /// The name of their virtual machine, if its configuration has it.
    pub(crate) machine: Option<String>,
    /// The configurations of the virtual machines, if the disks belong to several.
    pub(crate) machines: Vec<String>,
    /// The hardware of the virtual machine of the chosen disk.
    pub(crate) hardware: Option<Hardware>,
    /// The snapshots of the virtual machine.
    pub(crate) snapshots: Vec<Snapshot>,
    /// A file with the sign of a raw disk that is not listed, since the only disk is in a recognised format.
    pub(crate) raw_beside: Option<String>,
    /// Whether the disks are those of the snapshot that the caller states.
    pub(crate) is_in_snapshot: bool,
    /// The capacity that the configuration states for the chosen disk.
    pub(crate) capacity: Option<Capacity>,
}

/// An image of a chain.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LayerInfo {
    /// Its file name.
    pub name: String,
    /// Its format.
    pub format: &'static str,
    /// Whether the format was guessed.
    pub guessed: bool,
    /// Its virtual size, in bytes.
    pub virtual_size: u64,
    /// Its encryption, if any: "luks" or "aes".
    pub(crate) encryption: Option<&'static str>,
}

/// A requirement for reading an image that is not met yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Need {
    /// Another file is needed.
    MissingFile {
        /// The role of the file.
        role: Role,
        /// The file's name, as recorded in the image.
        name: String,
        /// See [`Reference::file_name`].
        #[serde(rename = "fileName")]
        file_name: String,
        /// The name of the image that refers to it.
        of: String,
    },
    /// A password is needed.
    Password {
        /// The name of the encrypted image.
        of: String,
    },
}

/// The code of [`Notice::of_sectors`].
pub(crate) const SECTOR_SIZE: &str = "sector-size";

/// A notice that a user should read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Notice {
    /// The code for programs.
    pub code: &'static str,
    /// Details, for programs.
    pub fields: Fields,
    /// The sentence to display, without a full stop.
    pub message: String,
}

impl Notice {
    /// Creates a notice without fields.
    pub(crate) fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self { code, fields: Fields::default(), message: message.into() }
    }

    /// Sets the field `name` to `value`.
    #[must_use]
    pub(crate) fn field(mut self, name: &'static str, value: impl Into<Field>) -> Self {
        self.fields.set(name, value.into());
        self
    }

    /// The notice about a disk with sectors of `size` bytes.
    pub(crate) fn of_sectors(size: u64) -> Self {
        let message =
            format!("The disk has sectors of {size} bytes; programs that assume {SECTOR} do not find its partitions");
        Self::new(SECTOR_SIZE, message).field("size", size)
    }

    /// States that the notice is about the file `name`, which is not the image.
    #[must_use]
    pub(crate) fn of_file(self, name: &str) -> Self {
        let message = format!("'{}': {}", shown(name), self.message);
        Self { message, ..self }.field("file", name)
    }
}

/// An internal snapshot, as recorded in the image's table, or a snapshot of a virtual machine.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Snapshot {
    /// Its unique ID.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Creation time, in seconds since 1970. A float: its fraction has microseconds, as QEMU records them.
    pub(crate) date: f64,
    /// The guest's running time, in seconds.
    pub(crate) vm_clock: f64,
    /// The size of the saved machine state, in bytes. A float, since JavaScript displays it.
    pub(crate) vm_state_size: f64,
    /// The guest's instruction count, if recorded. A float, since JavaScript displays it.
    pub(crate) icount: Option<f64>,
    /// The virtual size at that time, in bytes, if recorded. A float, since JavaScript displays it.
    pub virtual_size: Option<f64>,
}

impl Snapshot {
    /// A snapshot of a virtual machine, whose configuration records no other times and sizes.
    pub(crate) fn of_machine(id: String, name: String, date: u32) -> Self {
        Self { id, name, date: f64::from(date), vm_clock: 0.0, vm_state_size: 0.0, icount: None, virtual_size: None }
    }
}

/// The encryption of an image, for the API.
#[derive(Clone, Debug, Serialize)]
pub struct EncryptionInfo {
    /// "luks" or "aes".
    pub(crate) format: &'static str,
    /// The LUKS header, if the format is "luks".
    pub luks: Option<LuksInfo>,
}

impl EncryptionInfo {
    pub(crate) fn of(encryption: &Encryption) -> Self {
        match encryption {
            Encryption::Aes => Self { format: "aes", luks: None },
            Encryption::Luks { header, .. } => Self { format: "luks", luks: Some(header.description.info.clone()) },
        }
    }

    /// Returns the description, with the keys of `qemu-img info`, which knows version 1 only.
    pub(crate) fn details(&self) -> Details {
        let mut details = Vec::new();
        let Some(luks) = &self.luks else { return Details(vec![("format", self.format.into())]) };
        if luks.version > 1 {
            details.push(("version", luks.version.into()));
        }
        details.push(("ivgen-alg", luks.iv[..].into()));
        details.extend(luks.iv_hash.as_ref().map(|hash| ("ivgen-hash-alg", hash[..].into())));
        details.extend([
            ("hash-alg", luks.hash[..].into()),
            ("cipher-alg", luks.cipher[..].into()),
            ("uuid", luks.uuid[..].into()),
            ("format", self.format.into()),
            ("cipher-mode", luks.mode[..].into()),
            ("slots", Value::List(luks.slots.iter().map(|slot| Value::Map(slot_details(slot))).collect())),
            ("payload-offset", luks.payload_offset.into()),
            ("master-key-iters", luks.master_key_iterations.into()),
        ]);
        Details(details)
    }
}

fn slot_details(slot: &Slot) -> Details {
    let mut details = vec![("active", slot.active.into())];
    if slot.active {
        details.push(("iters", slot.iterations.into()));
    }
    details.push(("key-offset", slot.key_offset.into()));
    if slot.active {
        details.push(("stripes", slot.stripes.into()));
    }
    Details(details)
}

/// Names and values, in display order.
#[derive(Clone, Debug, Default)]
pub struct Details(pub Vec<(&'static str, Value)>);

impl Serialize for Details {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (*name, value)))
    }
}

/// A value. Numbers do not exceed 2^53-1.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum Value {
    /// A flag.
    Bool(bool),
    /// A number.
    Number(u64),
    /// A string from the image, neither escaped nor shortened.
    Text(String),
    /// Several values.
    List(Vec<Value>),
    /// Nested names and values.
    Map(Details),
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<u32> for Value {
    fn from(value: u32) -> Self {
        Self::Number(value.into())
    }
}

impl From<u64> for Value {
    fn from(value: u64) -> Self {
        Self::Number(value)
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Self::Text(value.to_owned())
    }
}
