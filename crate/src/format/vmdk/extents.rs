//! The extents of a disk, according to the descriptor and their files.

use super::descriptor::{Access, Descriptor, ExtentLine, Store};
use super::headers::read_header;
use super::sparse_header::SparseHeader;
use crate::disk::info::{Details, Value};
use crate::disk::reference::Reference;
use crate::disk::reference::Role;
use crate::error::place::Place;
use crate::error::{Error, Result};
use crate::format::PartFile;
use crate::offsets::GuestOffset;
use std::cell::OnceCell;

pub(super) struct VmdkExtent {
    /// Its guest offset and length, in bytes.
    pub(crate) start: GuestOffset,
    pub(crate) len: u64,
    pub(super) content: ExtentContent,
    /// Its type in the descriptor; empty if the descriptor is embedded.
    type_name: String,
    /// Its file name, if it has a file.
    file: Option<String>,
}

/// The content of an extent. `file` is an index into the references of the disk.
pub(super) enum ExtentContent {
    Zero,
    NoAccess,
    /// Plain bytes of a file, from `offset` (bytes) on.
    Flat {
        file: usize,
        offset: u64,
    },
    /// Grains of a file. The header is set once the file was handed over and its header read.
    Sparse {
        file: usize,
        header: OnceCell<SparseHeader>,
    },
    /// Grains of the image's own file.
    Embedded(SparseHeader),
}

impl VmdkExtent {
    pub(crate) fn end(&self) -> GuestOffset {
        self.start + self.len
    }

    /// Creates the single extent of an image with an embedded descriptor.
    pub(super) fn embedded(sparse: SparseHeader) -> Self {
        let len = sparse.capacity;
        Self {
            start: GuestOffset(0),
            len,
            content: ExtentContent::Embedded(sparse),
            type_name: String::new(),
            file: None,
        }
    }

    /// The header, if the extent is sparse and its header was read.
    pub(super) fn sparse(&self) -> Option<&SparseHeader> {
        match &self.content {
            ExtentContent::Sparse { header, .. } => header.get(),
            ExtentContent::Embedded(sparse) => Some(sparse),
            ExtentContent::Zero | ExtentContent::NoAccess | ExtentContent::Flat { .. } => None,
        }
    }

    /// Returns what `qemu-img info` prints for the extent.
    pub(super) fn details(&self) -> Details {
        let mut details = vec![("virtual-size", Value::Number(self.len))];
        details.extend(self.file.as_ref().map(|file| ("filename", file[..].into())));
        if let Some(sparse) = self.sparse() {
            details.push(("cluster-size", sparse.grain.into()));
            details.extend(sparse.compressed.map(|_| ("compressed", true.into())));
        }
        details.push(("format", self.type_name[..].into()));
        Details(details)
    }

    /// Sets the header of a sparse extent. Unless `salvage`, fails with `corrupt` if its size is smaller than the
    /// descriptor's, or larger by a grain or more.
    fn attach(&self, sparse: SparseHeader, salvage: bool) -> Result<()> {
        let ExtentContent::Sparse { header, .. } = &self.content else { return Ok(()) };
        // Some writers round a size up to a multiple of the grain size.
        let fits = (self.len..self.len + sparse.grain).contains(&sparse.capacity);
        if !fits && !salvage {
            let (has, wanted) = (sparse.capacity, self.len);
            let what = format!("the extent has a capacity of {has} bytes, but the descriptor states {wanted} bytes");
            return Err(Error::corrupt(what, sparse.capacity_place));
        }
        let _ = header.set(sparse);
        Ok(())
    }
}

/// Takes the extents out of `descriptor`. Returns them with references to their files, each file once.
pub(super) fn read(descriptor: &mut Descriptor) -> (Vec<VmdkExtent>, Vec<Reference>) {
    let mut references: Vec<Reference> = Vec::new();
    // By name.
    let mut known: Vec<(String, usize)> = Vec::new();
    let mut place = |name: &String, begins_disk: bool| match known.binary_search_by(|(known, _)| known.cmp(name)) {
        Ok(found) => {
            references[known[found].1].begins_disk |= begins_disk;
            known[found].1
        }
        Err(at) => {
            known.insert(at, (name.clone(), references.len()));
            references.push(Reference { begins_disk, ..Reference::new(Role::Extent, name.clone(), None) });
            references.len() - 1
        }
    };
    let extents = std::mem::take(&mut descriptor.extents).into_iter().map(|line| {
        let ExtentLine { access, len, start, type_name, store } = line;
        let (content, file) = match (access, store) {
            (_, Store::Zero) => (ExtentContent::Zero, None),
            (Access::None, Store::Flat { file, .. } | Store::Sparse { file }) => (ExtentContent::NoAccess, Some(file)),
            (Access::Readable, Store::Flat { file, offset }) => {
                (ExtentContent::Flat { file: place(&file, start.0 == 0 && offset == 0), offset }, Some(file))
            }
            (Access::Readable, Store::Sparse { file }) => {
                (ExtentContent::Sparse { file: place(&file, false), header: OnceCell::new() }, Some(file))
            }
        };
        VmdkExtent { start, len, content, type_name, file }
    });
    let extents = extents.collect();
    (extents, references)
}

/// Reads the headers of the sparse extents whose files were handed over, each file once. Fails as reading a header
/// does, and as [`VmdkExtent::attach`] does.
pub(super) async fn attach(extents: &[VmdkExtent], files: &[Option<PartFile>], salvage: bool) -> Result<()> {
    let mut opened: Vec<Option<SparseHeader>> = vec![None; files.len()];
    for extent in extents {
        let ExtentContent::Sparse { file, .. } = &extent.content else { continue };
        let Some(Some(part)) = files.get(*file) else { continue };
        let within = |error: Error| error.within(Place::file(&part.name));
        let sparse = match &opened[*file] {
            Some(sparse) => sparse.clone(),
            None => {
                let sparse = read_header(&*part.source, salvage).await.map_err(within)?;
                opened[*file] = Some(sparse.clone());
                sparse
            }
        };
        extent.attach(sparse, salvage).map_err(within)?;
    }
    Ok(())
}
