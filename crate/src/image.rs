//! An image: recognised, opened, described, listed.

use crate::chain::{Chain, Companion, Role};
use crate::error::{Error, ErrorKind, Result};
use crate::extent::Extents;
use crate::extras::Keys;
use crate::format::Reference;
use crate::safety::{self, Notice};
use crate::source::{FileId, Files, Source};
use serde::Serialize;
use std::cell::RefCell;
use std::rc::Rc;

/// What the headers of an image say. Sizes are in bytes. A field that a format does not have is
/// `None` or empty.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Info {
    /// The format's name, as `qemu-img -f` has it.
    pub format: &'static str,
    /// The size of the disk that the guest sees.
    pub virtual_size: u64,
    /// The size of the image's file.
    pub file_size: u64,
    /// The unit of allocation.
    pub cluster_size: Option<u64>,
    /// The version of the format.
    pub version: Option<u32>,
    /// How compressed clusters are compressed, if there are any: "zlib" or "zstd".
    pub compression: Option<&'static str>,
    /// The width of a reference count, in bits.
    pub refcount_bits: Option<u32>,
    /// Whether clusters are divided into subclusters.
    pub extended_l2: Option<bool>,
    /// The feature bits that are set, by name.
    pub features: Vec<String>,
    /// The internal snapshots, in the order of the image's table.
    pub snapshots: Vec<Snapshot>,
    /// The backing file that the image names.
    pub backing_file: Option<Reference>,
    /// The data file that the image names.
    pub data_file: Option<DataFileInfo>,
    /// How the image is encrypted, if it is.
    pub encryption: Option<EncryptionInfo>,
    /// The image and its backing files, as far as they were handed over.
    pub layers: Vec<LayerInfo>,
    /// What reading needs besides what was handed over.
    pub needs: Vec<Need>,
    /// The names of companions that nothing refers to.
    pub unused_companions: Vec<String>,
    /// What deserves a look before the image is converted.
    pub safety: Vec<Notice>,
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

/// The data file of an image.
#[derive(Clone, Debug, Serialize)]
pub struct DataFileInfo {
    /// Its name, as the image has it.
    pub name: String,
    /// Whether it is a raw disk by itself.
    pub raw: bool,
}

/// How an image is encrypted.
#[derive(Clone, Debug, Serialize)]
pub struct EncryptionInfo {
    /// "luks" or "aes".
    pub format: &'static str,
    /// What the LUKS header says.
    pub luks: Option<LuksInfo>,
}

/// What a LUKS header says. Places are in bytes behind its start.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LuksInfo {
    /// "aes-256".
    pub cipher: String,
    /// "xts".
    pub mode: String,
    /// "plain64".
    pub iv: String,
    /// "sha256", with essiv.
    pub iv_hash: Option<String>,
    /// "sha256".
    pub hash: String,
    /// As text.
    pub uuid: String,
    /// Where the payload of a file that is all LUKS would begin.
    pub payload_offset: u64,
    /// The iterations of the master key's digest.
    pub master_key_iterations: u32,
    /// All eight.
    pub slots: Vec<SlotInfo>,
}

/// A LUKS key slot.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SlotInfo {
    /// Whether it holds a key.
    pub active: bool,
    /// Of the derivation of its key.
    pub iterations: u32,
    /// Where its key material lies.
    pub key_offset: u64,
    /// Into how many parts the master key is split.
    pub stripes: u32,
}

/// What reading an image needs besides what was handed over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Need {
    /// Another file.
    MissingFile {
        /// What for.
        role: Role,
        /// Its name, as the image has it.
        name: String,
        /// The image that names it.
        of: String,
    },
    /// The password of an encrypted image.
    Password {
        /// Which image.
        of: String,
    },
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

/// How to open an image.
#[derive(Clone, Default)]
pub struct OpenOptions {
    /// The format, if the caller states it; otherwise the content decides.
    pub format: Option<String>,
    /// The name of the file. It decides nothing, but where content is not recognised a name that
    /// ends in `.raw` or `.img` makes the message offer to read it as raw.
    pub name: Option<String>,
    /// The files that the image may refer to.
    pub companions: Vec<Companion>,
    /// ID or name of the internal snapshot to read instead of the active disk; an ID wins.
    pub snapshot: Option<String>,
    /// Whether what is damaged becomes zeros, which are listed, instead of an error.
    pub salvage: bool,
}

/// An opened image, with its backing files.
pub struct Image {
    files: Files,
    chain: Chain,
    salvage: bool,
    keys: RefCell<Keys>,
}

impl Image {
    /// Opens `source`. Fails with `not-recognised`, `unsupported`, `corrupt`, `limit`, `source`, or
    /// `usage` where the stated format or the snapshot is unknown or companions are ambiguous. What
    /// is missing is told by `info`, and is an error only when extents are listed.
    pub async fn open(source: Rc<dyn Source>, options: &OpenOptions) -> Result<Self> {
        if options.companions.len() >= usize::from(u16::MAX) {
            return Err(Error::new(ErrorKind::Usage, "There are too many companions"));
        }
        let companions = options.companions.iter().map(|companion| companion.source.clone());
        let files: Files = std::iter::once(source).chain(companions).collect();
        let chain = Chain::open(&files, options).await?;
        Ok(Self { files, chain, salvage: options.salvage, keys: RefCell::default() })
    }

    /// What the headers say. `safety` has what the headers alone tell; see [`Image::survey`].
    pub fn info(&self) -> Info {
        let mut info = self.chain.layers[0].disk.info();
        info.virtual_size = self.virtual_size();
        info.file_size = self.files[0].size();
        info.layers = self.chain.info();
        info.needs = self.needs();
        info.unused_companions = self.chain.unused.clone();
        info.safety = safety::notices(&info);
        info
    }

    /// Whether reading needs what only a build with `extras` has: zstd or encryption.
    pub fn needs_extras(&self) -> bool {
        self.chain.layers.iter().any(|layer| layer.disk.needs_extras())
    }

    /// What a look at the tables of the image tells about its safety: a bounded look, whatever their
    /// size.
    pub async fn survey(&self) -> Vec<Notice> {
        safety::survey(self.chain.walk_layer(0), self.virtual_size(), self.files[0].size()).await
    }

    /// The size of the disk that the guest sees, in bytes.
    pub fn virtual_size(&self) -> u64 {
        self.chain.virtual_size()
    }

    /// The bytes that the largest indivisible part of a job can have: one compressed cluster.
    pub fn largest_job(&self) -> u64 {
        self.chain.layers.iter().map(|layer| layer.disk.largest_piece()).max().unwrap_or(0)
    }

    /// The names of the backing files, for messages.
    pub fn backing_names(&self) -> Vec<(FileId, String)> {
        self.chain.layers[1..].iter().map(|layer| (layer.file, layer.name.clone())).collect()
    }

    /// Whether damage becomes zeros.
    pub fn is_salvaged(&self) -> bool {
        self.salvage
    }

    /// Begins a pass over the extents. Fails with `missing-file` or `password` where something is
    /// missing.
    pub fn extents(&self) -> Result<Extents> {
        match self.needs().into_iter().next() {
            None => Ok(self.chain.extents()),
            Some(Need::MissingFile { role, name, of }) => Err(Error::new(
                ErrorKind::MissingFile,
                format!("'{name}', the {role} of '{of}', is missing; hand it over together with the image"),
            )),
            Some(Need::Password { of }) => {
                Err(Error::new(ErrorKind::Password, format!("'{of}' is encrypted; give its password")))
            }
        }
    }

    /// The image and its companions, as jobs number them.
    pub fn files(&self) -> &Files {
        &self.files
    }

    /// The keys of the encrypted layers.
    pub fn keys(&self) -> Keys {
        self.keys.borrow().clone()
    }

    /// Takes keys that another instance has found.
    pub fn set_keys(&self, keys: Keys) {
        self.keys.replace(keys);
    }

    fn needs(&self) -> Vec<Need> {
        let mut needs = self.chain.missing.clone();
        let known = self.keys.borrow().len();
        let locked = self.chain.layers.iter().filter(|layer| layer.cipher.is_some()).skip(known);
        needs.extend(locked.map(|layer| Need::Password { of: layer.name.clone() }));
        needs
    }
}

#[cfg(feature = "extras")]
impl Image {
    /// Finds the keys of all encrypted layers, which share one password. `rest` is called now and
    /// then. The legacy method has no check: unless `assume`, the disk must hold something that a disk
    /// would. Fails with `password`, `limit`, `unsupported` or what `rest` fails with.
    pub async fn unlock(&self, password: &[u8], assume: bool, rest: &crate::extras::Rest) -> Result<()> {
        use crate::extras::{Ciphers, check_legacy, unlock};
        use crate::format::qcow2::Encryption;
        let mut keys = Keys::default();
        for (depth, layer) in self.chain.layers.iter().enumerate() {
            let Some(encryption) = layer.disk.encryption() else { continue };
            let source = &*self.files[usize::from(layer.file.0)];
            let unlocked = unlock(encryption, source, password, rest).await;
            keys.0.push(unlocked.map_err(|error| if depth > 0 { error.within(&layer.name) } else { error })?);
            if matches!(encryption, Encryption::Aes) && !assume {
                let extents = Extents::new(self.chain.walk_layer(depth), layer.disk.virtual_size());
                check_legacy(extents, &self.files, &Ciphers::new(&keys)?).await?;
            }
        }
        self.set_keys(keys);
        Ok(())
    }
}
