//! What the walks of several formats share: how a range is described, and what becomes of damage.

use super::{PartFile, WalkSetup};
use crate::disk::damage::Damage;
use crate::disk::extent::{Encrypted, Extent, ExtentKind};
use crate::error::Result;
use crate::io::source::{FileId, Source};
use crate::offsets::{GuestOffset, GuestRange, HostOffset, SECTOR};
use std::rc::Rc;

/// The number of extents at which a batch ends.
pub(super) const BATCH: usize = 1024;

/// Describes ranges of a layer whose data lies in one file, and is not compressed.
pub(super) struct Listing {
    file: FileId,
    /// The name of the file, for messages; `None` for the layer's own file.
    name: Option<Rc<str>>,
    /// The size of the file, in bytes.
    size: u64,
    layer: u16,
    salvage: bool,
    encrypted: Option<Encrypted>,
}

impl Listing {
    /// Describes data in the own file of the layer of `setup`, which is `source`.
    pub fn new(source: &dyn Source, setup: &WalkSetup) -> Self {
        let WalkSetup { file, layer, salvage, .. } = *setup;
        Self { file, name: None, size: source.size(), layer, salvage, encrypted: None }
    }

    /// Describes data in `part`, a file that holds a part of the layer of `setup`.
    pub fn of_part(part: &PartFile, setup: &WalkSetup) -> Self {
        Self { file: part.id, name: Some(part.name.clone()), ..Self::new(&*part.source, setup) }
    }

    /// The same for data that is encrypted in this way.
    pub fn with_encryption(self, encrypted: Option<Encrypted>) -> Self {
        Self { encrypted, ..self }
    }

    /// The file that has the data.
    pub fn file(&self) -> FileId {
        self.file
    }

    /// The size of that file, in bytes.
    pub fn file_size(&self) -> u64 {
        self.size
    }

    /// Appends `part`, which follows the last extent of `batch`.
    pub fn push(&self, batch: &mut Vec<Extent>, part: GuestRange, kind: ExtentKind) {
        let next = Extent { start: GuestOffset(part.start), len: part.end - part.start, layer: self.layer, kind };
        if !batch.last_mut().is_some_and(|last| last.try_extend(&next)) {
            batch.push(next);
        }
    }

    /// Appends `part`, whose bytes begin at `host`. Bytes behind the end of the file, where QEMU reads zeros, are damaged by
    /// `truncated`: lost in a salvage, and an error otherwise.
    pub fn data(&self, batch: &mut Vec<Extent>, part: GuestRange, host: HostOffset, truncated: Damage) -> Result<()> {
        let len = part.end - part.start;
        let present = self.size.saturating_sub(host.0).min(len);
        let data = ExtentKind::Data { file: self.file, host, encrypted: self.encrypted };
        if present == len {
            self.push(batch, part, data);
            return Ok(());
        }
        let middle = part.start + present / SECTOR * SECTOR;
        if self.salvage && middle > part.start {
            self.push(batch, GuestRange { end: middle, ..part }, data);
        }
        self.lose(batch, GuestRange { start: middle, ..part }, truncated, host)
    }

    /// Appends `part` as lost by `damage` at `place` of the file. Fails with `corrupt` unless the layer is salvaged.
    pub fn lose(&self, batch: &mut Vec<Extent>, part: GuestRange, damage: Damage, place: HostOffset) -> Result<()> {
        if self.salvage {
            self.push(batch, part, ExtentKind::Lost(damage));
            return Ok(());
        }
        let error = damage.error(place, self.size);
        Err(match &self.name {
            Some(name) => error.within(name),
            None => error,
        })
    }
}
