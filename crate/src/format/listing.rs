//! Shared by the walks of several formats: appending extents, and handling damage.

use super::{PartFile, WalkSetup};
use crate::disk::extent::{Encrypted, Extent, ExtentKind};
use crate::error::damage::{Damage, farthest};
use crate::error::place::Place;
use crate::error::{Error, Result};
use crate::io::source::{FileId, Source};
use crate::offsets::{GuestOffset, GuestRange, HostOffset, SECTOR};
use std::rc::Rc;

/// Maximum number of extents in a batch.
pub(crate) const BATCH: usize = 1024;

/// Lists the extents of a layer with uncompressed data in a single file.
#[derive(Clone)]
pub(crate) struct Listing {
    file: FileId,
    /// The file's name, for messages; `None` for the layer's own file.
    name: Option<Rc<str>>,
    source: Rc<dyn Source>,
    /// The guest offset of the part of the disk in the file. Ranges are relative to it.
    base: GuestOffset,
    layer: u16,
    salvage: bool,
    /// The last position that the complete file can have.
    farthest: HostOffset,
    encrypted: Option<Encrypted>,
    /// See [`Extent::doubt`].
    doubt: Option<Damage>,
}

impl Listing {
    /// Lists data in the layer's own file, `source`.
    pub(crate) fn new(source: &Rc<dyn Source>, setup: &WalkSetup) -> Self {
        let WalkSetup { file, disk_size, layer, salvage, .. } = *setup;
        Self {
            file,
            name: None,
            source: source.clone(),
            base: GuestOffset(0),
            layer,
            salvage,
            farthest: farthest(disk_size, source.size()),
            encrypted: None,
            doubt: None,
        }
    }

    /// Lists data in `part`, a file with a part of the layer.
    pub(crate) fn of_part(part: &PartFile, setup: &WalkSetup) -> Self {
        Self { file: part.id, name: Some(part.name.clone()), ..Self::new(&part.source, setup) }
    }

    /// Lists the part of the disk that begins at `base`.
    pub(crate) fn with_base(self, base: GuestOffset) -> Self {
        Self { base, ..self }
    }

    pub(crate) fn with_encryption(self, encrypted: Option<Encrypted>) -> Self {
        Self { encrypted, ..self }
    }

    /// Lists everything that can be read as doubtful if there is a `doubt`.
    pub(crate) fn with_doubt(self, doubt: Option<Damage>) -> Self {
        Self { doubt, ..self }
    }

    pub(crate) fn file(&self) -> FileId {
        self.file
    }

    pub(crate) fn source(&self) -> &Rc<dyn Source> {
        &self.source
    }

    /// The file's size, in bytes.
    pub(crate) fn file_size(&self) -> u64 {
        self.source.size()
    }

    pub(crate) fn base(&self) -> GuestOffset {
        self.base
    }

    /// Adds the file's name to `error`.
    pub(crate) fn error(&self, error: Error) -> Error {
        error.within(self.name.as_deref().map(Place::file))
    }

    /// Appends `part`, merging it with the last extent of `batch` if possible. `part` must follow that extent.
    pub(crate) fn push(&self, batch: &mut Vec<Extent>, part: GuestRange, kind: ExtentKind) {
        let doubt = self.doubt.filter(|_| !matches!(kind, ExtentKind::Lost(_)));
        Extent { start: self.base + part.start.0, len: part.len(), layer: self.layer, kind, doubt }.push_to(batch);
    }

    /// Appends `part`, with its data at `host`. Bytes after the end of the file, which QEMU reads as zeros, are damage
    /// of kind `truncated` at offset `place` of the file: lost in a salvage, an error otherwise.
    pub(crate) fn data(
        &self,
        batch: &mut Vec<Extent>,
        part: GuestRange,
        host: HostOffset,
        truncated: Damage,
        place: HostOffset,
    ) -> Result<()> {
        let len = part.len();
        let present = self.file_size().saturating_sub(host.0).min(len);
        let data = ExtentKind::Data { file: self.file, host, encrypted: self.encrypted };
        if present == len {
            self.push(batch, part, data);
            return Ok(());
        }
        let middle = part.start + present / SECTOR * SECTOR;
        if self.salvage && middle > part.start {
            self.push(batch, GuestRange { end: middle, ..part }, data);
        }
        self.lose(batch, GuestRange { start: middle, ..part }, truncated, place)
    }

    /// Appends `part` as lost to `damage` at offset `place` of the file (see [`Damage::at`]). Unless the layer is
    /// salvaged, fails with `corrupt` instead.
    pub(crate) fn lose(
        &self,
        batch: &mut Vec<Extent>,
        part: GuestRange,
        damage: Damage,
        place: HostOffset,
    ) -> Result<()> {
        let damage = damage.at(place, self.farthest);
        if self.salvage {
            self.push(batch, part, ExtentKind::Lost(damage));
            return Ok(());
        }
        Err(self.error(damage.error(place, self.file_size())))
    }
}
