//! One layer of a chain: an open image with the files that it is read from.

use crate::container::StatedCrc;
use crate::disk::info::Notice;
use crate::error::place::Place;
use crate::format::{Disk, Format, PartFile};
use crate::io::source::{FileId, Source};
use std::rc::Rc;

pub(crate) struct Layer {
    pub(crate) file: FileId,
    /// The file's name, for messages.
    pub(crate) name: String,
    pub(crate) format: &'static Format,
    pub(crate) disk: Rc<dyn Disk>,
    /// Its bytes.
    pub(super) source: Rc<dyn Source>,
    /// Whether it is read as raw because its format is neither stated nor recognised.
    pub(super) guessed: bool,
    /// The files with parts of this layer, in the order of its references; `None` for a reference to the layer below
    /// and for a missing file.
    pub(super) parts: Rc<[Option<PartFile>]>,
    /// The number of its cipher, counted from the top layer; `None` if it is not encrypted.
    pub(crate) cipher: Option<u16>,
    /// Its place, if it was found in a container.
    pub(super) place: Option<Place>,
    /// The checksum that a container around a layer below states, which is not compared.
    pub(crate) stated_crc: Option<StatedCrc>,
    /// The notices about how it was accepted as the layer below, and about its files that are read as raw.
    pub(crate) notices: Vec<Notice>,
}

/// A layer after opening, before its references are resolved.
pub(super) struct OpenedLayer {
    pub(super) format: &'static Format,
    pub(super) disk: Rc<dyn Disk>,
    pub(super) guessed: bool,
    pub(super) place: Option<Place>,
    pub(super) stated_crc: Option<StatedCrc>,
    pub(super) notices: Vec<Notice>,
}

impl Layer {
    /// Whether this layer has the same bytes as `other`, since it is read from the same files in the same way. `shared` are the files that
    /// are the same. A password may not be verifiable, so a layer with one never counts as the same.
    pub(crate) fn is_same_as(&self, other: &Self, shared: &[(FileId, FileId)]) -> bool {
        let (files, others): (Vec<_>, Vec<_>) =
            (self.files().map(|(file, _)| file).collect(), other.files().map(|(file, _)| file).collect());
        let are_same = || files.iter().zip(&others).all(|(&file, &other)| shared.contains(&(file, other)));
        let is_open = self.cipher.is_none() && other.cipher.is_none();
        let is_alike = self.format.name == other.format.name && self.place.is_none() && other.place.is_none();
        is_open && is_alike && files.len() == others.len() && are_same()
    }

    /// Its own file and the files with parts of it, each with its name.
    pub(crate) fn files(&self) -> impl Iterator<Item = (FileId, &str)> {
        let parts = self.parts.iter().flatten().map(|part| (part.id, &part.name[..]));
        std::iter::once((self.file, &self.name[..])).chain(parts)
    }

    /// Whether a file with a part of it was not handed over.
    pub(super) fn lacks_part(&self) -> bool {
        let mut parts = self.disk.references().iter().zip(self.parts.iter());
        parts.any(|(reference, part)| part.is_none() && !reference.role.is_layer())
    }
}
