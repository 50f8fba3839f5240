//! An opened image: its description and its extents.

use crate::container::StatedCrc;
use crate::container::block_source::BlockSource;
use crate::container::{CONTAINERS, NOT_IN_ORDER};
use crate::crypt::{Encryption, Keys};
use crate::disk::EncryptionInfo;
use crate::disk::extent::Extents;
use crate::disk::file_check::{CheckProgress, FileCheck};
use crate::disk::info::{Info, MemberInfo, Need, Notice};
use crate::disk::reference::{Role, base_name};
use crate::disk::sector_sizes::SectorSizes;
use crate::error::place::Place;
use crate::error::shown::shown;
use crate::error::{Error, ErrorKind, Result};
use crate::io::read_budget::ReadBudget;
use crate::io::source::{FileId, Files, Source};
use crate::offsets::GuestRange;
use crate::open::chain::{Chain, Layer, OpenOptions, Top, place_of};
use crate::open::descent::Checksum;
use crate::open::manifest::{Manifest, is_manifest};
use crate::open::safety;
use crate::open::split::split_file::{SplitFile, explained};
use crate::open::streamed_image::fields_of;
use decant_text::folded;
use std::cell::RefCell;
use std::rc::Rc;

/// An opened image with its companions.
pub struct Image {
    files: Files,
    /// Number of files that the caller handed over; the others come from the image's container.
    given: usize,
    manifest: Option<Rc<Manifest>>,
    chain: Chain,
    /// The input that it was opened from, for [`Image::reopen`].
    opened: OpenedBy,
    salvage: bool,
    keys: RefCell<Keys>,
    /// The pass of the last partial read. A read that continues from there reuses it: in formats without a directory
    /// each pass has to scan everything before the range.
    last_read: RefCell<Option<Extents>>,
}

/// The input for opening an image, once or again.
#[derive(Clone)]
struct OpenedBy {
    source: Rc<dyn Source>,
    top: Top,
    options: OpenOptions,
}

impl Image {
    /// Opens `source`. Files and passwords may be missing: `info` lists them, and [`Image::extents`] fails then.
    ///
    /// Fails with `not-recognised`, `unsupported`, `corrupt`, `limit` or `source`, and with `usage` if the stated
    /// format or snapshot does not exist, or a reference matches several companions.
    pub async fn open(source: Rc<dyn Source>, options: &OpenOptions) -> Result<Self> {
        let top = Top::of_file(&source, options, Rc::default()).await?;
        Self::open_top(source, top, None, options).await
    }

    /// Opens `source`, described by `top`, from an archive with `manifest`, or else beside one. Fails as [`Image::open`] does.
    pub(crate) async fn open_top(
        source: Rc<dyn Source>,
        top: Top,
        manifest: Option<Manifest>,
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
        let (format, containers) = (top.format.name, opened.top.containers.iter());
        let chain = Chain::open(&mut files, top, options).await.map_err(|error| match &*error.code {
            NOT_IN_ORDER if opened.top.containers.is_empty() => error,
            NOT_IN_ORDER => {
                error.field("format", format).field("containers", Vec::from_iter(containers.map(fields_of)))
            }
            _ => error,
        })?;
        let files_used = || chain.layers.iter().flat_map(Layer::files).map(|(id, _)| usize::from(id.0));
        let manifest = match manifest {
            Some(manifest) => {
                let beside = files_used().filter_map(|id| id.checked_sub(given));
                Some(manifest.with(beside.map(|at| opened.top.beside[at].name.clone())))
            }
            None if opened.top.containers.len() == usize::from(opened.top.blocks.is_some()) => {
                Manifest::beside(&opened.source, options, &|at| files_used().any(|id| id == at + 1))
            }
            None => None,
        };
        Ok(Self {
            files: files.into(),
            given,
            manifest: manifest.map(Rc::new),
            chain,
            opened,
            salvage: options.salvage,
            keys: RefCell::default(),
            last_read: RefCell::default(),
        })
    }

    /// Opens the image again, without a manifest. Reads come out of `budget`, and tables may take about `tables` bytes of memory.
    pub(crate) async fn reopen(&self, budget: &ReadBudget, tables: u64) -> Result<Self> {
        let OpenedBy { source, mut top, mut options } = self.opened.clone();
        for companion in &mut options.companions {
            companion.source = budget.source(companion.source.clone());
        }
        for member in &mut top.beside {
            member.source = budget.source(member.source.clone());
        }
        top.tables = Rc::default();
        let mut image = Self::open_top(budget.source(source), top, None, &options).await?;
        (image.chain.table_memory, image.manifest) = (tables, None);
        image.chain.split.clone_from(&self.chain.split);
        Ok(image)
    }

    /// States the image as a part of a split file.
    pub(super) fn set_split(&mut self, split: Rc<SplitFile>) {
        self.chain.split = Some(split);
    }

    /// Returns `error` as it is reported: it may be about other parts of a split file.
    pub(crate) fn explain(&self, error: Error) -> Error {
        explained(self.chain.split.as_deref(), error)
    }

    /// Begins a pass over the extents of the available layers, locked or not.
    pub(crate) fn known_extents(&self) -> Extents {
        self.chain.extents()
    }

    /// Describes the image from its headers. `safety` lacks the notices that need the tables; see [`Image::survey`].
    pub fn info(&self) -> Info {
        let Layer { format, disk: top, .. } = &self.chain.layers[0];
        let mut info = top.info();
        info.format = format.name;
        info.virtual_size = Some(self.virtual_size());
        info.file_size = Some(self.opened.source.size());
        info.containers = self.chain.containers.clone();
        info.machine = self.opened.top.list.machine.clone();
        info.hardware = self.opened.top.list.hardware.clone();
        if !self.opened.top.list.snapshots.is_empty() {
            info.snapshots.clone_from(&self.opened.top.list.snapshots);
        }
        info.references = top.references().iter().cloned().chain(self.chain.stated.clone()).collect();
        info.identities = top.identities();
        info.encryption = top.encryption().map(EncryptionInfo::of);
        info.layers = self.chain.info();
        info.needs = self.needs();
        info.unused_companions = self.chain.unused.clone();
        if self.manifest.is_some() {
            info.unused_companions.retain(|name| !is_manifest(name));
        }
        for (above, layer) in self.chain.layers.iter().zip(&self.chain.layers[1..]) {
            let size = self.files[usize::from(layer.file.0)].size();
            let cut = layer.format.is_raw().then(|| safety::raw_cut(size, above.disk.virtual_size())).flatten();
            let notices = safety::layer_notices(layer.disk.info()).chain(cut);
            info.safety.extend(notices.map(|notice| notice.of_file(&layer.name)));
        }
        info.safety.extend(self.chain.layers.iter().flat_map(|layer| layer.notices.clone()));
        info.safety.extend(safety::notices(&info, self.stored()));
        info.safety.extend(self.opened.top.reason.notice(&info.containers));
        info.safety.extend(self.blocks().and_then(|blocks| safety::trailer(blocks.trailer)));
        info.safety.extend(self.opened.top.list.raw_beside.as_deref().map(safety::raw_beside));
        let capacity = self.opened.top.list.capacity;
        info.safety.extend(capacity.and_then(|capacity| safety::other_capacity(capacity, self.virtual_size())));
        let split = self.chain.split.as_ref().filter(|_| info.containers.is_empty());
        info.safety.extend(split.and_then(|split| split.notice(self.opened.top.format)));
        info.safety.extend(SplitFile::notice_in(&info.containers, self.opened.top.format));
        info
    }

    /// The disks of the image's container that a caller can choose from; empty without one.
    pub fn disks(&self) -> &[MemberInfo] {
        &self.opened.top.list.disks
    }

    /// Reads the tables for safety notices: a bounded part, up to the first damage. Any other failure is returned.
    pub async fn survey(&self) -> Result<Vec<Notice>> {
        safety::survey(self.chain.walk_layer(0), self.virtual_size(), self.stored()).await
    }

    /// Size of the image's own files in total, in bytes, without the layers below.
    pub(crate) fn stored(&self) -> u64 {
        self.chain.layers[0].files().map(|(id, _)| self.files[usize::from(id.0)].size()).sum()
    }

    /// The virtual size of the disk, in bytes.
    pub fn virtual_size(&self) -> u64 {
        self.chain.virtual_size()
    }

    /// The sizes of the disk's sectors, if the image states them.
    pub fn sectors(&self) -> Option<SectorSizes> {
        self.chain.layers[0].disk.sectors()
    }

    /// Upper bound, in bytes, on one indivisible encoded unit of any layer; 0 if there is none.
    pub(crate) fn largest_unit(&self) -> u64 {
        self.chain.layers.iter().map(|layer| layer.disk.largest_unit()).max().unwrap_or(0)
    }

    /// The companions in use, for errors. The image itself is listed only if it was found in a container.
    pub(crate) fn places(&self) -> Vec<(FileId, Place)> {
        let files = self.chain.layers.iter().flat_map(Layer::files);
        let companions = files.filter(|(file, _)| *file != FileId::IMAGE).map(|(file, name)| (file, Place::file(name)));
        let container = self.chain.containers.last().map(|container| (FileId::IMAGE, container.place()));
        container.into_iter().chain(companions).collect()
    }

    /// The content of the compressed file around the image, if it is read in place.
    pub(crate) fn blocks(&self) -> Option<&Rc<BlockSource>> {
        self.opened.top.blocks.as_ref()
    }

    /// The checksum that a container states for the image's file, or for one around it.
    pub(crate) fn checksum(&self) -> Option<&Checksum> {
        self.opened.top.checksum.as_ref()
    }

    /// The notices about its other files whose containers state checksums: only parts of them are read.
    pub(crate) fn unchecked(&self) -> impl Iterator<Item = Notice> {
        let layers = &self.chain.layers;
        let beside =
            layers.iter().flat_map(Layer::files).filter_map(|(id, _)| usize::from(id.0).checked_sub(self.given));
        let beside = beside.filter_map(|at| self.opened.top.beside[at].stated_crc.as_ref());
        beside.chain(layers.iter().filter_map(|layer| layer.stated_crc.as_ref())).map(StatedCrc::unchecked)
    }

    /// The manifest of the archive around the image, or beside its files, if there is one.
    pub(crate) fn manifest(&self) -> Option<Rc<Manifest>> {
        self.manifest.clone()
    }

    /// Checks the structures of the image's own file, and of the files with parts of it. Repairs nothing. Structures that
    /// cannot be checked are a finding. Fails with `missing-file` if a file with a part is missing, and as reading does.
    pub async fn check_file(&self, progress: CheckProgress) -> Result<FileCheck> {
        self.require(|need| matches!(need, Need::MissingFile { role: Role::Extent, .. }))?;
        match self.chain.check(progress).await {
            Err(error) if matches!(error.kind, ErrorKind::Corrupt | ErrorKind::Limit) => Ok(FileCheck::failed(&error)),
            checked => checked,
        }
    }

    /// Whether damaged ranges are read as zeros.
    pub fn is_salvaged(&self) -> bool {
        self.salvage
    }

    /// Begins a pass over the extents of the disk. Fails with `missing-file` or `password` if a file or a key is
    /// missing.
    pub fn extents(&self) -> Result<Extents> {
        self.require(|_| true)?;
        Ok(self.chain.extents())
    }

    /// Like [`extents`](Self::extents), without the `shared` lowest layers: what the layers above leave out is unallocated.
    pub(crate) fn extents_above(&self, shared: usize) -> Result<Extents> {
        self.require(|_| true)?;
        Ok(self.chain.extents_of(self.chain.layers.len() - shared))
    }

    /// The number of lowest layers that this image has in common with `other`, except for the images themselves. `shared` are the files
    /// that are the same, by their numbers in this image and in the other one.
    pub(crate) fn layers_shared_with(&self, other: &Self, shared: &[(FileId, FileId)]) -> usize {
        let layers = self.chain.layers[1..].iter().rev().zip(other.chain.layers[1..].iter().rev());
        layers.take_while(|(one, other)| one.is_same_as(other, shared)).count()
    }

    /// Like [`extents`](Self::extents), but allows locked layers.
    pub fn layout(&self) -> Result<Extents> {
        self.require(|need| !matches!(need, Need::Password { .. }))?;
        Ok(self.chain.extents())
    }

    /// Fails if anything that `counts` selects is missing.
    fn require(&self, counts: impl Fn(&Need) -> bool) -> Result<()> {
        match self.needs().into_iter().find(counts) {
            None => Ok(()),
            Some(Need::MissingFile { role, name, file_name, of }) => {
                let packed = self.chain.unused.iter().find(|unused| is_packed(&file_name, unused));
                let advice = match packed {
                    Some(packed) => format!("unpack '{}' first, and pass its content", shown(packed)),
                    None => "pass it".to_owned(),
                };
                let message = format!(
                    "'{}', the {role} of '{}', is missing; {advice} together with the image",
                    shown(&name),
                    shown(&of)
                );
                let error = Error::new(ErrorKind::MissingFile, message).field("file", &*name);
                Err(error.field("role", &*role.to_string()).field("neededBy", &*of))
            }
            Some(Need::Password { of }) => {
                let message = format!("'{}' is encrypted; give its password", shown(&of));
                Err(Error::new(ErrorKind::Password, message).coded("password-needed").field("layer", &*of))
            }
        }
    }

    /// Begins a pass over the extents of `range`, which must be within the disk. Continues the kept pass if that is not
    /// past the start of `range`. Fails as [`Image::extents`] does.
    pub(crate) fn extents_within(&self, range: GuestRange) -> Result<Extents> {
        match self.last_read.take().filter(|pass| pass.position() <= range.start) {
            Some(pass) => Ok(pass.continue_with(range)),
            None => Ok(self.extents()?.continue_with(range)),
        }
    }

    /// Keeps `pass`, which must not have failed, for the next read.
    pub(crate) fn keep(&self, pass: Extents) {
        self.last_read.replace(Some(pass));
    }

    /// The image and its companions, indexed by [`FileId`].
    pub fn files(&self) -> &Files {
        &self.files
    }

    /// Maps each file to the caller's file that contains it.
    pub fn given(&self) -> impl Iterator<Item = FileId> {
        (0..self.files.len()).map(|at| FileId(if at < self.given { at as u16 } else { 0 }))
    }

    /// The keys of the layers that were unlocked so far.
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
    /// Unlocks the first encrypted layer that has no key yet, if any. Calls `yield_point` several times a second.
    ///
    /// The legacy encryption method cannot verify a password: unless `assume` is set, the decrypted disk must begin
    /// with a known structure.
    ///
    /// Fails with `password`, `limit`, `unsupported`, `source`, or as `yield_point` does; the layer then stays locked.
    pub async fn unlock_next(
        &self,
        password: &[u8],
        assume: bool,
        yield_point: &crate::crypt::YieldPoint,
    ) -> Result<()> {
        use super::legacy_password::check_legacy;
        use crate::crypt::unlock;
        let mut keys = self.keys();
        let locked = self.chain.layers.iter().enumerate().filter(|(_, layer)| layer.cipher.is_some()).nth(keys.len());
        let Some((number, layer)) = locked else { return Ok(()) };
        let Some(encryption) = layer.disk.encryption() else { return Ok(()) };
        let source = &*self.files[usize::from(layer.file.0)];
        let unlocked = unlock(encryption, source, password, yield_point).await;
        keys.0.push(unlocked.map_err(|error| self.explain(error.within(place_of(number, &layer.name))))?);
        if matches!(encryption, Encryption::Aes) && !assume {
            let extents = Extents::new(self.chain.walk_layer(number), layer.disk.virtual_size());
            check_legacy(extents, &self.files, &keys).await?;
        }
        self.keys.replace(keys);
        Ok(())
    }
}

/// Whether `other` has the name of `file` with the extension of a container.
fn is_packed(file: &str, other: &str) -> bool {
    let mut extensions = CONTAINERS.iter().flat_map(|container| container.extensions);
    extensions.any(|extension| folded(base_name(other)) == folded(&format!("{file}{extension}")))
}
