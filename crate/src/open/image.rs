//! An opened image: its description and its extents.

use crate::crypt::{Encryption, Keys};
use crate::disk::EncryptionInfo;
use crate::disk::extent::Extents;
use crate::disk::info::{Info, Need, Notice};
use crate::error::shown::shown;
use crate::error::{Error, ErrorKind, Result};
use crate::io::read_budget::ReadBudget;
use crate::io::source::{FileId, Files, Source};
use crate::offsets::GuestRange;
use crate::open::chain::{Chain, Layer, OpenOptions, Top};
use crate::open::manifest::Manifest;
use crate::open::safety;
use std::cell::RefCell;
use std::rc::Rc;

/// An opened image with its companions.
pub struct Image {
    files: Files,
    /// How many of them the caller has handed over; the others lie beside the image in its container.
    given: usize,
    manifest: Option<Rc<Manifest>>,
    chain: Chain,
    /// By what it was opened.
    opened: OpenedBy,
    salvage: bool,
    keys: RefCell<Keys>,
    /// The pass of the last read of a part of the disk. One that goes on from there need not begin anew: in an image without
    /// a directory each pass looks at all before the part.
    last_read: RefCell<Option<Extents>>,
}

/// What opens an image, or opens it once more.
#[derive(Clone)]
struct OpenedBy {
    source: Rc<dyn Source>,
    top: Top,
    options: OpenOptions,
}

impl Image {
    /// Opens `source`. Files and passwords may be missing: `info` lists them, and only [`Image::extents`] fails.
    ///
    /// Fails with `not-recognised`, `unsupported`, `corrupt`, `limit` or `source`, and with `usage` if the stated format or
    /// snapshot does not exist, or a reference matches several companions.
    pub async fn open(source: Rc<dyn Source>, options: &OpenOptions) -> Result<Self> {
        let top = Top::of_file(&*source, options).await?;
        Self::open_top(source, top, None, options).await
    }

    /// Opens `source`, of which `top` is known, and which lies beside `manifest`, as [`Image::open`] does.
    pub(crate) async fn open_top(
        source: Rc<dyn Source>,
        top: Top,
        manifest: Option<Rc<Manifest>>,
        options: &OpenOptions,
    ) -> Result<Self> {
        if options.companions.len() + top.beside.len() >= usize::from(u16::MAX) {
            return Err(Error::new(ErrorKind::Usage, "There are too many companions"));
        }
        let opened = OpenedBy { source: source.clone(), top: top.clone(), options: options.clone() };
        let companions = options.companions.iter().map(|companion| companion.source.clone());
        let mut files: Vec<_> = std::iter::once(source).chain(companions).collect();
        let given = files.len();
        files.extend(top.beside.iter().map(|member| member.source.clone()));
        let chain = Chain::open(&mut files, top, options).await?;
        Ok(Self {
            files: files.into(),
            given,
            manifest,
            chain,
            opened,
            salvage: options.salvage,
            keys: RefCell::default(),
            last_read: RefCell::default(),
        })
    }

    /// The image once more, read within `budget`, and with about `tables` bytes of memory for tables.
    pub(crate) async fn reopen(&self, budget: &ReadBudget, tables: u64) -> Result<Self> {
        let OpenedBy { source, mut top, mut options } = self.opened.clone();
        for companion in &mut options.companions {
            companion.source = budget.source(companion.source.clone());
        }
        for member in &mut top.beside {
            member.source = budget.source(member.source.clone());
        }
        let mut image = Self::open_top(budget.source(source), top, self.manifest(), &options).await?;
        image.chain.table_memory = tables;
        Ok(image)
    }

    /// Begins a pass over the extents of the layers that are there, locked or not.
    pub(crate) fn known_extents(&self) -> Extents {
        self.chain.extents()
    }

    /// What is known from the headers. Its `safety` lacks what only the tables show; see [`Image::survey`].
    pub fn info(&self) -> Info {
        let top = &self.chain.layers[0].disk;
        let mut info = top.info();
        info.format = top.format();
        info.virtual_size = Some(self.virtual_size());
        info.file_size = Some(self.files[0].size());
        info.containers = self.chain.containers.clone();
        info.references = top.references().to_vec();
        info.identities = top.identities();
        info.encryption = top.encryption().map(EncryptionInfo::of);
        info.layers = self.chain.info();
        info.needs = self.needs();
        info.unused_companions = self.chain.unused.clone();
        info.safety.extend(safety::notices(&info, self.stored()));
        info
    }

    /// What the tables of the image show about its safety. It reads a bounded part of them, up to the first damage. Fails
    /// as reading does otherwise.
    pub async fn survey(&self) -> Result<Vec<Notice>> {
        safety::survey(self.chain.walk_layer(0), self.virtual_size(), self.stored()).await
    }

    /// The size of the image's own files together, in bytes, without the layers below.
    pub(crate) fn stored(&self) -> u64 {
        self.chain.layers[0].files().map(|(id, _)| self.files[usize::from(id.0)].size()).sum()
    }

    /// The size of the disk that the guest sees, in bytes.
    pub fn virtual_size(&self) -> u64 {
        self.chain.virtual_size()
    }

    /// Upper bound, in bytes, on one indivisible encoded unit of any layer; 0 if there is none.
    pub fn largest_unit(&self) -> u64 {
        self.chain.layers.iter().map(|layer| layer.disk.largest_unit()).max().unwrap_or(0)
    }

    /// The names of all companions in use; of the image itself, as [`Error::inside`] takes it, if it
    /// lies in a container.
    pub fn file_names(&self) -> Vec<(FileId, String)> {
        let files = self.chain.layers.iter().flat_map(Layer::files);
        let companions = files.filter(|(file, _)| *file != FileId::IMAGE).map(|(file, name)| (file, name.to_owned()));
        let container = self.chain.containers.last().map(|container| (FileId::IMAGE, container.content()));
        container.into_iter().chain(companions).collect()
    }

    /// The manifest of the archive that the image lies in, if there is one.
    pub(crate) fn manifest(&self) -> Option<Rc<Manifest>> {
        self.manifest.clone()
    }

    /// Whether damaged ranges become zeros.
    pub fn is_salvaged(&self) -> bool {
        self.salvage
    }

    /// Begins a pass over the extents of the disk. Fails with `missing-file` or `password` if one is missing.
    pub fn extents(&self) -> Result<Extents> {
        self.require(|_| true)?;
        Ok(self.chain.extents())
    }

    /// As [`extents`](Self::extents), of a locked image too.
    pub fn layout(&self) -> Result<Extents> {
        self.require(|need| !matches!(need, Need::Password { .. }))?;
        Ok(self.chain.extents())
    }

    /// Fails if something is missing that `counts`.
    fn require(&self, counts: impl Fn(&Need) -> bool) -> Result<()> {
        match self.needs().into_iter().find(counts) {
            None => Ok(()),
            Some(Need::MissingFile { role, name, of, .. }) => Err(Error::new(
                ErrorKind::MissingFile,
                format!(
                    "'{}', the {role} of '{}', is missing; hand it over together with the image",
                    shown(&name),
                    shown(&of)
                ),
            )
            .field("file", &*name)
            .field("role", &*role.to_string())
            .field("neededBy", &*of)),
            Some(Need::Password { of }) => {
                let message = format!("'{}' is encrypted; give its password", shown(&of));
                Err(Error::new(ErrorKind::Password, message).coded("password-needed").field("layer", &*of))
            }
        }
    }

    /// A pass over the extents of `range`, which lies on the disk: the one that was kept, if it has not come further. Fails
    /// as [`Image::extents`] does.
    pub(crate) fn extents_within(&self, range: GuestRange) -> Result<Extents> {
        match self.last_read.take().filter(|pass| pass.position() <= range.start) {
            Some(pass) => Ok(pass.continue_with(range)),
            None => Ok(self.extents()?.continue_with(range)),
        }
    }

    /// Keeps a pass that has not failed for the next read.
    pub(crate) fn keep(&self, pass: Extents) {
        self.last_read.replace(Some(pass));
    }

    /// The image and its companions, by their [`FileId`].
    pub fn files(&self) -> &Files {
        &self.files
    }

    /// For each of the files: the one of the caller's that it is a part of.
    pub fn given(&self) -> impl Iterator<Item = FileId> {
        (0..self.files.len()).map(|at| FileId(if at < self.given { at as u16 } else { 0 }))
    }

    /// The keys of the encrypted layers; none before they are unlocked.
    pub fn keys(&self) -> Keys {
        self.keys.borrow().clone()
    }

    /// Whether an encrypted layer has no key yet.
    pub fn is_locked(&self) -> bool {
        self.chain.ciphers() > self.keys.borrow().len()
    }

    fn needs(&self) -> Vec<Need> {
        let mut needs = self.chain.missing.clone();
        let known = self.keys.borrow().len();
        let locked = self.chain.layers.iter().filter(|layer| layer.cipher.is_some()).skip(known);
        needs.extend(locked.map(|layer| Need::Password { of: layer.name.clone() }));
        needs
    }
}

impl Image {
    /// Finds the key of the first encrypted layer that is still locked. Does nothing if there is none. `yield_point` is
    /// called every few milliseconds.
    ///
    /// The legacy method of encryption cannot verify a password. Unless `assume` is set, the decrypted disk must begin with
    /// a known structure.
    ///
    /// Fails with `password`, `limit`, `unsupported`, `source`, or as `yield_point` does. The layer stays locked then.
    pub async fn unlock_next(
        &self,
        password: &[u8],
        assume: bool,
        yield_point: &crate::crypt::YieldPoint,
    ) -> Result<()> {
        use super::legacy_password::check_legacy;
        use crate::crypt::{Ciphers, unlock};
        let mut keys = self.keys();
        let locked = self.chain.layers.iter().enumerate().filter(|(_, layer)| layer.cipher.is_some()).nth(keys.len());
        let Some((number, layer)) = locked else { return Ok(()) };
        let Some(encryption) = layer.disk.encryption() else { return Ok(()) };
        let source = &*self.files[usize::from(layer.file.0)];
        let unlocked = unlock(encryption, source, password, yield_point).await;
        keys.0.push(unlocked.map_err(|error| if number > 0 { error.within(&layer.name) } else { error })?);
        if matches!(encryption, Encryption::Aes) && !assume {
            let extents = Extents::new(self.chain.walk_layer(number), layer.disk.virtual_size());
            check_legacy(extents, &self.files, &Ciphers::new(&keys)?).await?;
        }
        self.keys.replace(keys);
        Ok(())
    }
}
