//! Finds a parent that has no name: by what its child records of it, among the companions that nothing refers to.

use super::companions::{Companions, ambiguous};
use super::open_as;
use crate::error::{ErrorKind, Result};
use crate::format::LayerOptions;
use crate::full_build::FullBuild;
use crate::reference::{Identity, Reference};
use crate::source::{FileId, Source};
use crate::unpack::{Content, Unpacked, unpack};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::rc::Rc;

/// What the companions turned out to be. Each is opened once, however many layers look for a parent.
#[derive(Default)]
pub(super) struct ParentSearch {
    /// The format and the identity of a file; `None` if it has none or cannot be opened.
    known: BTreeMap<FileId, Option<(&'static str, Identity)>>,
}

impl ParentSearch {
    /// The file that is the disk which `reference` of an image in `format` identifies, if it was handed over. Files in
    /// another format are not it. One whose state is right wins over those that have been changed since.
    ///
    /// Fails with `usage` if several files are it, with `source` or `internal` where a file cannot be read, and with
    /// `full-build` where one lies in a container and this build opens none.
    pub async fn find(
        &mut self,
        reference: &Reference,
        format: &str,
        files: &[Rc<dyn Source>],
        companions: &mut Companions<'_>,
    ) -> Result<Option<FileId>> {
        let Some(wanted) = &reference.identity else { return Ok(None) };
        FullBuild::require("formats that identify a parent")?;
        let mut found: Vec<(FileId, bool)> = Vec::new();
        for id in companions.free() {
            let known = self.identity(id, files).await?;
            let same_disk = known.filter(|(of, identity)| *of == format && identity.id == wanted.id);
            found.extend(same_disk.map(|(_, identity)| (id, wanted.is_met_by(identity))));
        }
        if found.iter().any(|&(_, is_met)| is_met) {
            found.retain(|&(_, is_met)| is_met);
        }
        match found[..] {
            [] => Ok(None),
            [(id, _)] => {
                companions.take(id);
                Ok(Some(id))
            }
            _ => Err(ambiguous(&reference.name, reference.role, "more than one of the files")),
        }
    }

    /// The format and the identity of the file `id`, if it is an image that has one.
    async fn identity(&mut self, id: FileId, files: &[Rc<dyn Source>]) -> Result<Option<&(&'static str, Identity)>> {
        let known = match self.known.entry(id) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(unknown) => unknown.insert(read_identity(id, files).await?),
        };
        Ok(known.as_ref())
    }
}

/// Opens the file `id`, or what lies in it, and closes it again. What cannot be opened as an image has no identity.
async fn read_identity(id: FileId, files: &[Rc<dyn Source>]) -> Result<Option<(&'static str, Identity)>> {
    match open(files[usize::from(id.0)].clone()).await {
        Err(error) if matches!(error.kind, ErrorKind::Source | ErrorKind::Internal | ErrorKind::FullBuild) => {
            Err(error)
        }
        found => Ok(found.ok().flatten()),
    }
}

async fn open(file: Rc<dyn Source>) -> Result<Option<(&'static str, Identity)>> {
    let Unpacked { source, content: Content::Image(Some(format)), .. } = unpack(file, false).await? else {
        return Ok(None);
    };
    let how = LayerOptions { is_backing: true, ..LayerOptions::default() };
    Ok(open_as(format, source, how).await?.identity().map(|identity| (format.name, identity)))
}
